"""The worker process: signals, changes of its sources, and how it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from threading import Timer
from types import FrameType

import anyio
from anyio.abc import TaskStatus

from ..contracts.app import App
from ..contracts.errors import BatonpassError
from ..contracts.job import DEFAULT_LEASE
from ..coordinator.connection import connect
from .alive import shown_alive
from .children.settings import ChildSettings
from .copies import let_signals_end_copies
from .single import alone
from .sources import Sources, begin_anew
from .spans import send_spans
from .threads import Executor, LeftBehind
from .watchdog import Watchdog
from .worker import Worker

_log = logging.getLogger("batonpass.worker")
# Seconds that giving back may take, once there is nothing else to wait for.
_LAST_WORDS = 3.0
# Threads for frameworks' sync code, besides one for each slot.
_THREADS = 32
# Python looks for cycles whenever this many more objects were made than freed. The default is 700 (3.14: 2000). A
# worker's slots hold more than that at any time, without cycles: looking at them takes a tenth of a short job's time.
_YOUNG = 5000
_HANG_UP: int | None = getattr(signal, "SIGHUP", None)  # Windows has none


async def serve(
    app: App,
    url: str,
    *,
    namespace: str | None = None,
    agents: Sequence[str] | None = None,
    concurrency: int = 4,
    lease: float = DEFAULT_LEASE,
    grace: float = 30.0,
    children: ChildSettings | None = None,
    sources: Sources | None = None,
    most_left: int = 0,
    alive_file: Path | None = None,
) -> bool:
    """Run a worker until SIGTERM, SIGINT or SIGHUP.

    Returns whether to restart, because a source file has changed or `most_left` threads are left behind (0: no limit).
    The first signal, or one of these reasons, starts a drain: running deliveries are given back at their next
    checkpoint, and after `grace` seconds at once. A second SIGTERM or SIGINT gives them back at once. `alive_file` is
    touched every few seconds while the worker serves.
    """
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
    async with connect(url, namespace=namespace, app=app) as coordinator:
        worker = Worker(
            app,
            coordinator,
            agents=agents,
            concurrency=concurrency,
            lease=lease,
            children=children,
            most_left=most_left,
        )
        # More threads than can be left behind: the default is small, and all of them could be taken.
        asyncio.get_running_loop().set_default_executor(Executor(concurrency + most_left + _THREADS))
        orders = _Orders()
        try:
            await worker.prepare()
            with alone():
                async with shown_alive(alive_file) if alive_file else nullcontext():
                    await _run(worker, orders, grace, sources)
        finally:
            await worker.close()
            send_spans(app.tracer)
    if worker.left.number:  # Python would wait for them
        orders.leave()
    return orders.again


async def _run(worker: Worker, orders: _Orders, grace: float, sources: Sources | None) -> None:
    """Run the worker until it was ordered to stop, and has drained."""
    async with anyio.create_task_group() as tasks:
        await tasks.start(orders.by_signals, grace)
        if sources is not None:
            tasks.start_soon(orders.by_changes, sources)
        tasks.start_soon(orders.by_threads, worker.left)
        tasks.start_soon(orders.carry_out, worker, grace)
        await worker.run()
        tasks.cancel_scope.cancel()


@contextmanager
def at_last() -> Generator[None]:
    """A block around the process's event loop: if it ends with an error that is not ours, so does the process.

    Agents' code can break a loop (by closing all files), and then nobody stops its threads.
    """
    try:
        yield
    except BatonpassError:
        raise
    except BaseException:
        leave = Timer(_LAST_WORDS, os._exit, [1])
        leave.daemon = True
        leave.start()
        raise


@contextmanager
def ending_at_once() -> Generator[None]:
    """A block in which Ctrl-C ends the process at once, as SIGTERM does, until the worker takes orders from both.

    asyncio would cancel the main task, once, and what that waits for may swallow it (in Python 3.11, `wait_for`).
    """

    def end(number: int, frame: FrameType | None) -> None:
        os._exit(128 + number)

    before = signal.signal(signal.SIGINT, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def stopping_signals() -> list[signal.Signals]:
    """The signals that end a worker. SIGHUP, which a closing terminal sends, is left out if nohup ignores it."""
    found = [signal.SIGTERM, signal.SIGINT]
    if _HANG_UP is not None and signal.getsignal(_HANG_UP) != signal.SIG_IGN:
        found.append(signal.Signals(_HANG_UP))
    return found


class _Orders:
    """What a worker process is told from outside."""

    def __init__(self) -> None:
        self.again = False
        self._why = ""
        self._stop = anyio.Event()
        self._at_once = anyio.Event()

    async def by_signals(self, grace: float, *, task_status: TaskStatus[None]) -> None:
        """Take orders from signals. Code that blocks the loop must not keep the process alive."""
        watchdog = Watchdog(grace + 2 * _LAST_WORDS, 2 * _LAST_WORDS, partial(os._exit, 1))
        try:
            await self._by_signals(watchdog, task_status)
            await anyio.sleep_forever()
        finally:
            watchdog.call_off()

    async def _by_signals(self, watchdog: Watchdog, task_status: TaskStatus[None]) -> None:
        known = stopping_signals()
        with anyio.open_signal_receiver(*known) as signals:
            watchdog.listen(known, [each for each in known if each != _HANG_UP])
            let_signals_end_copies(known)
            task_status.started()
            stopping = False
            async for number in signals:
                if stopping:
                    if number == _HANG_UP:  # a closing terminal sends it twice: the shell does to its jobs, too
                        continue
                    self._at_once.set()
                    return
                stopping = True
                self.again = False
                self._why = "stopping: running jobs are given back at their next checkpoint, or now on a second signal"
                self._stop.set()

    async def by_changes(self, sources: Sources) -> None:
        """Take the order to restart when the code changes."""
        path = await sources.change()
        self._restart(f"{path} changed: running jobs are given back at their next checkpoint, then this restarts")

    async def by_threads(self, left: LeftBehind) -> None:
        """Take the order to restart when too many threads don't end."""
        await left.full()
        self._restart("too many threads are left behind: running jobs are given back, and this process restarts")

    def _restart(self, why: str) -> None:
        if not self._stop.is_set():
            self._why = why
            self.again = True
            self._stop.set()

    async def carry_out(self, worker: Worker, grace: float) -> None:
        """Stop the worker when ordered to."""
        await self._stop.wait()
        worker.stop()
        _log.info("%s", self._why)  # only now is it true
        with anyio.move_on_after(grace):
            await self._at_once.wait()
        # Agent code in a thread can't be stopped, and Python would wait for it. Its delivery was given back, so the
        # process may exit.
        leave_anyway = Timer(_LAST_WORDS, self.leave, [1])
        leave_anyway.daemon = True
        leave_anyway.start()
        worker.stop_now()

    def leave(self, code: int = 0) -> None:
        """End this process without waiting for its threads."""
        if self.again:
            begin_anew()
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(code)
