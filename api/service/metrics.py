"""Metrics: how the store stands, as text that Prometheus reads. Only what a store counts by its indexes."""

from __future__ import annotations

from collections.abc import Iterable

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from .standing import Standing

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(standing: Standing) -> bytes:
    """All metrics."""
    registry = CollectorRegistry()
    registry.register(_Read(standing))
    return generate_latest(registry)


class _Read(Collector):
    def __init__(self, standing: Standing) -> None:
        self._standing = standing

    def collect(self) -> Iterable[Metric]:
        load, agents = self._standing.load, self._standing.agents
        for name, told, numbers in (
            (
                "jobs_waiting",
                "Jobs that are ready for an agent and that no worker has taken",
                {each.agent: each.waiting for each in agents},
            ),
            (
                "jobs_waiting_oldest_seconds",
                "For how long the job has been ready that is next at an agent, 0 if none is",
                {each.agent: each.oldest for each in agents},
            ),
            (
                "workers_live",
                "Live workers that take an agent's jobs",
                {each.agent: len(each.workers) for each in agents},
            ),
        ):
            by_agent = GaugeMetricFamily(f"batonpass_{name}", told, labels=["agent"])
            for agent, number in numbers.items():
                by_agent.add_metric([agent], number)
            yield by_agent
        for name, told, number in (
            ("jobs_leased", "Jobs that workers run, or held when they died", load.running),
            ("jobs_scheduled", "Jobs that are due later: a delay, a retry, a question that has a time", load.timed),
            ("questions_open", "Jobs that wait for a person's answer", load.asking),
            ("dead_letters", "Jobs that failed and were not redriven or deleted", load.dead),
        ):
            yield GaugeMetricFamily(f"batonpass_{name}", told, value=number)
