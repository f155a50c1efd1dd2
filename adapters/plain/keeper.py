"""Keeper: saves the states of objects under keys, and loads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import TracebackType
from typing import Any, Self

from anyio import to_thread

from ...contracts.checkpoint import Checkpoint, CheckpointSummary
from ...contracts.diff import Diff, diff
from ...contracts.errors import BadSetup, NotFound
from ...coordinator.client import Coordinator
from ...coordinator.comparing import compared
from ...coordinator.connection import Connection, connect
from ...coordinator.sync_client import SyncCoordinator
from . import attached
from .checkpointable import Checkpointable
from .classes import name_of
from .dump import Dump, copied
from .files import AsyncFiles, JsonFiles
from .load import Load
from .places import FRAMEWORK, AsyncPlace, AsyncStorePlace, Place, StorePlace


class Keeper:
    """Saves the states of objects. Each key has its own history of checkpoints, stored as a thread.

    `place` is a store's URL, an open `SyncCoordinator`, or `JsonFiles`. It is opened at once. `with` or `close()`
    closes what a URL opened. Safe to use from any number of threads.
    """

    def __init__(self, place: str | SyncCoordinator | JsonFiles) -> None:
        self._connection: Connection | None = None
        self._place: Place
        if isinstance(place, JsonFiles):
            self._place = place
        elif isinstance(place, SyncCoordinator):
            self._place = StorePlace(place.store)
        else:
            self._connection = _named(place)
            self._place = StorePlace(self._connection.open().store)

    def close(self) -> None:
        """Close what a URL opened."""
        if self._connection is not None:
            self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def attach(self, obj: Checkpointable, key: str) -> None:
        """Attach an object to a key: from now on its `@checkpoint` methods save there, and you can leave out `key`."""
        attached.attach(obj, self, attached.key_of(obj, self, key))

    def resume(self, obj: Checkpointable, key: str) -> Checkpoint | None:
        """Attach an object, and load the key's newest checkpoint if there is one. Use this to start or continue."""
        found = self._place.latest(thread=attached.key_of(obj, self, key))
        if found is not None:
            put(obj, found)
        self.attach(obj, key)
        return found

    def save(
        self,
        obj: Checkpointable,
        key: str | None = None,
        *,
        step: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> Checkpoint:
        """Save a checkpoint of the object's state. When this returns, it is stored.

        A key stores only what is new in each checkpoint. `context` is small metadata that lists show. Raises
        `Unserializable` with the path of a value that can't be restored, and whatever the store raises.
        """
        return self.sending(obj, key, step, context)()

    def sending(
        self, obj: Checkpointable, key: str | None, step: str, context: Mapping[str, Any] | None
    ) -> Callable[[], Checkpoint]:
        """A call that saves the object's current state."""
        key = attached.key_of(obj, self, key)
        dump = Dump()
        return partial(self._send, obj, key, dump, _written(dump, obj, key, step, context))

    def _send(self, obj: Checkpointable, key: str, dump: Dump, written: dict[str, Any]) -> Checkpoint:
        attached.note_sent(obj, self, key)
        with dump.explaining(obj):
            return self._place.save(**written)

    def load(self, obj: Checkpointable, key: str | None = None, *, strict: bool = True) -> Checkpoint:
        """Load the key's newest checkpoint into the object. Raises `NotFound` if there is none.

        `strict` and `BadSetup` are those of `load_state_dict`. A damaged checkpoint raises `Corrupted`.
        """
        key = attached.key_of(obj, self, key)
        return put(obj, _found(self._place.latest(thread=key), key), strict=strict)

    def restore(self, obj: Checkpointable, checkpoint: str | Checkpoint, *, strict: bool = True) -> Checkpoint:
        """Load any checkpoint of the object's history into it, by id."""
        found = checkpoint if isinstance(checkpoint, Checkpoint) else self._place.restore(checkpoint)
        return put(obj, found, strict=strict)

    def history(self, key: str, n: int = 10) -> list[CheckpointSummary]:
        """The key's last `n` checkpoints without their state, newest first."""
        return self._place.timeline(key, limit=n)

    def keys(self) -> list[str]:
        """The keys that have checkpoints. Makes one call per thread in the store."""
        return self._place.keys()

    def diff(self, old: str | Checkpoint | Checkpointable, new: str | Checkpoint | Checkpointable) -> Diff:
        """Compare two saved states: of checkpoints (by id), or of objects as they are now."""
        return diff(*(state_of(self._place.restore(one) if isinstance(one, str) else one) for one in (old, new)))


class AsyncKeeper:
    """`Keeper` for async code. For its methods, see `Keeper`.

    `place` is a store's URL (opened by `async with`), an open `Coordinator`, or `JsonFiles`.
    """

    def __init__(self, place: str | Coordinator | JsonFiles) -> None:
        self._connection: Connection | None = None
        self._place: AsyncPlace | None = None
        if isinstance(place, JsonFiles):
            self._place = AsyncFiles(place)
        elif isinstance(place, Coordinator):
            self._place = AsyncStorePlace(place.store)
        else:
            self._connection = _named(place)

    @property
    def _opened(self) -> AsyncPlace:
        if self._place is None:
            raise BadSetup("this AsyncKeeper is not open: use it within `async with`")
        return self._place

    async def __aenter__(self) -> Self:
        if self._connection is not None:
            self._place = AsyncStorePlace((await self._connection.__aenter__()).store)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._connection is not None:
            self._place = None
            await self._connection.__aexit__(kind, error, trace)

    def attach(self, obj: Checkpointable, key: str) -> None:
        """Attach an object to a key: from now on its `@checkpoint` methods save there, and you can leave out `key`."""
        attached.attach(obj, self, attached.key_of(obj, self, key))

    async def resume(self, obj: Checkpointable, key: str) -> Checkpoint | None:
        """Attach an object, and load the key's newest checkpoint if there is one."""
        found = await self._opened.latest(thread=attached.key_of(obj, self, key))
        if found is not None:
            put(obj, found)
        self.attach(obj, key)
        return found

    async def save(
        self,
        obj: Checkpointable,
        key: str | None = None,
        *,
        step: str = "",
        context: Mapping[str, Any] | None = None,
    ) -> Checkpoint:
        """Save a checkpoint of the object's current state."""
        key = attached.key_of(obj, self, key)
        dump = Dump()
        written = _written(dump, obj, key, step, context)
        attached.note_sent(obj, self, key)
        with dump.explaining(obj):
            return await self._opened.save(**written)

    async def load(self, obj: Checkpointable, key: str | None = None, *, strict: bool = True) -> Checkpoint:
        """Load the key's newest checkpoint into the object."""
        key = attached.key_of(obj, self, key)
        return put(obj, _found(await self._opened.latest(thread=key), key), strict=strict)

    async def restore(self, obj: Checkpointable, checkpoint: str | Checkpoint, *, strict: bool = True) -> Checkpoint:
        """Load a checkpoint into the object, by id."""
        found = checkpoint if isinstance(checkpoint, Checkpoint) else await self._opened.restore(checkpoint)
        return put(obj, found, strict=strict)

    async def history(self, key: str, n: int = 10) -> list[CheckpointSummary]:
        """The key's last `n` checkpoints without their state, newest first."""
        return await self._opened.timeline(key, limit=n)

    async def keys(self) -> list[str]:
        """The keys that have checkpoints."""
        return await self._opened.keys()

    async def diff(self, old: str | Checkpoint | Checkpointable, new: str | Checkpoint | Checkpointable) -> Diff:
        """Compare two saved states."""
        states = [state_of(await self._opened.restore(one) if isinstance(one, str) else one) for one in (old, new)]
        return await compared(*states)


def put(obj: Checkpointable, found: Checkpoint, *, strict: bool = True) -> Checkpoint:
    """Load a checkpoint's state. A refusal names the checkpoint."""
    try:
        Load(strict=strict).run(obj, copied(found.state))  # a copy: the checkpoint is the caller's
    except BadSetup as error:
        raise BadSetup(f"checkpoint {found.id}: {error}") from error.__cause__
    return found


def state_of(given: Checkpoint | Checkpointable) -> Any:
    """The state of a checkpoint, or of an object as it is now."""
    return Dump().run(given) if isinstance(given, Checkpointable) else given.state


async def save_to(keeper: Keeper | AsyncKeeper, obj: Checkpointable, key: str, step: str) -> None:
    """Save with either keeper from async code, without blocking the loop."""
    if isinstance(keeper, AsyncKeeper):
        await keeper.save(obj, key, step=step)
    else:
        await to_thread.run_sync(keeper.sending(obj, key, step, None))


def _named(url: str) -> Connection:
    if not isinstance(url, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadSetup(
            f"{type(url).__name__} is not a store: Keeper takes a URL, a SyncCoordinator or JsonFiles, "
            "AsyncKeeper a URL, a Coordinator or JsonFiles"
        )
    return connect(url)


def _found(checkpoint: Checkpoint | None, key: str) -> Checkpoint:
    if checkpoint is None:
        raise NotFound(f"there is no checkpoint under {key!r}: save one first, or use resume() to start or continue")
    return checkpoint


def _written(dump: Dump, obj: Checkpointable, key: str, step: str, context: Mapping[str, Any] | None) -> dict[str, Any]:
    about = {"thread": key, "agent": name_of(type(obj)), "step": step, "framework": FRAMEWORK, "context": context}
    return {**about, "state": dump.run(obj)}
