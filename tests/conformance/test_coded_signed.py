"""A store that was signed, and is encrypted from now on: what was signed is read, and still verified."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_blob, open_envelope
from batonpass.coordinator.coded.codec import MissingKey
from batonpass.coordinator.coded.environment import codec_from_environment
from tests.conformance.test_items_coded import coded
from tests.conformance.test_schedules import APP, known, schedule
from tests.harness.bench import Bench

_SIGN, _ENCRYPT = {"k": b"s" * 32}, {"k": b"e" * 32}
_BOTH: dict[str, Any] = {"encrypt": _ENCRYPT, "sign": _SIGN}
_SECRET = "the-moon-is-made-of-cheese" * 5


def test_what_was_signed_is_read_and_what_is_new_is_encrypted(bench: Bench) -> None:
    with coded(bench, sign=_SIGN) as before, coded(bench, **_BOTH) as after:
        state = {"messages": ["m" * 2000] * 3}
        first = before.run(before.face().save(thread="run", agent="write", state=state))
        before.run(before.face(APP).webhook("h", "https://hooks.example.com/x"))
        schedule(before, "s")
        fence = before.start()
        assert after.run(after.face().restore(first.id)).state == state
        more = {"messages": [*state["messages"], _SECRET]}
        second = after.run(after.face().save(thread="run", agent="write", state=more))  # shares what was signed
        third = after.run(after.face().fork(second.id, changes={"messages[0]": "other"}))
        assert after.run(after.face().restore(second.id)).state == more
        assert after.run(after.face().restore(third.id)).state["messages"][1:] == more["messages"][1:]
        assert [each.state for each in after.run(after.face().webhooks())] == ["active"]
        assert [each.unreadable for each in known(after)] == [False]
        assert open_envelope(after.job(fence.job_id).envelope, of="it")
        after.do(c.Fail(fence, _SECRET, "attempts"))
        uses = {(use.protection, use.key): use for use in after.run(after.face().key_uses())}
        assert {kind: (key, use.writes, use.threads[:1]) for (kind, key), use in uses.items()} == {
            "encrypted": ("k", True, ("run",)),
            "signed": ("k", False, ("run",)),
        }
    assert "cheese" not in repr(bench.harness.dump())


def test_what_was_signed_by_others_or_changed_is_refused(bench: Bench) -> None:
    with (
        coded(bench, sign=_SIGN) as before,
        coded(bench, sign={"k": b"x" * 32}) as forger,
        coded(bench, sign={"other": b"x" * 32}) as stranger,
        coded(bench, **_BOTH) as after,
    ):
        true, forged, strange, plain = before.submit(), forger.submit(), stranger.submit(), bench.submit()
        found: list[str] = []
        for job in (forged, after.submit(), forged, true, forged, strange, plain):
            try:
                open_blob(after.job(job).envelope, of="it")
                found.append("read")
            except bp.BatonpassError as error:
                found.append(type(error).__name__)
        # Another key of the same name is told apart, also from one that encrypts.
        assert found == ["MissingKey", "read", "MissingKey", "read", "MissingKey", "MissingKey", "Corrupted"]


def test_who_only_signs_can_not_read_what_is_encrypted(bench: Bench) -> None:
    with coded(bench, sign=_SIGN) as before, coded(bench, **_BOTH) as after:
        job = after.submit()
        with pytest.raises(MissingKey, match="is encrypted with the key 'k'"):
            open_envelope(before.job(job).envelope, of="it")


def test_both_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATONPASS_ENCRYPT_KEYS", "e:" + "ZWVlZWVlZWVlZWVlZWVlZQ==")
    monkeypatch.setenv("BATONPASS_SIGN_KEYS", "s:" + "c3Nzc3Nzc3Nzc3Nzc3Nzcw==")
    codec = codec_from_environment()
    assert codec is not None
    assert [key[:2] for key in codec.names] == [("encrypted", "e"), ("signed", "s")]
    assert (codec.encrypts, codec.plain) == (True, False)
    monkeypatch.setenv("BATONPASS_SIGN_KEYS", "s:c3M=")
    with pytest.raises(bp.BadSetup, match="or BATONPASS_SIGN_KEYS: the key 's' has 2 bytes"):
        codec_from_environment()
