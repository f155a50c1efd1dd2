"""A graph that uses up its recursion limit under a job. LangGraph gives a continued run the whole limit again."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.testing import serving

from ..apps.kit import defeat
from ..apps.langgraph_app import Topic
from ..apps.langgraph_kit import graph, only

pytestmark = pytest.mark.capability("langgraph")
QUICK: dict[str, Any] = {"first": 0.01, "jitter": 0}


def endless(ran: list[int], limit: int, *, until: int = 1_000) -> Any:
    def again(state: Any) -> Any:
        ran.append(1)
        return {"notes": ["again"] if len(ran) < until else []}

    made = graph(again)
    made.add_conditional_edges("again", lambda state: "again" if len(ran) < until else "__end__")
    return made.compile().with_config(recursion_limit=limit)


@pytest.mark.parametrize("retries", [3, bp.Retry(on=OSError, **QUICK)])
async def test_a_limit_is_no_error_to_retry(retries: Any) -> None:
    ran: list[int] = []
    failed = await defeat(only(lambda: endless(ran, 4), retries=retries), Topic(text="rain"))
    assert failed.reason == "permanent"
    assert len(ran) == 4
    assert failed.error.startswith("GraphRecursionError: Recursion limit of 4 reached")
    assert "redrive" in failed.error


@pytest.mark.parametrize("named", ["GraphRecursionError", "langgraph.errors.GraphRecursionError", RecursionError])
async def test_who_names_the_error_has_it_retried(named: Any) -> None:
    ran: list[int] = []
    retries = [bp.Retry(on=OSError), bp.Retry(on=named, attempts=3, **QUICK)]
    failed = await defeat(only(lambda: endless(ran, 4), retries=retries), Topic(text="rain"))
    assert failed.reason == "attempts"
    assert len(ran) >= 3 * 4, "each attempt has the whole limit"


async def test_a_redrive_goes_on_where_it_stopped() -> None:
    ran: list[int] = []
    async with serving(only(lambda: endless(ran, 4, until=7))) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match="Recursion limit"):
            await job.result(timeout=20)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=20)).notes == ["again"] * 6
    assert len(ran) == 7
