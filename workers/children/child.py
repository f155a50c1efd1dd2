"""A child process: runs the deliveries that its worker sends, one at a time, with its own store handle.

`python -m batonpass.workers.children.child FD` where children can't be forked.
"""

from __future__ import annotations

import asyncio
import logging
import os
import resource
import signal
import sys
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from socket import socket
from threading import Thread
from types import FrameType

import anyio

from ...coordinator.alone import be_alone
from ...coordinator.connection import connect
from ..copies import let_signals_end_copies
from ..running import Runner
from ..spans import send_spans
from .frames import Frame, frame, read_frame, unpack_delivery
from .parent import hear_setup
from .setup import Prepared, prepare
from .steady_loop import STEADY

_log = logging.getLogger("batonpass.worker")
_FOR_THE_WORKER = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Import what the setup names, then run deliveries."""
    sock = socket(fileno=int(sys.argv[1]))
    if (prepared := prepared_by(sock)) is not None:
        live(sock, prepared)


def prepared_by(sock: socket) -> Prepared | None:
    """What the worker's setup names, imported. None if the worker is gone, or was told why that failed."""
    if (setup := hear_setup(sock)) is None:
        return None
    try:
        return prepare(setup)
    except Exception as error:
        _tell_failure(sock, error)
        return None


def live(sock: socket, prepared: Prepared) -> None:
    """Run deliveries until the worker says stop, or is gone. Does not return: agent code left behind in threads must
    not keep the process alive."""
    leave_to_worker()
    let_signals_end_copies(_FOR_THE_WORKER)
    be_alone()
    code = 0
    try:
        anyio.run(_serve, sock, prepared, backend_options=STEADY)
    except BaseException as error:
        _log.exception("child %d ends", os.getpid())
        _tell_failure(sock, error)
        code = 1
    send_spans(prepared.app.tracer)
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(code)


def leave_to_worker() -> None:
    """Ignore stop signals. A service manager signals all processes of a worker, but the worker decides, and tells its
    children.

    A signal that was already ignored (nohup) stays ignored, also for programs that this process starts.
    """
    for each in _FOR_THE_WORKER:
        if signal.getsignal(each) != signal.SIG_IGN:
            signal.signal(each, hear_only)


def hear_only(number: int, frame: FrameType | None) -> None:
    """A signal handler that does nothing. Unlike an ignored signal, it is not inherited by programs that this process
    starts."""


def _tell_failure(sock: socket, error: BaseException) -> None:
    """Tell the worker why this process ends."""
    with suppress(OSError):
        sock.sendall(frame({"failed": str(error) or type(error).__name__}))


async def _serve(sock: socket, prepared: Prepared) -> None:
    setup, app = prepared.setup, prepared.app
    async with AsyncExitStack() as stack:
        coordinator = await stack.enter_async_context(connect(setup.url, namespace=setup.namespace, app=app))
        resources = await stack.enter_async_context(app.lifespan()) if app.lifespan else None
        runner = Runner(app, coordinator.store, coordinator.book, None, prepared.adapters, resources)
        aside = runner.aside
        runner.ends = lambda lease: sock.sendall(frame({"ends": True, "aside": aside.last, "tip": aside.tip}))
        inbox: asyncio.Queue[Frame | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        Thread(target=_listen, args=(sock, runner, inbox, loop), name="batonpass-child", daemon=True).start()
        sock.sendall(frame({"ready": True}))
        while (message := await inbox.get()) is not None:
            delivery = unpack_delivery(message)
            aside.last = ""
            await runner.run(delivery)
            sock.sendall(frame({"done": True, "memory": _memory(), "aside": aside.last}))


def _listen(sock: socket, runner: Runner, inbox: asyncio.Queue[Frame | None], loop: asyncio.AbstractEventLoop) -> None:
    """In a thread, because the agents' code may block the loop."""
    while (message := read_frame(sock)) is not None:
        if "drain" in message:
            runner.drain()
        else:
            loop.call_soon_threadsafe(inbox.put_nowait, message.get("run"))
    os._exit(1)  # the worker is gone, so nobody renews the lease


def _memory() -> int:
    """MB that this process holds in memory now. Where the system doesn't tell, the most that it ever held."""
    statm = Path("/proc/self/statm")
    if statm.exists():
        return int(statm.read_text().split()[1]) * resource.getpagesize() >> 20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most >> 20 if sys.platform == "darwin" else most >> 10


if __name__ == "__main__":
    main()
