"""The command line about groups of consumers."""

from __future__ import annotations

import pytest

import batonpass as bp

from .commandline import CommandLine


def test_groups_are_listed_and_deleted(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = CommandLine(store_url, capsys, monkeypatch)
    with bp.connect(store_url) as coordinator:
        assert run("groups", "list", "--json").json == []
        for number in range(3):
            coordinator.save(thread="t", agent="a", state=number)
        with coordinator.consume("billing", batch=1) as events:
            next(iter(events))
            assert run("groups", "list", "--json").json == [{"name": "billing", "lag": 2, "taken": 1}]
    assert "billing" in run("groups", "list").out
    assert run("groups", "delete", "billing", "--json").json == {"name": "billing", "deleted": True}
    assert "no consumer group 'billing'" in run("groups", "delete", "billing").complaint


def test_a_group_is_moved(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """The group must exist: a mistyped name makes no new one."""
    run = CommandLine(store_url, capsys, monkeypatch)
    with bp.connect(store_url) as coordinator:
        for number in range(3):
            coordinator.save(thread="t", agent="a", state=number)
        with coordinator.consume("billing", batch=1) as events:
            next(iter(events))
        for to, lag in (("now", 0), ("begin", 3)):
            assert run("groups", "move", "billing", "--to", to, "--json").json == {"name": "billing", "moved": to}
            assert run("groups", "list", "--json").json == [{"name": "billing", "lag": lag, "taken": 0}]
        assert "no consumer group 'biling'" in run("groups", "move", "biling", "--to", "now").complaint
        assert run("groups", "move", "billing").code == 2
        assert len(coordinator.groups()) == 1


def test_a_webhooks_group_is_only_removed_as_a_webhook(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its URL and its secret are kept with its group, and `delete` speaks of a position only."""
    run = CommandLine(store_url, capsys, monkeypatch)
    run("webhooks", "add", "pager", "https://example.com")
    said = run("groups", "delete", "webhook:pager").complaint
    assert said.startswith("group 'webhook:pager' is a webhook's")
    assert "`batonpass webhooks remove pager`" in said
    with bp.connect(store_url) as coordinator:
        with pytest.raises(bp.BadSetup, match="delete_webhook"):
            coordinator.delete_group("webhook:pager")
        assert [each.name for each in coordinator.webhooks()] == ["pager"]
    assert run("webhooks", "remove", "pager").code == 0
    assert run("groups", "list", "--json").json == []
