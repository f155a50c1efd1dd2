"""Which calls of one tool run at once: the same ones, whether its agent streams them or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest
from autogen_core import CancellationToken
from autogen_core.tools import StaticStreamWorkbench

from batonpass.adapters.autogen.journal import Journal, current, within
from batonpass.adapters.autogen.keepers import Keeper
from batonpass.adapters.autogen.tools import adopt_bench

from ..apps.autogen_states import By, Counter, Total

pytestmark = [pytest.mark.capability("autogen")]


class Meeting(Counter):
    """A call waits until two have begun."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = 0
        self.both = asyncio.Event()

    async def run(self, args: By, cancellation_token: CancellationToken) -> Total:
        self.begun += 1
        if self.begun == 2:
            self.both.set()
        await self.both.wait()
        return Total(total=args.by)


def meeting(runners: Iterable[str]) -> StaticStreamWorkbench:
    tool = Meeting()
    bench = StaticStreamWorkbench([tool])
    keeper = Keeper("A/0/count", "the tool 'count'", tool, tool.save_state_json, tool.load_state_json)
    adopt_bench(bench, [*runners], [tool], [keeper])
    return bench


async def call(bench: StaticStreamWorkbench, by: int, *, streamed: bool) -> str:
    asked: dict[str, Any] = {"name": "count", "arguments": {"by": by}, "call_id": str(by)}
    if not streamed:
        return (await bench.call_tool(**asked)).to_text()
    *_, result = [item async for item in bench.call_tool_stream(**asked)]
    text: str = cast(Any, result).to_text()
    return text


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("runs", [False, True], ids=["without a job", "runs an agent"])
async def test_calls_that_leave_no_record_do_not_wait_for_each_other(runs: bool, streamed: bool) -> None:
    """What a tool keeps is recorded with its calls, one by one. These have no record: there is no job, or the tool
    runs an agent, whose own calls are recorded."""
    bench = meeting(["count"] if runs else [])
    journal = Journal(cast(Any, None), lambda error: None) if runs else None
    with within(current, journal):
        async with asyncio.timeout(10):
            said = await asyncio.gather(*(call(bench, by, streamed=streamed) for by in (1, 2)))
    assert said == ['{"total": 1}', '{"total": 2}']
