"""A worker as a process: signals, and the app by its name."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
from collections.abc import Sequence
from threading import Timer

import anyio
from anyio.abc import TaskStatus

from ..contracts.app import App
from ..contracts.errors import BadSetup
from ..contracts.job import DEFAULT_LEASE
from ..coordinator.connection import connect
from .worker import Worker

_log = logging.getLogger("batonpass.worker")
# Seconds that giving back may take once nothing is waited for any more.
_LAST_WORDS = 3.0


def find_app(name: str) -> App:
    """Import `MODULE:APP` (or `MODULE`, for its `app`) from the working directory or the installed packages."""
    module_name, _, attribute = name.partition(":")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise BadSetup(f"there is no module {error.name!r} to import {name!r} from (in {os.getcwd()})") from None
        raise BadSetup(f"app {name!r} can't be imported: {error}") from error
    except Exception as error:
        raise BadSetup(f"app {name!r} can't be imported: {type(error).__name__}: {error}") from error
    app = getattr(module, attribute or "app", None)
    if not isinstance(app, App):
        raise BadSetup(f"{name!r} is not a batonpass.App: name one as MODULE:APP")
    return app


async def serve(
    app: App,
    url: str,
    *,
    namespace: str | None = None,
    agents: Sequence[str] | None = None,
    concurrency: int = 4,
    lease: float = DEFAULT_LEASE,
    grace: float = 30.0,
) -> None:
    """Run a worker until SIGTERM or SIGINT.

    The first signal drains: running deliveries are given back at their next checkpoint, after `grace` seconds at
    once. A second signal gives them back at once.
    """
    async with connect(url, namespace=namespace, app=app) as coordinator:
        worker = Worker(app, coordinator, agents=agents, concurrency=concurrency, lease=lease)
        await worker.prepare()
        async with anyio.create_task_group() as tasks:
            await tasks.start(_obey_signals, worker, grace)
            await worker.run()
            tasks.cancel_scope.cancel()


async def _obey_signals(worker: Worker, grace: float, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _signal in signals:
            _log.info("stopping: running jobs are given back at their next checkpoint, on a second signal at once")
            worker.stop()
            break
        with anyio.move_on_after(grace):
            async for _signal in signals:
                break
        # Agent code in a thread can't be stopped, and Python would wait for it: its delivery is given back, so the
        # process may go.
        exit_anyway = Timer(_LAST_WORDS, os._exit, (1,))
        exit_anyway.daemon = True
        exit_anyway.start()
        worker.stop_now()
