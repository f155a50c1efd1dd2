"""Keys of a codec that are changed, missing or wrong: nothing is done twice, and a reader is told what is missing."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, open_envelope
from batonpass.coordinator.coded.codec import MissingKey, Unproven
from batonpass.coordinator.place_writes import close_write, open_write
from batonpass.coordinator.rows import Place, Write
from tests.conformance.test_items_coded import coded
from tests.conformance.test_schedules import APP, Order
from tests.harness.bench import Bench, new_checkpoint

_OLD, _NEW = {"old": b"o" * 32}, {"new": b"n" * 32}
_ROTATED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "encrypt": ({"encrypt": _OLD}, {"encrypt": {**_NEW, **_OLD}}),
    "sign": ({"sign": _OLD}, {"sign": {**_NEW, **_OLD}}),
    "signed before": ({"sign": _OLD}, {"encrypt": _NEW, "sign": _OLD}),
    "signed before, by a key of the same name": ({"sign": _OLD}, {"encrypt": {"old": b"n" * 32}, "sign": _OLD}),
    "first codec": ({"compress": True}, {"encrypt": _NEW, "plain": True}),
}


@pytest.mark.parametrize(("before", "after"), _ROTATED.values(), ids=_ROTATED)
def test_a_submit_is_the_same_when_keys_were_changed(
    bench: Bench, before: dict[str, Any], after: dict[str, Any]
) -> None:
    with coded(bench, **before) as first, coded(bench, **after) as second:
        job = first.submit(key="k", payload='{"n": 1}')
        assert second.submit(key="k", payload='{"n": 1}') == job
        with pytest.raises(bp.KeyConflict, match=job):
            second.submit(key="k", payload='{"n": 2}')


_READERS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no key": ({"encrypt": _NEW}, MissingKey, "with the key 'old', .* BATONPASS_ENCRYPT_KEYS gives it"),
    "signs": ({"sign": _OLD}, MissingKey, "is encrypted with the key 'old'"),
    "compresses": ({"compress": True}, MissingKey, "is encrypted with the key 'old'"),
    "another key": ({"encrypt": {"old": b"x" * 32}}, MissingKey, "encrypted with another key 'old' than"),
}


@pytest.mark.parametrize(("reader", "kind", "said"), _READERS.values(), ids=_READERS)
def test_who_can_not_read_is_told_why(bench: Bench, reader: dict[str, Any], kind: type[Exception], said: str) -> None:
    with coded(bench, encrypt=_OLD) as writer, coded(bench, **reader) as other:
        job = writer.submit()
        saved = writer.run(writer.face().save(thread="run", agent="write", state={"n": 1}))
        for read in (
            lambda: open_envelope(other.job(job).envelope, of="it"),
            lambda: other.run(other.face().restore(saved.id)),
            lambda: other.run(other.face().copy("run", to="copy")),
        ):
            with pytest.raises(kind, match=said):
                read()


@pytest.mark.parametrize(("reader", "kind"), [(reader, kind) for reader, kind, _ in _READERS.values()], ids=_READERS)
def test_a_list_shows_what_can_not_be_read(bench: Bench, reader: dict[str, Any], kind: type[Exception]) -> None:
    with coded(bench, encrypt=_OLD) as writer, coded(bench, **reader) as other:
        saved = writer.run(writer.face().save(thread="run", agent="write", state={"n": 1}))
        [found] = other.run(other.face().timeline("run"))
        assert (found.id, found.unreadable, found.damaged, found.agent) == (saved.id, ("record",), (), "")
        assert (found.step_index, found.created_at) == (saved.step_index, saved.created_at)


def test_what_can_not_be_read_hides_nothing_else(bench: Bench) -> None:
    """Its place among the others is known."""
    with coded(bench, encrypt=_OLD) as writer, coded(bench, encrypt=_NEW) as other:
        first = other.run(other.face().save(thread="run", agent="write", state={"n": 1}))
        locked = writer.run(writer.face().save(thread="run", agent="write", state={"n": 2}))
        writer.run(writer.face().name(locked.id, "good"))
        last = other.run(other.face().save(thread="run", agent="write", state={"n": 3}))
        line = other.run(other.face().timeline("run"))
        assert [each.id for each in line] == [last.id, locked.id, first.id]
        assert [each.unreadable for each in line] == [(), ("record",), ()]
        assert [each.damaged for each in line] == [()] * 3
        assert [(each.step_index, each.parent_id) for each in line] == [(2, locked.id), (1, first.id), (0, None)]
        assert (line[1].agent, line[1].name, line[1].created_at) == ("", "good", locked.created_at)
        assert line[1] in other.run(other.face().timeline("run", named=True))
        assert [each.id for each in other.run(other.face().ancestors(last.id))] == [locked.id, first.id]
        assert [each.id for each in other.run(other.face().branches("run"))] == [last.id]
        assert [each.id for each in other.run(other.face().timeline("run", agent="write"))] == [last.id, first.id]


def test_webhooks_and_schedules_say_that_a_key_is_missing(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as writer, coded(bench, encrypt=_NEW) as other:
        writer.run(writer.face().webhook("h", "https://hooks.example.com/x"))
        writer.run(writer.face(APP).schedule("s", "write", Order(size=1), cron="* * * * *"))
        for reader in (bench, other):
            [hook], [schedule] = reader.run(reader.face().webhooks()), reader.run(reader.face().schedules())
            assert (hook.name, hook.state, schedule.name, schedule.unreadable) == ("h", "unreadable", "s", True)
            for error in (hook.error, schedule.error):
                assert "BATONPASS_ENCRYPT_KEYS" in error


def test_what_is_not_protected_is_called_so(bench: Bench) -> None:
    job = bench.submit()
    saved = bench.run(bench.face().save(thread="run", agent="write", state={"n": 1}))
    with coded(bench, encrypt=_OLD) as other:
        for read in (
            lambda: open_envelope(other.job(job).envelope, of="it"),
            lambda: other.run(other.face().restore(saved.id)),
        ):
            with pytest.raises(bp.Corrupted, match=r"is not protected, .* BATONPASS_ACCEPT_PLAIN=1 would read it"):
                read()


def test_who_has_opened_something_knows_what_is_damaged(bench: Bench) -> None:
    """Until then, the store may not have been protected before."""
    with (
        coded(bench, encrypt=_OLD) as ours,
        coded(bench, encrypt=_OLD) as another,
        coded(bench, encrypt={"old": b"x" * 32}) as namesake,
    ):
        other, plain, true = namesake.submit(), bench.submit(), another.submit()
        found: list[type[Exception]] = []
        for job in (other, plain, true, other, plain):
            try:
                open_blob(ours.job(job).envelope, of="it")
            except bp.BatonpassError as error:
                found.append(type(error))
        assert found == [MissingKey, Unproven, MissingKey, bp.Corrupted]


def test_a_write_from_before_there_was_a_codec_is_read(bench: Bench) -> None:
    """Its first byte may be anything: one in 256 looks like something protected, and one like something unreadable."""
    place = Place("", "a")
    bench.do(c.Put(new_checkpoint(thread="run", place=place)))
    looks = {data[0]: data for data in (close_write(["path", pack(number)]) for number in range(5000))}
    with coded(bench, encrypt=_OLD, plain=True) as other:
        for first in (0, 1, 2):
            bench.do(c.PutWrites("run", "", "a", [Write("x", looks[first], again=True)]))
            found = other.do(c.Find("run", "", "a"))
            assert found is not None
            assert open_write(found.writes[0], "it")[0] == ["path"]


def test_a_write_that_needs_a_key_says_so(bench: Bench) -> None:
    bench.do(c.Put(new_checkpoint(thread="run", place=Place("", "a"))))
    with coded(bench, encrypt=_OLD) as ours:
        ours.do(c.PutWrites("run", "", "a", [Write("x", close_write(["path", pack(1)]))]))
    with coded(bench, encrypt=_NEW, plain=True) as other:
        for reader in (bench, other):
            found = reader.do(c.Find("run", "", "a"))
            assert found is not None
            with pytest.raises(MissingKey, match="BATONPASS_ENCRYPT_KEYS"):
                open_write(found.writes[0], "it")


@pytest.mark.parametrize(("reader", "kind"), [(reader, kind) for reader, kind, _ in _READERS.values()], ids=_READERS)
def test_who_can_not_read_a_job_tells_nothing_of_its_effects(
    bench: Bench, reader: dict[str, Any], kind: type[Exception]
) -> None:
    """Its workers would take that to be forged, and park the job."""
    with coded(bench, encrypt=_OLD) as writer, coded(bench, **reader) as other:
        fence = writer.start()
        writer.do(c.Record(fence, {"effect/pay": b"1"}))
        writer.do(c.Fail(fence, "the outcome of pay is unknown", "ambiguous"))
        for stranger, refused in ((other, kind), (bench, bp.BadSetup)):
            before = bench.harness.dump()
            with pytest.raises(refused):
                stranger.run(stranger.face(APP).redrive(fence.job_id, changes={"effect:pay": "done"}))
            assert bench.harness.dump() == before
        writer.run(writer.face(APP).redrive(fence.job_id, changes={"effect:pay": "done"}))
        [delivery] = writer.claim()
        assert sorted(delivery.journal) == ["effect/pay", "step/effect:pay"]
