"""Records: real ones of every kind that is stored, and how each is read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from enum import Enum
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from pydantic import BaseModel

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.contract import dump_payload, load_mapping, load_payload
from batonpass.contracts.handoff import Envelope
from batonpass.contracts.inbox import AskTerms
from batonpass.contracts.names import home, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, open_envelope, seal_blob, seal_envelope
from batonpass.coordinator.book import Book, close_declaration, open_declaration
from batonpass.coordinator.bundles.file import BundleReader
from batonpass.coordinator.bundles.records import (
    CHECKPOINT,
    JOB,
    WRITES,
    Carried,
    CarriedJob,
    close_checkpoint,
    close_job,
    close_writes,
    open_job,
    open_writes,
)
from batonpass.coordinator.bundles.records import (
    open_checkpoint as open_carried,
)
from batonpass.coordinator.calls.events import read as read_event
from batonpass.coordinator.calls.webhooks import read as read_webhook
from batonpass.coordinator.items import ItemName, ItemRow
from batonpass.coordinator.memory.store import MemoryStore
from batonpass.coordinator.parts.spans import Append, read_spans
from batonpass.coordinator.presence import Present, close_present, open_present
from batonpass.coordinator.questions import stored_terms, suspending
from batonpass.coordinator.rows import CheckpointRow, EventRow, JobRow, KeptJob, OutcomeRow, Place, Write
from batonpass.coordinator.seals import FORMAT, content_hash, read_commit, seal_of
from batonpass.coordinator.snapshots import draft, open_checkpoint


@bp.state_type("fuzz.tree")
class Tree(BaseModel):
    name: str = ""
    leaves: list[Any] = []
    at: dt.datetime | None = None


@bp.state_type("fuzz.pair")
@dataclass
class Pair:
    one: Any
    other: Any


@bp.state_type("fuzz.mood")
class Mood(Enum):
    GOOD = 1


class Spot(NamedTuple):
    x: int


bp.state_type("fuzz.spot", Spot)


class Notes(bp.Contract, name="fuzz.notes"):
    text: str
    facts: tuple[str, ...] = ()


class NewNotes(bp.Contract, name="fuzz.notes", version=2):
    text: str


_NOW = dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC)
STATES: list[Any] = [
    {"messages": [{"role": "user", "content": "x" * 40, "id": n} for n in range(20)], "n": [1, 2.5, None, True]},
    {"deep": [[[[{}]]]], "t": (1, {2, 3}, frozenset([4]), 2**100, -(2**70)), "b": b"\0\xff" * 40},
    [_NOW, _NOW.astimezone(ZoneInfo("Europe/Berlin")), dt.date(2026, 1, 2), dt.time(1, 2), dt.timedelta(days=-1)],
    {UUID(int=5): Decimal("1.20"), (1, "a"): b"\0\xff", Path("/a"): float("inf"), 7: {None: (), 2.5: {1: 2}}},
    [Tree(name="x", leaves=[Pair(1, {"a": (Mood.GOOD,)})], at=_NOW), {Mood.GOOD: Spot(1)}, Notes(text="x")],
    [bp.UnknownValue("fuzz.unknown", pack([1, (2,)])), {"text": "ü💥" * 30}],
    {"log": "words and words " * 2000, "rows": [{"n": n, "text": "row " * 20} for n in range(300)]},
]


class Kind(NamedTuple):
    """A kind of record: samples as named bytes, how they are read, and how a forger makes their seals right again."""

    samples: list[dict[str, bytes]]
    read: Callable[[Mapping[str, bytes]], Any]
    forge: Callable[[dict[str, bytes], str], dict[str, bytes]] = lambda parts, changed: parts


def _whole(samples: list[bytes], read: Callable[[bytes], Any]) -> Kind:
    return Kind([{"data": data} for data in samples], lambda parts: read(parts["data"]))


def _blobs(samples: list[bytes], read: Callable[..., Any]) -> Kind:
    def forge(parts: dict[str, bytes], changed: str) -> dict[str, bytes]:
        body = parts["data"][17:]
        return {"data": FORMAT + content_hash(body) + body}

    return Kind([{"data": data} for data in samples], lambda parts: read(parts["data"], of="the blob"), forge)


def _checkpoints() -> Kind:
    store = MemoryStore()
    face = bp.SyncCoordinator(store, Book(None))
    rows: list[CheckpointRow] = []
    for number, state in enumerate(STATES):
        for more in ({}, {"more": [number] * 600}):
            grown = {**state, **more} if isinstance(state, dict) else [state, more]
            saved = face.save(state=grown, thread=f"t{number}", step="step", agent="a", context={"k": (number,)})
            rows.append(store.call(c.Restore(saved.id)))
    rows.append(store.call(c.Restore(face.fork(rows[-1].id, append={"rows": [{"n": -1}]}).id)))
    placed = Place("scope", "a key", "run")
    new = draft(Snapshot(step="step", state=STATES[0]), thread="t0", agent="a", place=placed).new
    store.call(c.Put(new))
    rows.append(store.call(c.Restore(new.id)))

    def read(parts: Mapping[str, bytes]) -> Any:
        bodies = tuple(data for name, data in parts.items() if name.startswith("body"))
        commit = parts["commit"].decode("utf-8", "replace")
        row = replace(rows[0], header=parts["header"], state=parts["state"], commit=commit, bodies=bodies)
        return open_checkpoint(row)

    forge = partial(_forged, rows[0].id)
    return Kind([forge(_parts(row), "") for row in rows], read, forge)


def _parts(row: CheckpointRow) -> dict[str, bytes]:
    bodies = {f"body{number}": bytes(body) for number, body in enumerate(row.bodies)}
    return {"header": row.header, "state": row.state, "commit": row.commit.encode(), **bodies}


def _forged(id_: str, parts: dict[str, bytes], changed: str) -> dict[str, bytes]:
    """With the hash of what was changed in the header, and the seal over it in the commit line."""
    commit = parts["commit"].decode("utf-8", "replace")
    try:
        line = read_commit(commit, "c")
        header = unpack(parts["header"][1:])
        header[7] = content_hash(parts["state"]) if changed == "state" else header[7]
        for entry in header[9] if changed.startswith("body") else ():
            entry[5] = content_hash(b"".join(data for name, data in parts.items() if name.startswith("body")))
        packed = FORMAT + pack(header)
    except Exception:  # what was changed is the header, or the line
        text = commit.rpartition(" ")[0]
        return {**parts, "commit": f"{text} {seal_of(id_, parts['header'], text)}".encode()}
    if changed == "header":
        packed = parts["header"]
    line.seal = seal_of(id_, packed, line.sealed)
    return {**parts, "header": packed, "commit": line.line().encode()}


def _events() -> Kind:
    store = MemoryStore()
    bp.SyncCoordinator(store, Book(None)).save(state={}, thread="t", step="s", agent="a")
    rows = store.call(c.Events(limit=10))

    def read(parts: Mapping[str, bytes]) -> Any:
        texts = {name: data.decode("utf-8", "replace") for name, data in parts.items()}
        return read_event(EventRow(texts.pop("position"), texts), "source")

    numbers = {"hop": b"1", "token": b"2", "attempt": b"1", "due": b"5", "at": b"6"}
    samples = [{"position": row.position.encode(), **{k: v.encode() for k, v in row.fields.items()}} for row in rows]
    return Kind([{**sample, **numbers} for sample in samples], read)


def _items() -> dict[str, Kind]:
    """A memory's items, and what its searches look at."""
    from batonpass.adapters.langgraph.store.operations import value_of
    from batonpass.adapters.langgraph.store.vectors import Vectors

    name = ItemName(("a", "b"), "k")
    vectors = Vectors({"dims": 3, "embed": lambda texts: [[1.0, 2.0, 3.0] for _ in texts]})
    values = [seal_blob(state, path="value") for state in STATES if isinstance(state, dict)]
    indexes = [vectors.seal([[1.0, 2.0, 3.0]] * count) for count in (1, 5)]

    def scores(data: bytes, of: str) -> Any:
        return vectors.scores([1.0, 0.0, 0.0], [ItemRow(name, b"", 1, 2, index=data)])

    read = _blobs(values, lambda data, of: value_of(ItemRow(name, data, 1, 2), of=of))
    return {"item": read, "index": _blobs(indexes, scores)}


