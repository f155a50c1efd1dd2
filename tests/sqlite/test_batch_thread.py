"""The thread that writes for event loops: it does everything in its line together, and ends when there is nothing to
do."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from batonpass.coordinator.sqlite import batch_thread
from batonpass.coordinator.sqlite.batch_thread import BatchThread
from tests.harness.waiting import wait_until


class Work:
    """What a thread does here: it answers with what was asked, or raises it. It stands still until it may continue."""

    def __init__(self) -> None:
        self.done: list[list[object]] = []
        self.threads: set[threading.Thread] = set()
        self.goes_on = threading.Event()
        self.goes_on.set()

    def __call__(self, asked: Sequence[object]) -> Sequence[object]:
        self.threads.add(threading.current_thread())
        self.done.append(list(asked))
        assert self.goes_on.wait(30)
        if "all" in asked:
            raise OSError("nothing of it")
        return asked


@pytest.fixture
def work() -> Work:
    return Work()


async def _asked(thread: BatchThread[object], work: Work, *some: object) -> list[asyncio.Task[object]]:
    """Ask all of these while the thread does something else. When this returns, that is done, and none of these is."""
    work.goes_on.clear()
    first = asyncio.create_task(thread.ask("first"))
    while not work.done:
        await asyncio.sleep(0)
    tasks = [asyncio.create_task(thread.ask(each)) for each in some]
    await asyncio.sleep(0)
    work.goes_on.set()
    await first
    return tasks


def test_what_stands_in_line_is_done_together_and_answered_one_by_one(work: Work) -> None:
    async def main() -> list[object]:
        tasks = await _asked(BatchThread(work), work, 1, ValueError("2"), 3)
        return await asyncio.gather(*tasks, return_exceptions=True)

    one, two, three = asyncio.run(main())
    assert (one, repr(two), three) == (1, "ValueError('2')", 3)
    assert [len(each) for each in work.done] == [1, 3]


def test_what_goes_wrong_for_all_is_told_to_all_and_the_next_is_done(work: Work) -> None:
    async def main() -> tuple[list[object], object]:
        thread = BatchThread[object](work)
        tasks = await _asked(thread, work, "all", 2)
        return await asyncio.gather(*tasks, return_exceptions=True), await thread.ask("next")

    failed, after = asyncio.run(main())
    assert [type(each) for each in failed] == [OSError, OSError]
    assert after == "next"


def test_who_goes_away_leaves_the_others_their_answers(work: Work) -> None:
    async def main() -> object:
        work.goes_on.clear()
        thread = BatchThread[object](work)
        gone, other = asyncio.create_task(thread.ask("gone")), asyncio.create_task(thread.ask("other"))
        while not work.done:
            await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        work.goes_on.set()
        return await other

    assert asyncio.run(main()) == "other"


def test_what_is_left_undone_by_who_goes_away_can_be_waited_for(work: Work) -> None:
    async def main() -> None:
        work.goes_on.clear()
        thread = BatchThread[object](work)
        await thread.settled()
        gone, failed = asyncio.create_task(thread.ask("gone")), asyncio.create_task(thread.ask("all"))
        while not work.done:
            await asyncio.sleep(0)
        for task in (gone, failed):
            task.cancel()
        await asyncio.wait([gone, failed])
        waits = asyncio.create_task(thread.settled())
        assert await asyncio.wait([waits], timeout=0.2) == (set(), {waits})
        work.goes_on.set()
        await asyncio.wait_for(waits, 30)
        assert [each for asked in work.done for each in asked] == ["gone", "all"]

    asyncio.run(main())


def test_a_loop_that_is_closed_takes_no_other_loops_answer(work: Work) -> None:
    thread = BatchThread[object](work)
    work.goes_on.clear()
    left = asyncio.new_event_loop()
    task = left.create_task(thread.ask("left"))
    left.run_until_complete(asyncio.sleep(0))
    task.cancel()
    left.run_until_complete(asyncio.wait([task]))
    left.close()
    work.goes_on.set()
    assert asyncio.run(thread.ask("next")) == "next"


def test_a_thread_that_could_not_be_had_is_asked_for_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container that may have so many."""

    def none_left(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    made = BatchThread[object](work)
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="can't start"):
        patch.setattr(threading.Thread, "start", none_left)
        asyncio.run(made.ask("first"))
    assert asyncio.run(asyncio.wait_for(made.ask("next"), 30)) == "next"
    assert work.done == [["next"]]


def test_a_thread_with_nothing_to_do_is_gone_and_another_comes(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_thread, "_IDLE", 0.01)
    made = BatchThread[object](work)
    assert asyncio.run(made.ask(1)) == 1
    wait_until(lambda: not any(each.is_alive() for each in work.threads))
    assert asyncio.run(made.ask(2)) == 2
    assert len(work.threads) == 2
