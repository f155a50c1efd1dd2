"""What this process has no key for must not hide what is beside it."""

from __future__ import annotations

import batonpass as bp
from tests.conformance.test_items_coded import coded
from tests.conformance.test_schedules import known, schedule
from tests.harness.bench import Bench

_OLD, _NEW = {"old": b"o" * 32}, {"new": b"n" * 32}


def test_schedules_beside_one_of_another_key(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as before, coded(bench, encrypt=_NEW) as after:
        schedule(before, "a")
        schedule(after, "b")
        gone, found = known(after)
        assert (gone.name, gone.unreadable, gone.agent, gone.next_at) == ("a", True, "", None)
        assert gone.error is not None
        assert "encrypted with the key 'old'" in gone.error
        assert (found.name, found.unreadable, found.agent, found.error) == ("b", False, "write", None)
        after.run(after.face().unschedule("a"))
        assert [each.name for each in known(before)] == ["b"]


def test_webhooks_beside_one_of_another_key(bench: Bench) -> None:
    with coded(bench, encrypt=_OLD) as before, coded(bench, encrypt=_NEW) as after:
        before.run(before.face().webhook("a", "https://hooks.example.com/a"))
        after.run(after.face().webhook("b", "https://hooks.example.com/b"))
        hooks: list[bp.WebhookInfo] = after.run(after.face().webhooks())
        assert [(each.name, each.url, each.state) for each in hooks] == [
            ("a", "", "unreadable"),
            ("b", "https://hooks.example.com/b", "active"),
        ]
        assert "encrypted with the key 'old'" in hooks[0].error
