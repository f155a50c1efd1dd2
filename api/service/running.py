"""Running: the service as a process, on one address until a signal."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from ipaddress import ip_address
from typing import Any, TypeAlias

import anyio
import uvicorn
from anyio.abc import TaskStatus
from sse_starlette.sse import AppStatus

from batonpass.contracts.errors import BadSetup
from batonpass.coordinator.client import Coordinator
from batonpass.coordinator.connection import Connection
from batonpass.workers.single import alone

from .files import allow_many, tell_once
from .hurried import Hurried
from .routes import application
from .settings import Settings
from .standing import Gauge

Started: TypeAlias = Callable[[str, str], None]
# Seconds that an idle connection is kept. Longer than proxies and pools of clients keep theirs (60 s): a request on one
# that is being closed fails, and a POST is not sent again.
IDLE = 75
_LAST_WORDS = 5  # seconds that requests may take once the service stops


class Place:
    """Where to listen. The address is looked up once, so that the one that is checked is the one that is bound."""

    def __init__(self, host: str, port: int) -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        except (OSError, UnicodeError) as error:
            raise BadSetup(f"--host {host!r} is not an address of this machine: {error}") from None
        self._family: int = found[0][0]
        self._address: tuple[Any, ...] = found[0][4]
        self._name = f"{host} port {port}"

    @property
    def local(self) -> bool:
        """Whether only this machine reaches it."""
        address = ip_address(self._address[0].partition("%")[0])
        return address.is_loopback

    def listener(self) -> socket.socket:
        """A socket that listens there."""
        try:
            return socket.create_server(self._address[:2], family=self._family)
        except OSError as error:
            raise BadSetup(f"can't listen on {self._name}: {error.strerror}") from None


class _Server(uvicorn.Server):
    """A server that leaves signals to us: uvicorn's own handling would end the process by the signal."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


async def serve(connection: Connection, place: Place, settings: Settings, started: Started) -> None:
    """Serve until SIGTERM or SIGINT. `started` is called with the store and the address once requests are accepted."""
    allow_many()
    tell_once()
    with place.listener() as listener:  # first, so that no store is made for an address that is not available
        async with connection as coordinator:
            with closing(Gauge(coordinator)) as gauge:
                await _serve(coordinator, gauge, listener, settings, started)


async def _serve(
    coordinator: Coordinator, gauge: Gauge, listener: socket.socket, settings: Settings, started: Started
) -> None:
    server, AppStatus.should_exit = _Server(configured(application(coordinator, gauge, settings), settings)), False
    with alone():
        async with anyio.create_task_group() as tasks:
            await tasks.start(_stop_by_signal, server)
            started(coordinator.url, _url(listener))
            await server.serve([listener])
            tasks.cancel_scope.cancel()


def configured(app: Any, settings: Settings) -> uvicorn.Config:
    """How the service is run."""
    return uvicorn.Config(
        app,
        http=Hurried,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=True,
        forwarded_allow_ips=settings.proxies,
        server_header=False,
        timeout_keep_alive=IDLE,
        timeout_graceful_shutdown=_LAST_WORDS,
    )


async def _stop_by_signal(server: uvicorn.Server, *, task_status: TaskStatus[None]) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        task_status.started()
        async for _ in signals:
            server.force_exit = server.should_exit  # a second signal does not wait for requests
            server.should_exit = AppStatus.should_exit = True  # of streams, which look every 0.5 s


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if listener.family == socket.AF_INET6 else f"http://{host}:{port}"
