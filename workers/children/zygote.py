"""The zygote: a process that has imported the app and its frameworks, and forks the worker's children.

`python -m batonpass.workers.children.zygote FD`. It only imports: no loop, no store handle, no thread. If it finds
threads after its imports, it says so and ends. Children are then spawned.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
import warnings
from contextlib import suppress
from pathlib import Path
from socket import recv_fds, socket
from typing import NoReturn

import anyio
from anyio.lowlevel import checkpoint

from .child import hear_only, leave_to_worker, live, prepared_by
from .frames import frame
from .parent import outlive_parent
from .setup import Prepared


def main() -> None:
    """Import what the setup names, then fork a child for each socket that arrives, until the worker is gone."""
    control = socket(fileno=int(sys.argv[1]))
    if (prepared := prepared_by(control)) is not None:
        gc.collect()
        gc.freeze()  # so that a collection in a child does not copy every page
        outlive_parent()  # to end the children, which don't inherit the kernel's signal
        serve(control, prepared)


def serve(control: socket, prepared: Prepared) -> None:
    """Fork a child for each socket that arrives, until the worker is gone."""
    anyio.run(checkpoint)  # imports the event loop, which happens on first use
    children: set[int] = set()
    with suppress(ConnectionError):
        forks = can_fork()
        control.sendall(frame({"forks": forks}))
        if forks:
            _serve(control, prepared, children)
    # The worker is gone. Children notice that too, except one whose code holds the interpreter's lock.
    for child in children:
        os.kill(child, signal.SIGKILL)


def can_fork() -> bool:
    """Whether this process has one thread. Forks first, because some libraries end their threads for a fork."""
    if threading.active_count() > 1:
        return False
    with warnings.catch_warnings():
        # Python 3.12 warns if others stay. Then this was the only fork.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        os._exit(0)
    with suppress(ChildProcessError):  # the app collects all processes that end
        os.waitpid(pid, 0)
    return len(list(Path("/proc/self/task").iterdir())) == 1


def _serve(control: socket, prepared: Prepared, children: set[int]) -> None:
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, hear_only)
    leave_to_worker()
    while True:
        ready, _, _ = select.select([control.fileno(), ended], [], [])
        if ended in ready:
            os.read(ended, 4096)
            _tell_ended(control, children)
        if control.fileno() in ready:
            asked, sockets, _, _ = recv_fds(control, 1, 1)
            if not asked:
                return
            pid = os.fork()
            if pid == 0:
                _become_child(sockets[0], control, prepared, ended, wake)
            os.close(sockets[0])
            children.add(pid)
            control.sendall(frame({"forked": pid}))


def _tell_ended(control: socket, children: set[int]) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        children.discard(pid)
        control.sendall(frame({"ended": pid, "status": os.waitstatus_to_exitcode(status)}))


def _become_child(sock: int, control: socket, prepared: Prepared, *pipe: int) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    control.close()
    for end in pipe:
        os.close(end)
    try:
        live(socket(fileno=sock), prepared)
    finally:
        os._exit(1)


if __name__ == "__main__":
    main()
