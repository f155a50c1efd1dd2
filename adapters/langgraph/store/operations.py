"""Operations: what a store's operations do, written once for sync and async, as a call (coordinator/calls/)."""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    Item,
    ListNamespacesOp,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from ....contracts.errors import BadSetup, Corrupted
from ....contracts.understood import understood
from ....coordinator.blobs import open_blob, seal_blob
from ....coordinator.calls import Call, items
from ....coordinator.calls.inputs import bounded, milliseconds, text
from ....coordinator.coded.codec import MissingKey, Unproven
from ....coordinator.items import OURS, ItemChange, ItemName, ItemRow
from .filters import check_conditions, check_filter, common_prefix, meets, passes
from .vectors import Embed, Vectors

_log = logging.getLogger("batonpass.langgraph")


class _Hit(NamedTuple):
    """What a search found."""

    row: ItemRow
    value: dict[str, Any]
    score: float | None = None


class Operations:
    """Operations that are carried out together. Reads don't see what the others write. All are checked first."""

    def __init__(self, ops: Iterable[Op], vectors: Vectors | None) -> None:
        self._ops = list(ops)
        self._vectors = vectors
        self._read: list[ItemRow] = []  # their ttl starts again
        self._puts = {_name(op.namespace, op.key): op for op in self._ops if isinstance(op, PutOp)}
        self._changes = [_change(name, op) for name, op in self._puts.items()]
        for op in self._ops:
            _check(op)

    @property
    def expires(self) -> bool:
        """Whether it puts items with a ttl."""
        return any(change.ttl for change in self._changes)

    def run(self) -> Call[list[Result]]:
        """The results, in the order of the operations."""
        rows = yield from items.read([_name(op.namespace, op.key) for op in self._ops if isinstance(op, GetOp)])
        queries = yield from self._queries()
        results: list[Result] = []
        for op in self._ops:
            if isinstance(op, GetOp):
                results.append(self._got(rows.get(ItemName(tuple(op.namespace), op.key)), op.refresh_ttl))
            elif isinstance(op, SearchOp):
                results.append((yield from self._searched(op, queries)))
            elif isinstance(op, ListNamespacesOp):
                results.append((yield from _listed(op)))
            else:
                results.append(None)
        yield from items.refresh(self._read)
        yield from self._write()
        return results

    def _got(self, row: ItemRow | None, refresh: bool) -> Item | None:
        if row is None:
            return None
        found = Item(value=value_of(row, of=row.name.about), key=row.name.key, namespace=row.name.labels, **_times(row))
        self._read += [row] if refresh else []
        return found

    def _queries(self) -> Call[dict[str, list[float]]]:
        asked = dict.fromkeys(op.query for op in self._ops if isinstance(op, SearchOp) and op.query)
        texts = tuple(query for query in asked if query)
        if self._vectors is None or not texts:
            return {}
        vectors: list[list[float]] = yield Embed(texts, queries=True)
        return dict(zip(texts, vectors, strict=True))

    def _searched(self, op: SearchOp, queries: Mapping[str, list[float]]) -> Call[list[SearchItem]]:
        query = queries.get(op.query or "")
        first, count = max(op.offset, 0), max(op.limit, 0)
        if query is None:
            hits = yield from _ordered(op, first, count)
        else:
            hits = (yield from self._ranked(op, query, first + count))[first : first + count]
        self._read += [hit.row for hit in hits] if op.refresh_ttl else []
        return [
            SearchItem(hit.row.name.labels, hit.row.name.key, hit.value, **_times(hit.row), score=hit.score)
            for hit in hits
        ]

    def _ranked(self, op: SearchOp, query: Sequence[float], end: int) -> Call[list[_Hit]]:
        """The nearest first, then those that have no text to compare."""
        assert self._vectors is not None
        scored, others, start = list[_Hit](), list[_Hit](), ""
        while True:
            page = yield from items.page(tuple(op.namespace_prefix), start, items.PAGE, indexed=True)
            hits = list(_passing(page.rows, op))
            for hit, score in zip(hits, self._vectors.scores(query, [hit.row for hit in hits]), strict=True):
                (others if score is None else scored).append(hit._replace(score=score))
            scored = sorted(scored, key=lambda hit: -cast("float", hit.score))[:end]
            del others[end:]
            if not page.start:
                return scored + others
            start = page.start

    def _write(self) -> Call[None]:
        vectors = self._vectors
        texts: dict[ItemName, list[str]] = {}
        if vectors is not None:
            for name, op in self._puts.items():
                if op.value is not None:
                    texts[name] = vectors.texts(op.value, op.index, name.about)
        unique = tuple(dict.fromkeys(each for some in texts.values() for each in some))
        embedded: list[list[float]] = (yield Embed(unique)) if unique else []
        if len(embedded) != len(unique):
            raise BadSetup(f"the embedding gave {len(embedded)} vectors for {len(unique)} texts")
        by_text = dict(zip(unique, embedded, strict=True))
        changes = self._changes
        if vectors is not None:
            indexes = {name: vectors.seal([by_text[each] for each in some]) for name, some in texts.items()}
            changes = [replace(change, index=indexes.get(change.name, b"")) for change in changes]
        yield from items.write(changes)