def _webhooks() -> list[bytes]:
    store = MemoryStore()
    bp.SyncCoordinator(store, Book(None)).webhook("w", "https://a.example/", types=("job.*", "checkpoint.saved"))
    return [row.about for row in store.call(c.ListGroups())]


def _terms() -> list[bytes]:
    fence = c.Fence("j", 1, "l")
    asked = [AskTerms(), AskTerms(answer=Notes, error="no"), AskTerms(schema={"type": "string"}, options=("a", 1))]
    return [suspending(fence, "?", terms, "function", None).terms for terms in asked]


def _read_terms(data: bytes, of: str) -> list[Any]:
    told = stored_terms(JobRow("j", terms=data))
    return [told.kind, told.schema, told.options, told.error]


def _declarations() -> list[bytes]:
    app, newer = bp.App("fuzz"), bp.App("newer")
    old = app.agent("a", accepts=Notes, returns=Notes)(lambda notes: notes)
    new = newer.agent("a", accepts=NewNotes, returns=Notes)(lambda notes: notes)
    first = close_declaration(old, app)
    return [first, close_declaration(new, newer, open_declaration(first))]


def _bundled() -> list[bytes]:
    """The records of a bundle."""
    store = MemoryStore()
    face = bp.SyncCoordinator(store, Book(None))
    for number in range(3):
        face.save(thread="run", agent="a", state=STATES[6], context={"n": number})
    job = JobRow(mint("j", home("run")), "run", "failed", envelope=b"1", result=b"2")
    kept = KeptJob(job, {"a": b"1"}, [("f", OutcomeRow(mint("j"), 1, "completed", result=b"1"))])
    told: list[list[Any]] = [
        *([CHECKPOINT, *close_checkpoint(_carried(row))] for row in store.call(c.Export("run"))),
        [WRITES, *close_writes("scope", "key", [Write("w", b"1")])],
        [JOB, *close_job(CarriedJob(kept, [{"was": "job.failed"}]))],
    ]
    return [pack(each) for each in told]


