"""Blobs of a job's record (envelope, result, question, answer), checksummed and in a known format."""

from __future__ import annotations

from typing import Any

from ..contracts.codec import pack, pack_plain, unpack
from ..contracts.contract import ContractRef
from ..contracts.errors import Corrupted
from ..contracts.guard import DEFAULT, NOTHING, Guard, Spent
from ..contracts.handoff import Envelope
from ..contracts.understood import understood
from .coded.codec import check_open
from .seals import FORMAT, content_hash


def seal_blob(value: Any, *, path: str) -> bytes:
    """Plain values as stored bytes."""
    return _closed(pack(value, path=path))


def seal_plain(value: Any, *, path: str) -> bytes:
    """`seal_blob` for what `pack_plain` takes."""
    return _closed(pack_plain(value, path=path))


def _closed(body: bytes) -> bytes:
    return FORMAT + content_hash(body) + body


def open_blob(data: bytes, *, of: str) -> Any:
    """Verify and unpack. `of` names the blob in errors."""
    check_open(data, of)
    if data[:1] != FORMAT or content_hash(data[17:]) != data[1:17]:
        raise Corrupted(f"{of} is not what was stored")
    return unpack(data[17:])


def seal_envelope(envelope: Envelope) -> bytes:
    """An envelope as stored bytes."""
    # The path as a list, because a tuple would be packed as a message of its own, and a job waits for this.
    fields = [*envelope.contract, envelope.payload, list(envelope.path), envelope.sender, envelope.checkpoint]
    more: list[Any] = [None if envelope.transcript is None else dict(envelope.transcript), *_limits(envelope)]
    while more and more[-1] is None:
        more.pop()
    whole = [*fields, dict(envelope.trace), *more]
    return seal_blob(whole, path="envelope") if more else seal_plain(whole, path="envelope")


def _limits(envelope: Envelope) -> list[Any]:
    """The last field: limits, what was spent, and what effects' keys begin with. Left out if all are the usual."""
    if (envelope.guard is DEFAULT or envelope.guard == DEFAULT) and not envelope.spent and not envelope.effects:
        return []
    guard, spent, born = envelope.guard, envelope.spent, envelope.born
    limits: dict[str, Any] = {
        "guard": [guard.hops, guard.repeats, guard.tokens, guard.cost],
        "spent": [spent.tokens, spent.cost],
    }
    if born:
        limits["born"] = [born.tokens, born.cost]
    if envelope.effects:
        limits["effects"] = envelope.effects
    return [limits]


def _guard(hops: int, repeats: int, tokens: int | None, cost: float | None) -> Guard:
    return Guard(hops=hops, repeats=repeats, tokens=tokens, cost=cost)


@understood("{of}")
def open_envelope(data: bytes, *, of: str) -> Envelope:
    """A stored envelope."""
    name, version, payload, path, sender, checkpoint, trace, *more = open_blob(data, of=of)
    transcript, limits = (*more, None, None)[:2]
    return Envelope(
        contract=ContractRef(name, version),
        payload=payload,
        path=tuple(path),
        sender=sender,
        checkpoint=checkpoint,
        trace=trace,
        transcript=transcript,
        guard=_guard(*limits["guard"]) if limits else DEFAULT,
        spent=Spent(*limits["spent"]) if limits else NOTHING,
        born=Spent(*limits.get("born", ())) if limits else NOTHING,
        effects=limits.get("effects", "") if limits else "",
    )
