"""Forgeries: the forger can write to the store, and knows every form, checksum and seal, but not the key.

A forger's codec has another key of the same name, and writes the true one's mark, which can be read. What it writes is
right, except for what only the key can make. The other forgeries are true records that are put in another place.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, seal_blob
from batonpass.coordinator.coded.frames import frame, unframe
from batonpass.coordinator.coded.store import CodedStore
from batonpass.coordinator.operations.checkpoints import spans_of
from batonpass.coordinator.parts.framed import Framed
from batonpass.coordinator.parts.spans import Span
from batonpass.coordinator.rows import CheckpointRow
from tests.harness.bench import Bench, fence_of, new_checkpoint, new_target
from tests.harness.texts import message

_KINDS = ("encrypt", "sign")
_SECRET: dict[str, Any] = {"name": "approved"}


def _codec(kind: str, *, forger: bool = False) -> bp.Codec:
    keys = {"k": (b"f" if forger else b"k") * 32}
    made = bp.Codec(encrypt=keys) if kind == "encrypt" else bp.Codec(sign=keys)
    if forger:
        made._marks = _codec(kind)._marks
    return made


class _Behind:
    """The bench's store behind a codec: `real` has the key, `forger` another one by its name."""

    def __init__(self, bench: Bench, kind: str) -> None:
        self.bench = bench
        self.codec, self.forgers = _codec(kind), _codec(kind, forger=True)
        self.real, self.forger = CodedStore(bench.store, self.codec), CodedStore(bench.store, self.forgers)

    def do(self, command: c.Command[Any], *, forger: bool = False) -> Any:
        inner, self.bench.store = self.bench.store, self.forger if forger else self.real
        try:
            return self.bench.do(command)
        finally:
            self.bench.store = inner

    def face(self, *, forger: bool = False) -> Any:
        inner, self.bench.store = self.bench.store, self.forger if forger else self.real
        try:
            return self.bench.face()
        finally:
            self.bench.store = inner

    def restore(self, id_: str) -> Any:
        return self.bench.run(self.face().restore(id_))

    def is_refused(self, id_: str) -> None:
        """On every way to it."""
        with pytest.raises(bp.Corrupted, match=id_):
            self.restore(id_)
        [summary] = [found for found in self.bench.run(self.face().timeline(thread="run")) if found.id == id_]
        assert summary.damaged == ("record",)


@pytest.fixture(params=_KINDS)
def behind(bench: Bench, request: pytest.FixtureRequest) -> _Behind:
    return _Behind(bench, request.param)


def test_a_record_with_anothers_signature(behind: _Behind) -> None:
    made = behind.bench.run(behind.face(forger=True).save(thread="run", agent="write", state=_SECRET))
    behind.is_refused(made.id)


@pytest.mark.parametrize("part", ["state", "native"])
def test_a_part_with_anothers_signature(behind: _Behind, part: str) -> None:
    """Under a right record, with the same content: the hash can't tell the difference, so the signature must."""
    new = new_checkpoint(_SECRET, thread="run", native={"n": 1})
    behind.do(c.Save("run", new))
    about = f"the {'native ' if part == 'native' else ''}state of checkpoint {new.id}"
    forged = behind.forgers.wrap(getattr(new, part), about)
    with behind.bench.harness.tampered(new.id, part, lambda _: forged):
        with pytest.raises(bp.Corrupted, match=new.id):
            behind.restore(new.id)
        assert behind.bench.run(behind.face().restore(new.id, partial=True)).damaged == (part,)
    assert behind.restore(new.id).state == _SECRET


def test_a_true_record_in_anothers_place(behind: _Behind) -> None:
    """Saved anew by a forger, the store makes it a right seal."""
    true = behind.bench.run(behind.face().save(thread="run", agent="write", state=_SECRET))
    raw: CheckpointRow = behind.bench.do(c.Restore(true.id))
    moved = replace(new_checkpoint(thread="run"), header=raw.header, state=raw.state)
    behind.bench.do(c.Save("run", moved))
    behind.is_refused(moved.id)
    assert behind.restore(true.id).state == _SECRET


def _one_span(behind: _Behind, id_: str) -> tuple[Span, bytes]:
    """Where a checkpoint's one large value lies, and what lies there."""
    row: CheckpointRow = behind.bench.do(c.Restore(id_))
    [span] = spans_of(row)
    [stored] = row.bodies
    return span, bytes(stored)


