"""Owners of threads that are gone: canceled while they took the thread or gave it back, or killed."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.coordinator.commands import Complete, Submit
from tests.harness.waiting import wait_until

from .graphs import Runner, chat, say
from .test_owning import elsewhere

pytestmark = pytest.mark.capability("langgraph")


@pytest.mark.parametrize("how", ["a task", "a scope"])
async def test_who_is_canceled_while_it_takes_a_thread_leaves_it(
    how: str, saver: BatonpassSaver, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a request whose client has gone. Nobody would know that the thread is owned, until its lease expires."""
    store = type(await saver._shared.handles.astore())
    plain: Any = store.acall
    for kind in ("Submit", "Claim"):
        reached = anyio.Event()

        async def acall(self: Any, command: Any, kind: str = kind, reached: anyio.Event = reached) -> Any:
            answer = await plain(self, command)
            if type(command).__name__ == kind and answer:
                reached.set()
                await anyio.sleep(0.05)
            return answer

        async def owns() -> None:
            async with saver.own(thread, wait=0):
                raise AssertionError

        monkeypatch.setattr(store, "acall", acall)
        if how == "a task":
            task = asyncio.create_task(owns())
            await reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        else:
            async with anyio.create_task_group() as group:
                group.start_soon(owns)
                await reached.wait()
                group.cancel_scope.cancel()
        monkeypatch.setattr(store, "acall", plain)
        await Runner(chat(saver), thread, "async").graph.ainvoke(say("hello"), {"configurable": {"thread_id": thread}})


async def test_a_task_that_is_canceled_again_at_the_end_of_its_block(
    shared_url: str, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread is given back nevertheless, and nothing of its owner is left."""
    async with BatonpassSaver.from_url(shared_url) as saver, bp.connect(shared_url) as coordinator:
        ending, store = anyio.Event(), type(await saver._shared.handles.astore())
        plain: Any = store.acall

        async def acall(self: Any, command: Any) -> Any:
            answer = await plain(self, command)
            if isinstance(command, Complete):
                ending.set()
                await anyio.sleep(0.05)
            return answer

        async def owns() -> None:
            async with saver.own(thread, wait=0):
                monkeypatch.setattr(store, "acall", acall)

        task = asyncio.create_task(owns())
        await ending.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with anyio.fail_after(20):
            while await coordinator.jobs():
                await anyio.sleep(0.01)


@pytest.mark.parametrize(("what", "side"), [("a run", "async"), ("an update", "sync"), ("a write", ""), ("delete", "")])
@pytest.mark.parametrize("gone", ["in its block", "while it took the thread", "many times"])
def test_what_dead_owners_left_is_in_nobodys_way(
    gone: str, what: str, side: str, saver: BatonpassSaver, thread: str
) -> None:
    """Also of those who don't own the thread: only `own` took it over."""
    runner = Runner(chat(saver), thread, side)
    runner.run(say("before"))

    def dies() -> None:
        leaves = saver.own(thread, lease=0.1, wait=30)
        if gone == "while it took the thread":
            _until_submitted(saver, leaves._take())
        else:
            leaves.__enter__()
            leaves._keeper.stop()  # type: ignore[union-attr]

    for _ in range(9 if gone == "many times" else 1):  # the last one's would wait for a minute
        elsewhere(dies)

    def is_done() -> bool:
        try:
            if what == "a run":
                runner.run(say("after"))
            elif what == "an update":
                runner.update(None, {"turns": 9})
            elif what == "a write":
                saver.put_writes(runner.state().config, [("turns", 9)], "a task")
            else:
                saver.delete_thread(thread)
        except bp.ThreadBusy:
            return False
        return True

    assert wait_until(is_done, timeout=20)


def _until_submitted(saver: BatonpassSaver, take: Generator[Any, Any, Any]) -> None:
    """Take a thread, but for the last command."""
    asked = next(take)
    while not isinstance(asked, Submit):
        asked = take.send(saver._shared.handles.store().call(asked))
    saver._shared.handles.store().call(asked)
