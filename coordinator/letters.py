"""Letters: the blobs of a job's record (envelope, result, question, answer), checksummed and in a known format."""

from __future__ import annotations

from typing import Any

from ..contracts.codec import pack, unpack
from ..contracts.contract import ContractRef
from ..contracts.errors import Corrupted
from ..contracts.handoff import Envelope
from ..contracts.understood import understood
from .coded.codec import CODED, MissingKey
from .seals import FORMAT, content_hash


def seal_letter(value: Any, *, path: str) -> bytes:
    """Plain values as stored bytes."""
    body = pack(value, path=path)
    return FORMAT + content_hash(body) + body


def open_letter(data: bytes, *, of: str) -> Any:
    """Verify and unpack; `of` says in the error whose bytes are damaged."""
    if data[:1] == CODED:
        raise MissingKey(f"{of} is encrypted, signed or compressed: connect with the codec that it was written with")
    if data[:1] != FORMAT or content_hash(data[17:]) != data[1:17]:
        raise Corrupted(f"{of} is not what was stored")
    return unpack(data[17:])


def seal_envelope(envelope: Envelope) -> bytes:
    """An envelope as stored bytes."""
    # The path as a list: a tuple would be packed and unpacked as a message of its own, while a job waits.
    fields = [*envelope.contract, envelope.payload, list(envelope.path), envelope.sender, envelope.checkpoint]
    transcript = [] if envelope.transcript is None else [dict(envelope.transcript)]
    return seal_letter([*fields, dict(envelope.trace), *transcript], path="envelope")


@understood("{of}")
def open_envelope(data: bytes, *, of: str) -> Envelope:
    """A stored envelope."""
    name, version, payload, path, sender, checkpoint, trace, *more = open_letter(data, of=of)
    [transcript] = more or [None]
    return Envelope(
        contract=ContractRef(name, version),
        payload=payload,
        path=tuple(path),
        sender=sender,
        checkpoint=checkpoint,
        trace=trace,
        transcript=transcript,
    )
