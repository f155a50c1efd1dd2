"""One saver, used from everywhere at once, opened by itself, and forgotten."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from batonpass.adapters.langgraph import BatonpassSaver

from ..harness.waiting import wait_until
from .graphs import Runner, chat, say

_OPEN = Path("/proc/self/fd")
pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.each_store]


def test_several_loops_and_threads_at_once(url: str, thread: str) -> None:
    saver = BatonpassSaver.from_url(url)

    def one(number: int) -> int:
        runner = Runner(chat(saver), f"{thread} {number}", "async" if number % 2 else "sync")
        for _ in range(3):
            runner.run(say("hello"))
        return int(runner.state().values["turns"])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(one, range(12))) == [3] * 12
    saver.close()


def test_sync_calls_within_a_loop(saver: BatonpassSaver, thread: str) -> None:
    """langgraph#7857: other savers raise, or hang."""

    async def both() -> None:
        await chat(saver).ainvoke(say("hello"), {"configurable": {"thread_id": thread}})
        Runner(chat(saver), thread, "sync").run(say("again"))
        assert saver.get_tuple({"configurable": {"thread_id": thread}}) == await saver.aget_tuple(
            {"configurable": {"thread_id": thread}}
        )

    asyncio.run(both())


def test_a_fork_has_handles_of_its_own(shared_url: str, thread: str) -> None:
    saver = BatonpassSaver.from_url(shared_url)
    Runner(chat(saver), thread, "sync").run(say("hello"))
    shared = saver._shared
    locks = (shared.recent._lock, shared.batching._lock, shared.handles._lock)
    for lock in locks:  # as if other threads had them
        lock.acquire()
    child = os.fork()
    for lock in locks if child else ():
        lock.release()
    if child == 0:
        try:
            signal.alarm(20)
            Runner(chat(saver), thread, "sync").run(say("from the child"))
            Runner(chat(saver), thread, "async").run(say("from the child"))
        except BaseException:
            os._exit(1)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    runner = Runner(chat(saver), thread, "sync")
    assert runner.state().values["turns"] == 3
    runner.run(say("after it"))
    assert runner.state().values["turns"] == 4
    saver.close()


def test_it_can_be_closed_and_used_again(url: str, thread: str) -> None:
    async def within() -> None:
        async with BatonpassSaver.from_url(url) as saver:
            await chat(saver).ainvoke(say("hello"), {"configurable": {"thread_id": thread}})
        await chat(saver).ainvoke(say("hello"), {"configurable": {"thread_id": thread}})
        await saver.aclose()
        await saver.aclose()

    asyncio.run(within())
    with BatonpassSaver.from_url(url) as saver:
        Runner(chat(saver), thread, "sync").run(say("hello"))
    assert Runner(chat(saver), thread, "sync").state().values["turns"] >= 1
    saver.close()


_FORGETS = f"""
import asyncio, sys
from batonpass.adapters.langgraph import BatonpassSaver
from {__package__}.graphs import chat, say
saver = BatonpassSaver.from_url(sys.argv[1])
config = {{"configurable": {{"thread_id": "forgotten"}}}}
chat(saver).invoke(say("hello"), config)
for _ in range(2):
    asyncio.run(chat(saver).ainvoke(say("hello"), config))
assert saver._shared.handles._of_loops == {{}}
print(chat(saver).get_state(config).values["turns"])
"""


def test_a_loop_that_ends_closes_what_is_its_own_without_a_word(
    shared_url: str, thread: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It ends its generators all at once, in whichever order."""
    saver = BatonpassSaver.from_url(shared_url)
    runner = Runner(chat(saver), thread, "async")
    for _ in range(12):
        runner.state()
    saver.close()
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []


def test_a_forgotten_close_neither_hangs_nor_leaks(shared_url: str) -> None:
    ignored = [
        "::ResourceWarning:asyncio.sslproto",
        ":Core Pydantic V1 functionality:UserWarning",  # LangChain on Python 3.14, and LangGraph:
        ":'asyncio.iscoroutinefunction' is deprecated:DeprecationWarning",
    ]
    options = [part for each in ("error", *(f"ignore{one}" for one in ignored)) for part in ("-W", each)]
    command = [sys.executable, "-X", "dev", *options, "-c", _FORGETS, shared_url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert "unclosed" not in done.stderr


@pytest.mark.skipif(not _OPEN.exists(), reason="open files are not listed here")
def test_one_that_is_forgotten_leaves_no_file_open(shared_url: str, thread: str) -> None:
    """A program that makes one for each request, say."""

    def use() -> None:
        chat(BatonpassSaver.from_url(shared_url)).invoke(say("hello"), {"configurable": {"thread_id": thread}})

    def opened() -> int:
        gc.collect()
        return len(os.listdir(_OPEN))

    use()
    before = opened()
    for _ in range(3):
        use()
    wait_until(lambda: opened() <= before, timeout=30, what="some files stay open")


class _Circle:
    """Freed together with its saver, and before it."""

    def __init__(self, saver: BatonpassSaver, freed: Callable[[], None]) -> None:
        self.circle, self.saver, self.freed = self, saver, freed

    def __del__(self) -> None:
        self.freed()


def test_one_that_is_forgotten_is_closed_before_its_sockets_are(
    shared_url: str, thread: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They would give a ResourceWarning each."""
    saver = BatonpassSaver.from_url(shared_url)
    kind, order = type(saver._shared.handles.sibling()), list[str]()
    close = kind.close

    def closing(store: Any) -> None:
        order.append("closed")
        close(store)

    monkeypatch.setattr(kind, "close", closing)
    _Circle(saver, lambda: order.append("freed"))
    assert saver.get_tuple({"configurable": {"thread_id": thread}}) is None
    del saver
    gc.collect()
    assert order == ["closed", "freed"]


def test_batonpass_alone_imports_no_langgraph() -> None:
    loaded = "[name for name in sys.modules if name.startswith('langgraph')]"
    code = f"import sys, batonpass, batonpass.adapters.langgraph; assert not {loaded}"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_many_writers_of_threads_of_their_own(shared_url: str, thread: str) -> None:
    saver = BatonpassSaver.from_url(shared_url)
    errors: list[BaseException] = []

    async def all_at_once() -> None:
        graph = chat(saver)
        configs: list[Any] = [{"configurable": {"thread_id": f"{thread} {number}"}} for number in range(60)]
        await asyncio.gather(*(graph.ainvoke(say("hello"), config) for config in configs))

    def run() -> None:
        try:
            asyncio.run(all_at_once())
        except BaseException as error:
            errors.append(error)

    worker = threading.Thread(target=run)
    worker.start()
    worker.join()
    assert errors == []
    assert len([each for each in saver.list(None) if each.metadata.get("step") == 1]) == 60
    saver.close()
