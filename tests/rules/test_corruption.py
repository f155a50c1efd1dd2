"""Rule 7: a stored byte that changed is noticed at the next read, and only what holds it is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from hashlib import sha1

import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, open_envelope, seal_blob
from batonpass.coordinator.rows import CheckpointRow
from batonpass.coordinator.seals import seal
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import Bench, new_checkpoint

Change = Callable[[bytes], bytes]


def flipped(at: int, mask: int) -> Change:
    return lambda data: data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :]


def changes(data: bytes) -> list[Change]:
    """Each byte of small parts, and some of large ones, with one bit or all bits flipped. Also cut, grown or empty
    parts."""
    places = sorted({*range(min(len(data), 40)), *range(0, len(data), max(len(data) // 25, 1)), len(data) - 1})
    flips = [flipped(at, mask) for at in places for mask in (0x01, 0x80)]
    return [
        *flips,
        lambda d: d[:-1],
        lambda d: d[1:],
        lambda d: d + b"\0",
        lambda d: d + b" ",
        lambda d: b"0" + d,
        lambda d: b"",
        lambda d: d * 2,
    ]


def stored(bench: Bench, checkpoint: str, part: str) -> bytes:
    """What the store holds, in its own form."""
    seen: list[bytes] = []

    def look(data: bytes) -> bytes:
        seen.append(data)
        return data

    with bench.harness.tampered(checkpoint, part, look):
        return seen[0]


@pytest.mark.parametrize("part", ["header", "state", "native", "commit"])
def test_a_changed_byte_is_noticed(bench: Bench, part: str) -> None:
    older = bench.save(None, "older", thread="run")
    new = new_checkpoint({"text": "x" * 300}, step="fetch", thread="run", native={"v": 1, "data": b"y" * 100})
    bench.do(c.Save("run", new))
    newer = bench.save(None, "newer", thread="run")
    face = bench.face()
    for change in changes(stored(bench, new.id, part)):
        with bench.harness.tampered(new.id, part, change):
            with pytest.raises(bp.Corrupted, match=new.id):
                face.restore(new.id)
            with pytest.raises(bp.Corrupted, match=new.id):
                face.hand_off(new.id, to="anybody", payload={})
            assert (face.restore(older).state, face.restore(newer).state) == ("older", "newer")
            assert face.latest(thread="run").state == "newer"
    assert face.restore(new.id).state == {"text": "x" * 300}


def test_damage_that_says_expired_is_noticed(bench: Bench) -> None:
    older, saved = (bench.save(None, thread="run") for _ in range(2))
    with bench.harness.tampered(saved, "commit", lambda line: line.replace(b" 0 -", b" 1 -", 1)):
        with pytest.raises(bp.Corrupted, match=saved):
            bench.face().restore(saved)
        assert [(item.id, item.damaged) for item in bench.face().timeline(thread="run")] == [
            (saved, ("record",)),
            (older, ()),
        ]


@pytest.mark.parametrize("part", ["header", "commit"])
def test_lists_say_it_and_show_the_others(bench: Bench, part: str) -> None:
    older, saved, newer = (bench.save(None, thread="run") for _ in range(3))
    with bench.harness.tampered(saved, part, flipped(3, 0x01)):
        found = bench.face().timeline(thread="run")
    assert [(item.id, item.damaged) for item in found] == [(newer, ()), (saved, ("record",)), (older, ())]


def test_parts_of_two_checkpoints_do_not_go_together(bench: Bench) -> None:
    """Each is intact, and yet not what was saved."""
    one, two = new_checkpoint(1, thread="run"), new_checkpoint(2, thread="run")
    for new in (one, two):
        bench.do(c.Save("run", new))
    for part in ("state", "header"):
        swapped = swap(getattr(two, part))
        told = f"{one.id}: its (state|record) is not what was saved"
        with bench.harness.tampered(one.id, part, swapped), pytest.raises(bp.Corrupted, match=told):
            bench.face().restore(one.id)


@pytest.mark.parametrize("thread", ["run", "other"])
def test_a_whole_record_is_not_taken_for_another(bench: Bench, thread: str) -> None:
    """As if an index led to the wrong one."""
    ids = [bench.save(None, "one", thread="run"), bench.save(None, "two", thread=thread)]
    found = {part: [stored(bench, id_, part) for id_ in ids] for part in ("header", "state", "commit")}
    with ExitStack() as stack:
        for part, (_, other) in found.items():
            stack.enter_context(bench.harness.tampered(ids[0], part, swap(other)))
        with pytest.raises(bp.Corrupted, match=ids[0]):
            bench.face().restore(ids[0])
        assert bench.face().restore(ids[1]).state == "two"
        [*_, seen] = bench.face().timeline(thread="run")
        assert (seen.id, seen.damaged) == (ids[0], ("record",))
    assert bench.face().restore(ids[0]).state == "one"


def test_a_seal_that_does_not_cover_the_id_is_right() -> None:
    """As the first ones did not."""
    new = new_checkpoint("state", thread="run")
    commit = seal(new.id, new.header, 0, "", 1, 0, "")
    commit.seal = sha1(new.header + b" " + commit.sealed.encode()).hexdigest()
    assert (
        open_checkpoint(CheckpointRow(new.id, "run", new.header, commit.line(), new.state, new.native)).state == "state"
    )


def swap(other: bytes) -> Change:
    return lambda _: other


def test_a_delivery_with_a_changed_checkpoint_is_not_run_on(bench: Bench) -> None:
    fence = bench.start()
    saved = bench.save(fence, thread=fence.job_id)
    bench.do(c.Release(fence))
    with bench.harness.tampered(saved, "state", lambda data: data + b"\0"):
        [delivery] = bench.claim()
        assert delivery.checkpoint is not None
        with pytest.raises(bp.Corrupted, match=saved):
            open_checkpoint(delivery.checkpoint)


def test_blobs() -> None:
    """What a job carries: envelope, result, question, answer."""
    blob = seal_blob({"text": "x" * 50, "n": [1, 2]}, path="answer")
    assert open_blob(blob, of="it") == {"text": "x" * 50, "n": [1, 2]}
    for change in changes(blob):
        with pytest.raises(bp.Corrupted, match="the answer of job j1"):
            open_blob(change(blob), of="the answer of job j1")
    for other in (b"", b"\x01", b"\x07" + blob[1:], pack({})):
        with pytest.raises(bp.Corrupted):
            open_envelope(other, of="the envelope of job j1")


def test_an_unknown_format_is_named() -> None:
    """Something that a newer version wrote is not called damaged."""
    new = new_checkpoint(thread="run")
    header = b"\x07" + new.header[1:]
    commit = seal(new.id, header, 0, "", 1, 0, "")
    with pytest.raises(bp.Corrupted, match=r"unknown format.*newer Batonpass"):
        open_checkpoint(CheckpointRow(new.id, "run", header, commit.line(), new.state, new.native))
