"""LangGraph's own conformance suite for checkpointers, all of it, on every store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

import pytest
from langgraph.checkpoint.conformance import checkpointer_test, validate

from batonpass.adapters.langgraph import BatonpassSaver

pytestmark = pytest.mark.capability("langgraph")
# The published suite's tests; a later one may have more.
_TESTS = 81


@pytest.mark.parametrize("kind", ["memory", "sqlite", "redis", "redis-cluster"])
def test_eight_of_eight(kind: str, request: pytest.FixtureRequest) -> None:
    if kind == "memory":
        url = "memory://"
    elif kind == "redis-cluster":
        url = request.getfixturevalue("cluster_place")()
    else:
        url = request.getfixturevalue(f"{kind}_url")

    @checkpointer_test(name=f"batonpass on {kind}")
    async def saver() -> AsyncGenerator[BatonpassSaver]:
        async with BatonpassSaver.from_url(url) as made:
            yield made

    report = asyncio.run(validate(saver))
    assert [failure for result in report.results.values() for failure in result.failures] == []
    assert all(result.detected for result in report.results.values())
    assert len(report.results) == 8
    assert sum(result.tests_passed for result in report.results.values()) >= _TESTS
    assert report.passed_all()
