"""The numbers of events: none comes again, whatever becomes of the file, so a cursor that was kept misses no event."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.dropping import drop_namespace
from tests.sqlite.beside import other


async def told(url: str, after: str = "") -> list[bp.Event]:
    async with bp.connect(url) as coordinator:
        return [event async for event in coordinator.events(after=after)]


async def save(url: str, *threads: str) -> None:
    async with bp.connect(url) as coordinator:
        for thread in threads:
            await coordinator.save(thread=thread, agent="a", state={})


async def restored(url: str, path: Path, *lost: str) -> list[bp.Event]:
    """The events of a store before a backup of it is put in its place, as docs/running.md says."""
    kept = path.with_name("kept.db")
    async with bp.connect(url) as coordinator:
        await coordinator.backup(kept)
    await save(url, *lost)
    events = await told(url)
    for each in path.parent.glob(f"{path.name}*"):
        each.unlink()
    kept.rename(path)
    return events


async def test_a_cursor_kept_over_a_restore_misses_nothing(sqlite_url: str, path: Path) -> None:
    """The numbers of the lost events were given again, and what had them was silently left out."""
    await save(sqlite_url, "before")
    *_, last = await restored(sqlite_url, path, "lost-1", "lost-2")
    new = [f"new-{number}" for number in range(5)]
    await save(sqlite_url, *new)
    with pytest.raises(bp.Rewound) as gap:
        await told(sqlite_url, last.cursor)
    assert [event.subject for event in await told(sqlite_url, gap.value.first_available)] == ["before", *new]


async def test_no_id_is_given_again(sqlite_url: str, path: Path) -> None:
    await save(sqlite_url, "before")
    before = await restored(sqlite_url, path, "lost-1", "lost-2")
    await save(sqlite_url, "new-1", "new-2")
    assert not {event.id for event in before[1:]} & {event.id for event in (await told(sqlite_url))[1:]}


async def test_who_follows_a_namespace_sees_what_is_new_in_it_after_it_was_deleted(sqlite_url: str) -> None:
    """It got only what came after as many events as it had read."""
    await save(sqlite_url, "old-1", "old-2", "old-3")
    new, seen = [f"new-{number}" for number in range(5)], list[str]()
    async with bp.connect(sqlite_url) as coordinator, anyio.create_task_group() as tasks:

        async def follow() -> None:
            async for event in coordinator.events(follow=True):
                seen.append(event.subject)

        tasks.start_soon(follow)
        with anyio.fail_after(10):
            while len(seen) < 3:
                await anyio.sleep(0.01)
            await anyio.to_thread.run_sync(drop_namespace, sqlite_url, "default", lambda what, count: None)
            await save(sqlite_url, *new)
            while seen[-1] != new[-1]:
                await anyio.sleep(0.01)
        tasks.cancel_scope.cancel()
    assert [subject for subject in seen if subject in new] == new


async def test_cursors_of_an_older_batonpass(sqlite_url: str, path: Path) -> None:
    """It counted from 1, and a worker of it that still runs counts on."""
    await save(sqlite_url, "a", "b", "c")
    with other(path) as db:
        for number, (now,) in enumerate(db.execute("SELECT number FROM event ORDER BY number").fetchall(), 1):
            db.execute("UPDATE event SET number = ? WHERE number = ?", (number, now))
    await save(sqlite_url, "d")
    with other(path) as db:
        [last] = db.execute("SELECT max(number) FROM event").fetchone()
        db.execute("INSERT INTO event SELECT namespace, number + 1, fields FROM event WHERE number = ?", (last,))
    await save(sqlite_url, "e")
    assert [event.subject for event in await told(sqlite_url, "2")] == ["c", "d", "d", "e"]


async def test_a_gap_in_the_numbers_is_not_taken_for_events(sqlite_url: str, path: Path) -> None:
    """Nothing is trimmed before there are as many."""
    await save(sqlite_url, *"abcdef")
    async with bp.connect(sqlite_url) as coordinator:
        assert await coordinator.trim_events(keep=4) == 2
        await coordinator.save(thread="g", agent="a", state={})
        assert await coordinator.trim_events(keep=5) == 0
        assert await coordinator.trim_events(keep=4) == 1
    assert [event.subject for event in await told(sqlite_url)] == [*"defg"]
