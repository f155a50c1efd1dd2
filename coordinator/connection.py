"""connect: from a URL to a coordinator."""

from __future__ import annotations

import asyncio
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from anyio import CancelScope

from ..contracts.app import App
from ..contracts.errors import BadSetup
from .book import Book
from .client import Coordinator
from .coded.codec import Codec
from .coded.environment import store_at
from .store import Store
from .sync_client import SyncCoordinator
from .urls import with_default_url

# Not None: a program whose settings give no URL by mistake must not go on in a file of its own.
_LEFT_OUT: Any = ...


class Connection:
    """A store to be opened: `async with` or `aopen()` gives a `Coordinator`, `with` or `open()` a `SyncCoordinator`."""

    def __init__(self, store: Store, book: Book) -> None:
        self._store = store
        self._book = book

    def __repr__(self) -> str:
        return f"<connection to {self._store.url}>"

    async def __aenter__(self) -> Coordinator:
        return await self._aopen(block=True)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._aclose(block=True)

    def __enter__(self) -> SyncCoordinator:
        return self._open(block=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close(block=True)

    if not TYPE_CHECKING:  # a type checker says it better

        def __getattr__(self, name: str) -> object:
            raise AttributeError(
                f"a connection that is not opened has no {name!r}: write `async with connect(...) as coordinator:`, in "
                f"sync code `with` (where neither fits, in a notebook, `coordinator = await connect(...).aopen()`, in "
                f"sync code `.open()`), and coordinator.{name}"
            )

    def open(self) -> SyncCoordinator:
        """Open for sync code. Call `close()` when you are done."""
        return self._open(block=False)

    def _open(self, *, block: bool) -> SyncCoordinator:
        self._store.lifetime.begin(block=block)
        try:
            if not self._store.lifetime.checked:
                self._store.open()
                self._store.lifetime.has_checked()
        except BaseException:  # a server that will not do, say: it may be connected
            self._close(block=block)
            raise
        return SyncCoordinator(self._store, self._book)

    def close(self) -> None:
        """Close what `open()` opened. Its coordinator, and jobs from there, refuse what they are asked then, until it
        is opened again. Call it once for each `open()`: one more may end what somebody else has opened by a call, but
        never a `with` block. Does nothing if it is already closed."""
        self._close(block=False)

    def _close(self, *, block: bool) -> None:
        if self._store.lifetime.end(block=block):
            self._store.close()

    async def aopen(self) -> Coordinator:
        """Open for async code, in the asyncio event loop that will use it. Call `aclose()` when you are done."""
        return await self._aopen(block=False)

    async def _aopen(self, *, block: bool) -> Coordinator:
        _check_loop()
        self._store.lifetime.begin(block=block)
        try:
            if not self._store.lifetime.checked:
                await self._store.aopen()
                self._store.lifetime.has_checked()
        except BaseException:
            await self._aclose(block=block)
            raise
        return Coordinator(self._store, self._book)

    async def aclose(self) -> None:
        """`close` for what `aopen()` opened, also in a cancelled scope."""
        await self._aclose(block=False)

    async def _aclose(self, *, block: bool) -> None:
        if self._store.lifetime.end(block=block):
            with CancelScope(shield=True):
                await self._store.aclose()


def _check_loop() -> None:
    """Refuse a loop in which nothing of ours could wait, before anything is connected."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise BadSetup(
            "there is no asyncio event loop here, and the async API needs one (not trio's): run this with asyncio, or "
            "use the sync API, `with connect(...)`"
        ) from None


def connect(
    url: str = _LEFT_OUT,
    *,
    namespace: str | None = None,
    app: App | None = None,
    codec: Codec | None = None,
) -> Connection:
    """Connect to a store: `async with connect(url) as coordinator`, or in sync code `with`.

    - `url` is `sqlite:///file.db`, `redis://host:6379`, `rediss://...`, `redis+sentinel://host:26379/service`,
      `redis+cluster://host:7000,host2:7000` (with TLS `rediss+sentinel://` and `rediss+cluster://`) or `memory://`
      (default: BATONPASS_URL, else `sqlite:///batonpass.db`, as for the command line).
    - `namespace` keeps several users of one store apart (default: the URL's `?namespace=`, else "default").
    - `app` has the agents and contracts that are known without asking the store (default: all apps of this process).
    - `codec` encrypts, signs or compresses what is stored (default: according to BATONPASS_ENCRYPT_KEYS,
      BATONPASS_SIGN_KEYS and BATONPASS_COMPRESS).

    Nothing is opened before the `with` (or `aopen()`, `open()`). If the store can't be used, you get `Unreachable` or
    `BadSetup` there. One that is open already, in an outer block or another thread, is not asked again: so a web
    application can open it once, and have a `with` for each request that costs nothing.
    """
    given: Any = app  # users without a type checker give anything
    if given is not None and not isinstance(given, App):
        raise BadSetup(f"app={given!r}, but it must be a batonpass.App, or left out")
    at = partial(store_at, namespace=namespace, codec=codec)
    return Connection(with_default_url(at) if url is _LEFT_OUT else at(url), Book(app))
