"""BatonpassStore: a long-term memory for LangGraph programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

from ....contracts.errors import BadSetup
from ....coordinator.calls import Call
from ....coordinator.calls.freeing import Freeing
from ....coordinator.coded.codec import Codec
from ....coordinator.coded.environment import store_at
from ....coordinator.commands import Reap
from ....coordinator.following import afollow, follow
from ....coordinator.store import Store
from ..handles import Handles, Opening
from .operations import Operations, minutes
from .vectors import Embed, Vectors


class BatonpassStore(Opening, BaseStore):
    """A LangGraph store on Redis, SQLite or memory: `compile(store=BatonpassStore.from_url(url))`.

    Its items outlive threads. Sync and async, from any number of threads, event loops and processes at once. There is
    nothing to set up or close. A value is a dict of what our codec can carry. It comes back equal, or is refused when
    it is put (`Unserializable`).

    - A batch's writes are committed together (500 at a time; on a cluster those under one first label), after its
      reads.
    - Searches return items in the order of their namespaces and keys. With `index=`, in InMemoryStore's form, and a
      query, the nearest come first. That needs numpy and compares with every item under the prefix.
    - An item that is put again keeps its creation time.
    - `ttl=` is LangGraph's TTLConfig: minutes, restarted by reads unless `refresh_on_read` is False. Expired items are
      never returned. Workers delete them, and so do puts with a ttl now and then, and `sweep_ttl`.
    """

    supports_ttl = True

    def __init__(self, store: Store, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        for name, given in (("index", index), ("ttl", ttl)):
            config: Any = given  # users without a type checker give anything
            if config is not None and not isinstance(config, Mapping):
                raise BadSetup(f"{name}={config!r}, but it must be a dict, as LangGraph's stores take it")
        _check_ttl(ttl or {})
        self._opened = Handles(store)
        self._vectors = Vectors(index) if index else None
        self._freeing = Freeing()
        self.ttl_config = ttl

    @classmethod
    def from_url(
        cls,
        url: str,
        *,
        namespace: str | None = None,
        codec: Codec | None = None,
        index: IndexConfig | None = None,
        ttl: TTLConfig | None = None,
    ) -> BatonpassStore:
        """A memory on the store with this URL. `namespace` and `codec` are those of `batonpass.connect`.

        Use it directly, or with `with` or `async with`, which close what was opened.
        """
        return cls(store_at(url, namespace, codec), index=index, ttl=ttl)

    @property
    def _handles(self) -> Handles:
        return self._opened

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations together. Reads don't see what the others write."""
        call, store = self._carried_out(Operations(ops, self._vectors)), self._opened.store()

        def do(asked: Any) -> Any:
            return self._vectors.embed(asked) if self._vectors and isinstance(asked, Embed) else store.call(asked)

        return follow(call, do)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` for async code."""
        call, store = self._carried_out(Operations(ops, self._vectors)), await self._opened.astore()

        async def do(asked: Any) -> Any:
            if self._vectors and isinstance(asked, Embed):
                return await self._vectors.aembed(asked)
            return await store.acall(asked)

        return await afollow(call, do)

    def _carried_out(self, batch: Operations) -> Call[list[Result]]:
        results = yield from batch.run()
        if batch.expires:
            yield from self._freeing.wrote()
        return results

    def sweep_ttl(self) -> None:
        """Delete some hundreds of expired items, as every worker does on its own."""
        self._drive(_sweep())

    async def asweep_ttl(self) -> None:
        """`sweep_ttl` for async code."""
        await self._adrive(_sweep())


def _check_ttl(config: Mapping[str, Any]) -> None:
    keys = TTLConfig.__annotations__
    if strange := [key for key in config if key not in keys]:
        raise BadSetup(f"ttl={dict(config)!r}: {strange[0]!r} is not a key of LangGraph's TTLConfig: {', '.join(keys)}")
    if (default := config.get("default_ttl")) is not None:
        minutes(default, "default_ttl")


def _sweep() -> Call[None]:
    yield Reap(limit=500, leases=False)