def _carried(row: CheckpointRow) -> Carried:
    commit = read_commit(row.commit, row.id)
    appends = [Append(span.log, 0, b"x" * (span.last - span.first)) for span in read_spans(commit.spans)]
    new = c.NewCheckpoint(row.id, row.thread, row.header, row.state, row.native, "a", "s", 0, commit.spans, "", appends)
    return Carried(new, commit.parent, c.Stamp(commit.step_index, commit.created, row.name))


def _read_bundled(data: bytes) -> list[Any]:
    reader = BundleReader.__new__(BundleReader)
    reader.path, reader._codec, reader._id = "run.bundle", None, ""
    kind, *values = reader._open(FORMAT + data, 1)
    if kind == CHECKPOINT:
        return close_checkpoint(open_carried(values, "run"))
    if kind == WRITES:
        return close_writes(*open_writes(values))
    return close_job(open_job(values, "run")) if kind == JOB else []


def kinds() -> dict[str, Kind]:
    """Every kind of record."""
    notes = Notes(text="x", facts=("a", "b"))
    envelopes = [
        Envelope(contract=bp.ContractRef("fuzz.notes", 1), payload=dump_payload(notes), path=("a", "b"), sender=sender)
        for sender in (None, "a")
    ]
    envelopes.append(replace(envelopes[0], guard=bp.Guard(hops=9, tokens=100, cost=1.5), spent=bp.Spent(7, 0.25)))
    payloads = [dump_payload(notes), dump_payload(bp.State.model_validate({"a": (1, {2})}))]
    return {
        "value": _whole([pack(state) for state in STATES], unpack),
        "blob": _blobs([seal_blob(state, path="result") for state in STATES], open_blob),
        "envelope": _blobs([seal_envelope(each) for each in envelopes], open_envelope),
        "terms of a question": _blobs(_terms(), _read_terms),
        "checkpoint": _checkpoints(),
        **_items(),
        "event": _events(),
        "record of a bundle": _whole(_bundled(), _read_bundled),
        "webhook": _whole(_webhooks(), lambda data: asdict(read_webhook(c.GroupRow("w", 0, 0, data)))),
        "live worker": _whole(
            [close_present(Present("h-1", "0.1.0", "desk", "ü")).encode()],
            lambda data: list(open_present(data.decode("utf-8", "replace"))),
        ),
        "declaration": _whole(_declarations(), open_declaration),
        "payload": _whole(payloads, lambda data: load_payload(Notes, data)),
        "unknown payload": _whole(payloads, lambda data: load_mapping(bp.ContractRef("x", 1), data)),
    }
