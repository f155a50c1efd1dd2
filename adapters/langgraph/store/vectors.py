"""Vectors: what semantic search compares: texts of items as an embedding sees them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langgraph.store.base import IndexConfig, ensure_embeddings, get_text_at_path

from ....contracts.errors import BadSetup, Corrupted, MissingExtra
from ....contracts.understood import understood
from ....coordinator.blobs import open_blob, seal_blob
from ....coordinator.commands import Command
from ....coordinator.items import ItemRow


@dataclass(frozen=True, slots=True)
class Embed(Command[list[list[float]]]):
    """Ask the embedding, not a store, for the vectors of texts."""

    texts: tuple[str, ...]
    queries: bool = False


class Vectors:
    """An index in LangGraph's configuration. A search compares with every vector under its labels, so it is exact."""

    def __init__(self, config: IndexConfig) -> None:
        try:
            import numpy
        except ImportError:
            raise MissingExtra("search by meaning (index=) needs the library numpy: pip install numpy") from None
        self._numpy = numpy
        self._dims = config.get("dims", 0)
        if self._dims < 1:
            raise BadSetup(f"index= has dims={self._dims!r}, but it must say how many dimensions the vectors have")
        distance: Any = config.get("distance_type", "cosine")  # an option of LangGraph's stores in databases
        if distance != "cosine":
            raise BadSetup(
                f"index= has distance_type={distance!r}, but this store compares by the cosine: leave it out"
            )
        self._fields = config.get("fields") or ["$"]
        self._embeddings = ensure_embeddings(config.get("embed"))

    def embed(self, asked: Embed) -> list[list[float]]:
        """Vectors, from sync code."""
        if asked.queries:
            return [self._embeddings.embed_query(text) for text in asked.texts]
        return self._embeddings.embed_documents(list(asked.texts))

    async def aembed(self, asked: Embed) -> list[list[float]]:
        """`embed` for async code."""
        if asked.queries:
            return [await self._embeddings.aembed_query(text) for text in asked.texts]
        return await self._embeddings.aembed_documents(list(asked.texts))

    def texts(self, value: Mapping[str, Any], index: Literal[False] | Sequence[str] | None, about: str) -> list[str]:
        """The texts of an item that searches can find."""
        if index is False:
            return []
        fields = self._fields if index is None else index
        try:
            return [text for field in fields for text in get_text_at_path(value, field)]
        except TypeError as error:
            raise BadSetup(f"{about} can't be indexed, name the fields (index=[...]) or False: {error}") from None

    def seal(self, vectors: Sequence[Sequence[float]]) -> bytes:
        """Vectors as an item keeps them. Empty if there are none."""
        if not vectors:
            return b""
        return seal_blob([self._dims, self._checked(vectors).astype("<f4").tobytes()], path="index")

    def scores(self, query: Sequence[float], rows: Sequence[ItemRow]) -> list[float | None]:
        """How near each item's nearest text is to the query's (the cosine). None if it has no text."""
        held = [self._opened(row, of=f"the index of {row.name.about}") if row.index else None for row in rows]
        near = iter(self._cosines(query, [each for each in held if each is not None]))
        return [None if each is None else next(near) for each in held]

    def _cosines(self, query: Sequence[float], held: Sequence[Any]) -> list[float]:
        if not held:
            return []
        numpy = self._numpy
        [asked] = self._checked([query])
        every = numpy.concatenate(held).astype("f8")
        norm: Any = numpy.linalg.norm  # only partly typed in some releases
        lengths = norm(every, axis=1) * norm(asked)
        cosines = numpy.divide(every @ asked, lengths, out=numpy.zeros(len(every)), where=lengths != 0)
        starts = numpy.cumsum([0, *(len(each) for each in held[:-1])])
        best: list[float] = numpy.maximum.reduceat(cosines, starts).tolist()
        return best

    def _checked(self, vectors: Sequence[Sequence[float]]) -> Any:
        made = self._numpy.asarray(vectors, dtype="f8")
        if made.ndim != 2 or made.shape[1] != self._dims or not self._numpy.isfinite(made).all():
            raise BadSetup(
                f"the embedding gave vectors that are not finite, or not of {self._dims} dimensions (index=)"
            )
        return made

    @understood("{of}")
    def _opened(self, row: ItemRow, *, of: str) -> Any:
        dims, data = open_blob(row.index, of=of)
        if dims != self._dims:
            raise BadSetup(f"{of} has vectors of {dims} dimensions, not {self._dims}: put the item again")
        held = self._numpy.frombuffer(data, dtype="<f4").reshape(-1, dims)
        if not len(held) or not self._numpy.isfinite(held).all():
            raise Corrupted(f"{of} is not what was stored: it has no finite vectors")
        return held
