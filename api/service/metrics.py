"""Metrics: how the store stands and what has happened, as text that Prometheus reads. The store counts by its indexes,
and its events say what happened, so nobody else has to count."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from batonpass.contracts import event as kinds
from batonpass.contracts.job import FAILURE_REASONS

from .held import Held, gauges
from .standing import Standing
from .tally import BUCKETS, Tally, Times

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# If a counter only appeared with its first count, Prometheus would not see it grow. So these exist from the beginning.
_OF_AGENTS = (
    *(kinds.SUBMITTED, kinds.STARTED, kinds.HANDED_OFF, kinds.COMPLETED, kinds.FAILED, kinds.RETRYING, kinds.REJECTED),
    *(kinds.CANCELED, kinds.RELEASED, kinds.CRASHED, kinds.LEASE_EXPIRED, kinds.SAVED, kinds.NOT_SCHEDULED),
    *(kinds.AGENT_PAUSED, kinds.AGENT_RESUMED),
)
_OF_NOBODY = (kinds.REWOUND,)


def exposition(standing: Standing, tally: Tally, held: Held) -> bytes:
    """All metrics."""
    registry = CollectorRegistry()
    registry.register(_Read(standing, tally, held))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, standing: Standing, tally: Tally, held: Held) -> None:
        self._standing = standing
        self._held = held
        self._tally = tally

    def collect(self) -> Iterable[Metric]:
        yield from self._stands()
        yield from gauges(self._held, [each.agent for each in self._standing.agents])
        told = (
            "How far the counters of events are behind: 0 if they have all, else the age of the newest that they have"
        )
        yield GaugeMetricFamily("batonpass_events_behind_seconds", told, self._tally.behind)
        yield self._happened()
        yield self._failed()
        yield _took("wait", "How long jobs were ready before a worker started them", self._tally.waits)
        yield _took(
            "run", "How long workers ran jobs at a time, until these ended or were given away", self._tally.runs
        )

    def _stands(self) -> Iterable[Metric]:
        agents = self._standing.agents
        for name, told, numbers in (
            (
                "jobs_waiting",
                "Jobs that are ready for an agent and that no worker has taken",
                {each.agent: each.waiting for each in agents},
            ),
            (
                "jobs_waiting_oldest_seconds",
                "How long the job that is next at an agent has been ready, 0 if there is none",
                {each.agent: each.oldest for each in agents},
            ),
            (
                "workers_live",
                "Live workers that take an agent's jobs",
                {each.agent: len(each.workers) for each in agents},
            ),
            (
                "agent_paused",
                "1 if an agent is paused, so that no worker starts its jobs",
                {each.agent: int(each.paused is not None) for each in agents},
            ),
        ):
            by_agent = GaugeMetricFamily(f"batonpass_{name}", told, labels=["agent"])
            for agent, number in numbers.items():
                by_agent.add_metric([agent], number)
            yield by_agent

    def _happened(self) -> Metric:
        told = "Events since this service was first asked, by their type and agent"
        counted = CounterMetricFamily("batonpass_events", told, labels=["type", "agent"])
        none = {(kind, each.agent): 0 for each in self._standing.agents for kind in _OF_AGENTS}
        none |= {(kind, ""): 0 for kind in _OF_NOBODY}
        for (kind, agent), number in {**none, **self._tally.events}.items():
            counted.add_metric([kind.removeprefix("batonpass."), agent], number)
        return counted

    def _failed(self) -> Metric:
        told = "Jobs that failed since this service was first asked, by their agent and the reason"
        counted = CounterMetricFamily("batonpass_jobs_failed", told, labels=["agent", "reason"])
        none: dict[tuple[str, str], int] = {
            (each.agent, reason): 0 for each in self._standing.agents for reason in FAILURE_REASONS
        }
        for labels, number in {**none, **self._tally.failures}.items():
            counted.add_metric(labels, number)
        return counted


def _took(name: str, told: str, times: Mapping[str, Times]) -> Metric:
    family = HistogramMetricFamily(f"batonpass_job_{name}_seconds", told, labels=["agent"])
    ends = [*map(str, BUCKETS), "+Inf"]
    for agent, each in times.items():
        family.add_metric([agent], list(zip(ends, accumulate(each.buckets), strict=True)), each.sum)
    return family
