"""Held: what a namespace holds by its owners, as metrics: jobs and schedules by their agents, and webhooks."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from prometheus_client.core import GaugeMetricFamily, Metric

from batonpass.contracts.errors import BatonpassError, Unavailable
from batonpass.contracts.schedule import Schedule
from batonpass.contracts.webhook import WebhookInfo
from batonpass.coordinator.calls.schedules import overdue
from batonpass.coordinator.checkup import Shares
from batonpass.coordinator.client import Coordinator

from .standing import Gauge

T = TypeVar("T")
_log = logging.getLogger("batonpass.service")
_JOBS = {
    "running": ("jobs_leased", "Jobs that workers run, or held when they died"),
    "timed": ("jobs_scheduled", "Jobs that are due later: a delay, a retry, a question that has a time"),
    "asking": ("questions_open", "Jobs that wait for a person's answer"),
    "dead": ("dead_letters", "Jobs that failed and were not redriven or deleted"),
    "limited": ("jobs_limited", "Jobs that are ready, and wait for others, as their agent's limits say"),
}


@dataclass(frozen=True)
class Held:
    """What it holds at one moment. None: it can't be read by this service."""

    jobs: Shares
    overdue: Mapping[str, int] | None
    """Overdue schedules by agent."""
    webhooks: Sequence[WebhookInfo] | None
    unreadable: Mapping[str, int]
    """How many of a kind this service can't read."""


async def held(coordinator: Coordinator, gauge: Gauge, now: int) -> Held:
    """What it holds now, after the gauge has looked."""
    schedules = await _readable(coordinator.schedules(), "schedules")
    webhooks = await _readable(coordinator.webhooks(), "webhooks")
    late = None if schedules is None else _late(schedules, now)
    unreadable = {
        "schedule": sum(each.unreadable for each in schedules or ()),
        "webhook": sum(each.state == "unreadable" for each in webhooks or ()),
    }
    return Held(await gauge.by_agent(), late, webhooks, unreadable)


async def _readable(asked: Awaitable[Sequence[T]], what: str) -> Sequence[T] | None:
    """What was asked for. If this service may not read it, that must not take all other metrics away."""
    try:
        return await asked
    except Unavailable:
        raise
    except BatonpassError as error:
        _log.warning("the metrics lack the %s: %s", what, error)
        return None


def _late(schedules: Sequence[Schedule], now: int) -> Mapping[str, int]:
    late = overdue(schedules, now)
    found = Counter({each.agent: 0 for each in schedules if not each.unreadable})
    found.update(each.agent for each in schedules if each.name in late)
    return found


def gauges(of: Held, agents: Iterable[str]) -> Iterable[Metric]:
    """Its metrics. Each of the agents has a value, because nobody can alert on one that is not there yet."""
    none = dict.fromkeys(agents, 0)
    for kind, (name, told) in _JOBS.items():
        yield _gauge(name, told, "agent", {**none, **of.jobs.get(kind, {})})
    if of.overdue is not None:
        told = "Schedules whose time came more than a minute ago, and no worker has submitted their job"
        yield _gauge("schedules_overdue", told, "agent", {**none, **of.overdue})
    if of.webhooks is not None:
        paused = {each.name: int(each.state != "active") for each in of.webhooks}
        told = "1 if a webhook sends nothing until it is resumed, or can't be read here, else 0"
        yield _gauge("webhook_paused", told, "webhook", paused)
        lag = {each.name: each.lag for each in of.webhooks}
        told = "Events that a webhook has not looked at yet, or that its receiver has not accepted yet"
        yield _gauge("webhook_lag_events", told, "webhook", lag)
        failures = {each.name: each.failures for each in of.webhooks}
        told = "Failed attempts to send a webhook's next event, 0 once its receiver accepts it"
        yield _gauge("webhook_failures", told, "webhook", failures)
    told = "Schedules and webhooks that this service can't read: they are damaged, or encrypted with a key it lacks"
    yield _gauge("unreadable", told, "kind", of.unreadable)


def _gauge(name: str, told: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"batonpass_{name}", told, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)
    return family