def _large(behind: _Behind) -> str:
    chance = random.Random(3)
    messages = [message(chance) for _ in range(20)]
    face = behind.face()
    for count in (18, 20):  # what was seen to grow has a log
        made = behind.bench.run(face.save(thread="run", agent="write", state={"messages": messages[:count]}))
    return str(made.id)


def _put(behind: _Behind, stored: bytes, forged: bytes) -> None:
    """Change the one piece of a log that is kept with these bytes."""
    assert len(stored) == len(forged)
    assert stored != forged
    [name] = [name for name, data in behind.bench.harness.logs().items() if data == stored]
    behind.bench.harness.put_log(name, forged)


def _framed(codec: bp.Codec, span: Span, content: Framed) -> bytes:
    """The same content in as many frames."""
    made, left = b"", bytes(content)
    for holds, _ in content.frames:
        made += frame(codec, span.log, span.first + len(made), left[:holds])
        left = left[holds:]
    return made


def test_a_frame_with_anothers_signature(behind: _Behind) -> None:
    """The content is the same: the hash of the part can't tell the difference, so the signature must."""
    id_ = _large(behind)
    assert behind.restore(id_).damaged == ()
    span, stored = _one_span(behind, id_)
    content = unframe(behind.codec, span, stored)
    _put(behind, stored, _framed(behind.forgers, span, content))
    with pytest.raises(bp.Corrupted, match=id_):
        behind.restore(id_)


def test_a_true_frame_in_anothers_place(behind: _Behind) -> None:
    """Made with the key, of the same content, for another log."""
    id_ = _large(behind)
    span, stored = _one_span(behind, id_)
    content = unframe(behind.codec, span, stored)
    _put(behind, stored, _framed(behind.codec, span._replace(log=mint("c")), content))
    with pytest.raises(bp.Corrupted, match=id_):
        behind.restore(id_)


def _blobs(behind: _Behind, *, forger: bool) -> dict[str, bytes]:
    """What the key's holder reads of a job whose every blob was written by one side."""
    fence = behind.bench.take() if behind.do(_submit(), forger=forger) else None
    assert fence is not None
    behind.do(c.Record(fence, {"step": seal_blob("done", path="r")}), forger=forger)
    behind.do(c.Suspend(fence, seal_blob("sure?", path="q")), forger=forger)
    behind.do(c.AnswerJob(fence.job_id, seal_blob("yes", path="a")), forger=forger)
    [delivery] = behind.do(c.Claim("w", ((new_target().queue, 60_000),), (mint("l"),)))
    read: dict[str, bytes] = {**delivery.journal, "question": delivery.job.question, "answer": delivery.job.answer}
    behind.do(c.Complete(fence_of(delivery), seal_blob("result", path="r")), forger=forger)
    row = behind.do(c.ReadJob(fence.job_id))
    return {**read, "envelope": row.envelope, "result": row.result}


def _submit() -> c.Submit:
    job_id = mint("j")
    return c.Submit(job_id=job_id, thread=job_id, target=new_target())


def test_blobs_with_anothers_signature(behind: _Behind) -> None:
    for blob in _blobs(behind, forger=False).values():
        open_blob(blob, of="it")
    for name, blob in _blobs(behind, forger=True).items():
        with pytest.raises(bp.Corrupted, match=f"{name}.* is not what was"):
            open_blob(blob, of=name)


def test_a_true_letter_in_anothers_place(behind: _Behind) -> None:
    """The result of one job as that of another, and one blob of a job as another."""
    behind.do(_submit())
    first = behind.bench.take()
    behind.do(c.Complete(first, seal_blob("approved", path="result")))
    raw = behind.bench.job(first.job_id)
    behind.do(_submit())
    second = behind.bench.take()
    behind.bench.do(c.Record(second, {"step": raw.result}))
    behind.bench.do(c.Suspend(second, raw.result))
    behind.bench.do(c.AnswerJob(second.job_id, raw.envelope))
    [delivery] = behind.do(c.Claim("w", ((new_target().queue, 60_000),), (mint("l"),)))
    behind.bench.do(c.Complete(fence_of(delivery), raw.result))
    read = behind.do(c.ReadJob(second.job_id))
    for blob in (delivery.journal["step"], delivery.job.question, delivery.job.answer, read.result):
        with pytest.raises(bp.Corrupted):
            open_blob(blob, of="it")
    assert open_blob(behind.do(c.ReadJob(first.job_id)).result, of="it") == "approved"
