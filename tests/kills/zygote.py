"""A process that has imported the frameworks once and forks a worker per command: importing CrewAI takes seconds.

Reads one JSON command a line on stdin: {"url", "app", "agents", "lease", "log", "out", "kill"}, or {"arguments", "log",
"out", "environment", "ignore", "folder"} for one as the command line starts it, which ignores these signals. In a
folder it has this environment alone. Writes {"started": pid} for each, and {"ended": pid, "status": n} (negative: the
signal) when one has ended.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import select
import signal
import sys
from typing import Any


def main() -> None:
    """Import the test apps named as arguments, then serve commands until stdin closes."""
    gc.disable()
    for module in sys.argv[1:]:
        importlib.import_module(module)
    warm_up()
    gc.collect()
    gc.freeze()  # so that a collection in a worker does not copy every page
    gc.enable()
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    say({"ready": os.getpid()})
    buffer = b""
    while True:
        readable, _, _ = select.select([0, ended], [], [])
        if ended in readable:
            os.read(ended, 4096)
        if 0 in readable:
            data = os.read(0, 65536)
            if not data:
                return
            buffer += data
            *lines, buffer = buffer.split(b"\n")
            for line in lines:
                say({"started": fork_worker(json.loads(line))})
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            say({"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def warm_up() -> None:
    """Import what a worker would import on first use, so that not every worker has to."""
    import anyio
    from anyio.lowlevel import checkpoint

    from batonpass import App
    from batonpass.workers.adapters import load_adapter

    for module in ("workers.process", "coordinator.redis.store", "coordinator.sqlite.store"):
        importlib.import_module(f"batonpass.{module}")
    apps = [getattr(sys.modules[name], "app", None) for name in sys.argv[1:]]
    for kind in {agent.kind for app in apps if isinstance(app, App) for agent in app}:
        load_adapter(kind)
    anyio.run(checkpoint)


def say(message: dict[str, Any]) -> None:
    os.write(1, json.dumps(message).encode() + b"\n")


def fork_worker(command: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if "folder" in command:
        os.chdir(command["folder"])
        os.environ.clear()
    os.environ["BATONPASS_TEST_LOG"] = command["log"]
    os.environ["BATONPASS_TEST_KILL"] = command.get("kill", "")
    os.environ.update(command.get("environment", {}))
    out = os.open(command["out"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for name in command.get("ignore", []):
        signal.signal(signal.Signals[name], signal.SIG_IGN)
    if "kill" in command:
        kill_at_writes(command["kill"])
    try:
        run_command(command["arguments"]) if "arguments" in command else run_worker(command)
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
        os._exit(70)


def run_command(arguments: list[str]) -> None:
    from batonpass.cli import main

    os.setpgid(0, 0)  # as a shell or a service manager does
    sys.argv = ["batonpass", *arguments]
    sys.orig_argv = [sys.executable, "-m", *sys.argv]  # it may begin anew
    try:
        main()
    except SystemExit as end:
        os._exit(int(end.code or 0))


def run_worker(command: dict[str, Any]) -> None:
    import logging
    from functools import partial

    import anyio

    from batonpass.workers.process import serve

    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    app = importlib.import_module(command["app"]).app
    anyio.run(partial(serve, app, command["url"], agents=command["agents"], concurrency=1, lease=command["lease"]))


def kill_at_writes(kill: str) -> None:
    """Log every acknowledged write of a delivery, and die before or after the nth, if `kill` is before:n or after:n."""
    from batonpass.contracts.errors import Fenced
    from batonpass.workers.session import LeaseSession

    write, awrite = LeaseSession.write, LeaseSession.awrite
    count = 0

    def enter() -> None:
        nonlocal count
        count += 1
        if kill == f"before:{count}":
            os.kill(os.getpid(), signal.SIGKILL)

    def leave(number: int, command: Any) -> None:
        log("ack", type(command).__name__)
        if kill == f"after:{number}":
            os.kill(os.getpid(), signal.SIGKILL)

    def killing_write(self: Any, command: Any) -> Any:
        enter()
        number = count
        try:
            answer = write(self, command)
        except Fenced:
            log("refused", type(command).__name__)
            raise
        leave(number, command)
        return answer

    async def killing_awrite(self: Any, command: Any) -> Any:
        enter()
        number = count
        try:
            answer = await awrite(self, command)
        except Fenced:
            log("refused", type(command).__name__)
            raise
        leave(number, command)
        return answer

    LeaseSession.write, LeaseSession.awrite = killing_write, killing_awrite  # type: ignore[method-assign]


def log(what: str, which: str) -> None:
    from tests.apps.evidence import note

    note(f"{what} {which}")


if __name__ == "__main__":
    main()
