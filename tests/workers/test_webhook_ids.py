"""The ids of webhooks, by which a receiver leaves out what comes again: no two events have the same one."""

from __future__ import annotations

from pathlib import Path

import batonpass as bp
from tests.sqlite.beside import other

from .couriers import delivering, save, until
from .receiver import Receiver

SECRET = "whsec_" + "c2VjcmV0" * 6


async def sent(url: str, receiver: Receiver) -> None:
    count = len(receiver.accepted)
    async with bp.connect(url) as coordinator, delivering(coordinator):
        await until(lambda: len(receiver.accepted) > count)


def identities(receiver: Receiver) -> tuple[set[str], set[tuple[str, str]]]:
    return set(receiver.asked), {(event["source"], event["id"]) for event in receiver.accepted}


def restore(path: Path, kept: Path) -> None:
    """As docs/running.md says."""
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    kept.rename(path)


async def test_events_of_two_namespaces_have_different_ids(tmp_path: Path, receiver: Receiver) -> None:
    """Each counts from 1. A receiver of both would take the second event for the first, sent again."""
    urls = [f"sqlite:///{tmp_path / 'hooks.db'}?namespace={name}" for name in ("shop", "bank")]
    for url in urls:
        async with bp.connect(url) as coordinator:
            receiver.secret = await coordinator.webhook("w", receiver.url, secret=SECRET, plain_http=True)
            await save(coordinator, "a")
    with other(tmp_path / "hooks.db") as db:  # in the same millisecond
        db.execute("UPDATE event SET fields = (SELECT fields FROM event LIMIT 1)")
    for url in urls:
        await sent(url, receiver)
    assert [len(each) for each in identities(receiver)] == [2, 2]


async def test_a_restored_store_gives_no_id_again(tmp_path: Path, receiver: Receiver) -> None:
    """Although it counts on from where it was."""
    path, kept = tmp_path / "hooks.db", tmp_path / "kept.db"
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        await coordinator.backup(kept)
        await save(coordinator, "lost")
    await sent(f"sqlite:///{path}", receiver)
    restore(path, kept)
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        await save(coordinator, "again")
    await sent(f"sqlite:///{path}", receiver)
    assert [event["data"]["step"] for event in receiver.accepted] == ["lost", "again"]
    assert [len(each) for each in identities(receiver)] == [2, 2]