def _change(name: ItemName, op: PutOp) -> ItemChange:
    value: Any = op.value
    if value is None:
        return ItemChange(name, None)
    if not isinstance(value, Mapping):
        raise BadSetup(f"the value of {name.about} is a {type(value).__name__}, but it must be a dict")
    ttl = 0 if op.ttl is None else minutes(op.ttl, "ttl")
    return ItemChange(name, seal_blob(dict(cast("Mapping[str, Any]", value)), path="value"), ttl=ttl)


def minutes(given: Any, what: str) -> int:
    """A time to live in ms. LangGraph's stores count in minutes."""
    if isinstance(given, bool) or not isinstance(given, int | float):
        raise BadSetup(f"{what}={given!r}, but it must be a number of minutes")
    try:
        return milliseconds(given * 60, what, least=0.001)
    except (BadSetup, OverflowError):
        raise BadSetup(f"{what}={given!r}, but it must be a number of minutes above 0, for at most 100 years") from None


def _check(op: object) -> None:
    if isinstance(op, SearchOp):
        _labels(op.namespace_prefix)
        check_filter(op.filter)
    elif isinstance(op, ListNamespacesOp):
        check_conditions(op.match_conditions or ())
        for condition in op.match_conditions or ():
            _labels(condition.path)
    elif isinstance(op, GetOp | PutOp):
        name = _name(op.namespace, op.key)
        if isinstance(op, PutOp) and op.value is not None:
            for each in (*name.labels, name.key):
                bounded(each, "namespace label" if each in name.labels else "key")
    else:
        raise BadSetup(f"a {type(op).__name__} is not an operation of a store")


def _name(namespace: Sequence[str], key: object) -> ItemName:
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    if not isinstance(key, str):
        raise BadSetup(f"the key {key!r} is a {type(key).__name__}, but it must be a text")
    return ItemName(_labels(namespace), text(key, "key"))


def _labels(namespace: Iterable[object]) -> tuple[str, ...]:
    labels = tuple(namespace)
    for label in labels:
        if not isinstance(label, str):
            raise InvalidNamespaceError(f"Namespace labels must be strings, but {label!r} in {labels!r} is not.")
        text(label, "namespace label")
    if labels and labels[0] in OURS:
        raise InvalidNamespaceError(f"Root label for namespace cannot be {labels[0]!r}: that is Batonpass's own.")
    return cast("tuple[str, ...]", labels)


def _listed(op: ListNamespacesOp) -> Call[list[tuple[str, ...]]]:
    conditions = op.match_conditions or ()
    every = yield from items.spaces(common_prefix(conditions))
    fitting = (labels for labels in every if meets(labels, conditions))
    found = list(dict.fromkeys(labels if op.max_depth is None else labels[: op.max_depth] for labels in fitting))
    return found[max(op.offset, 0) : max(op.offset, 0) + max(op.limit, 0)]


def _ordered(op: SearchOp, first: int, count: int) -> Call[list[_Hit]]:
    """In the order of labels and keys. With a filter, rows have to be decoded to be skipped. Without one, what can't be
    read is skipped like the others: then pages may share items, but none is missing from all."""
    found, start, skip = list[_Hit](), "", first
    while len(found) < count:
        wanted, past = (items.PAGE, 0) if op.filter else (count - len(found), skip)
        page = yield from items.page(tuple(op.namespace_prefix), start, wanted, skip=past)
        hits = list(_passing(page.rows, op))
        if op.filter:
            found += hits[skip:]
            skip = max(skip - len(hits), 0)
        else:
            found += hits
            skip = page.skip
        if not page.start:
            break
        start = page.start
    return found[:count]


def _passing(rows: Iterable[ItemRow], op: SearchOp) -> Iterator[_Hit]:
    """The rows that pass the filter. What can't be read is left out (reading it by name raises). If that is all, and
    perhaps because of the key, this raises: it must not look like an empty memory."""
    locked, read = list[MissingKey | Unproven](), False
    for row in rows:
        try:
            value = value_of(row, of=row.name.about)
        except (MissingKey, Corrupted) as error:
            _log.warning("left out of a search: %s", error)
            locked += [error] if isinstance(error, MissingKey | Unproven) else []
            continue
        read = True
        if passes(value, op.filter):
            yield _Hit(row, value)
    if locked and not read:
        raise locked[0]


@understood("{of}")
def value_of(row: ItemRow, *, of: str) -> dict[str, Any]:
    """The value of an item."""
    value: dict[str, Any] = open_blob(row.value, of=of)
    if value.__class__ is not dict:
        raise Corrupted(f"{of} is not what was stored: it is not a dict")
    return value


def _times(row: ItemRow) -> dict[str, Any]:
    return {"created_at": _time(row.created), "updated_at": _time(row.updated)}


def _time(milliseconds_since: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds_since / 1000, dt.UTC)
