"""BatonpassStore: long-term memory for LangGraph programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from langgraph.store.base import BaseStore, IndexConfig, Op, Result, TTLConfig

from ...contracts.errors import BadSetup
from ...coordinator.calls import Call, afollow, follow
from ...coordinator.coded.codec import Codec
from ...coordinator.coded.environment import codec_from_environment
from ...coordinator.coded.store import CodedStore
from ...coordinator.commands import Reap
from ...coordinator.store import Store
from ...coordinator.urls import open_store
from .freeing import Freeing
from .handles import Handles
from .opening import Opening
from .remembering import Batch
from .vectors import Embed, Vectors


class BatonpassStore(Opening, BaseStore):
    """Keeps items that outlive threads in Redis, SQLite or memory: `compile(store=BatonpassStore.from_url(url))`.

    Sync and async, from any number of threads, event loops and processes at once. Nothing has to be set up or closed.
    A value is a dict of what our codec carries; it comes back equal, or is refused when it is put (`Unserializable`).

    A batch's writes happen together (500 at a time; on a cluster those under one first label), after its reads. Items
    are found in the order of their namespaces and keys; with `index=`, as InMemoryStore takes it, and a query the
    nearest first. That needs numpy and compares with every item under the prefix. An item keeps the time of its
    creation when it is put again.

    `ttl=` is LangGraph's TTLConfig: minutes, begun anew by reads unless `refresh_on_read` is False. What is over is
    never shown. Workers free it, who puts with a ttl does now and then, or `sweep_ttl`.
    """

    supports_ttl = True

    def __init__(self, store: Store, *, index: IndexConfig | None = None, ttl: TTLConfig | None = None) -> None:
        for name, given in (("index", index), ("ttl", ttl)):
            config: Any = given  # users without a type checker give anything
            if config is not None and not isinstance(config, Mapping):
                raise BadSetup(f"{name}={config!r}, but it is a dict, as LangGraph's stores take it")
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
        """A memory on the store that a URL names, with `namespace` and `codec` as of `batonpass.connect`.

        Use it as it is, or with `with` or `async with`, which close what was opened.
        """
        store = open_store(url, namespace)
        codec = codec or codec_from_environment()
        return cls(CodedStore(store, codec) if codec else store, index=index, ttl=ttl)

    @property
    def _handles(self) -> Handles:
        return self._opened

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry operations out together: what reads sees nothing of what the others write."""
        call, store = self._carried_out(Batch(ops, self._vectors)), self._opened.store()

        def do(asked: Any) -> Any:
            return self._vectors.embed(asked) if self._vectors and isinstance(asked, Embed) else store.call(asked)

        return follow(call, do)

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` for async code."""
        call, store = self._carried_out(Batch(ops, self._vectors)), await self._opened.astore()

        async def do(asked: Any) -> Any:
            if self._vectors and isinstance(asked, Embed):
                return await self._vectors.aembed(asked)
            return await store.acall(asked)

        return await afollow(call, do)

    def _carried_out(self, batch: Batch) -> Call[list[Result]]:
        results = yield from batch.run()
        if batch.expires:
            yield from self._freeing.wrote()
        return results

    def sweep_ttl(self) -> None:
        """Free some hundreds of items whose time is over, as every worker does by itself."""
        self._drive(_sweep())

    async def asweep_ttl(self) -> None:
        """`sweep_ttl` for async code."""
        await self._adrive(_sweep())


def _sweep() -> Call[None]:
    yield Reap(limit=500, leases=False)
