"""Threads that share a transaction: each gets its own answer, after the commit, and no one's failure is another's."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import group_commit, waiting
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_checkpoint, new_job
from tests.harness.waiting import wait_until
from tests.sqlite.beside import other


@pytest.fixture
def together(store: SqliteStore, path: Path) -> Iterator[Callable[..., list[Any]]]:
    """Carries out commands that were all in the queue when the write lock came. Returns their answers or errors."""
    with ThreadPoolExecutor(100) as pool, other(path) as db:

        def carry_out(*commands: c.Command[Any]) -> list[Any]:
            db.execute("BEGIN IMMEDIATE")
            sent: list[Future[Any]] = []
            for command in commands:  # one behind the other: of threads begun at once any may come first
                sent.append(pool.submit(store.call, command))
                wait_until(lambda: len(store._commits._waiting) == len(sent))
            db.execute("ROLLBACK")
            return [each.exception(20) or each.result() for each in sent]

        yield carry_out


@pytest.fixture
def transactions(store: SqliteStore) -> list[str]:
    """The statements that begin and end the handle's transactions."""
    seen: list[str] = []
    with store._writing as connection:
        connection.set_trace_callback(lambda text: seen.append(text) if text in ("COMMIT", "ROLLBACK") else None)
    return seen


def test_they_share_one_commit(store: SqliteStore, together: Callable[..., list[Any]], transactions: list[str]) -> None:
    commands = [new_job() for _ in range(20)]
    assert [row.id for row in together(*commands)] == [command.job_id for command in commands]
    assert transactions == ["COMMIT"]
    assert len(store.call(c.ListJobs(100))) == 20


def test_one_that_is_refused_is_undone_alone(store: SqliteStore, together: Callable[..., list[Any]]) -> None:
    first, stranger, last = new_job(), c.Save("t", new_checkpoint(), c.Fence("j" + "0" * 26, 1, "l")), new_job()
    a, refused, b = together(first, stranger, last)
    assert isinstance(refused, bp.BatonpassError)
    assert (a.id, b.id) == (first.job_id, last.job_id)
    assert {row.id for row in store.call(c.ListJobs())} == {first.job_id, last.job_id}
    assert store.call(c.Timeline("t")) == []


def test_what_it_had_written_is_undone_alone(
    store: SqliteStore, together: Callable[..., list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Our operations check before they write; this one does not."""
    carry_out = store._commits._carry_out

    def fails_late(connection: sqlite3.Connection, command: c.Command[Any]) -> Any:
        answer = carry_out(connection, command)
        if isinstance(command, c.Submit) and command.key == "late":
            raise bp.WrongState("after all")
        return answer

    monkeypatch.setattr(store._commits, "_carry_out", fails_late)
    first, late, last = new_job(), new_job(key="late"), new_job()
    assert [type(answer).__name__ for answer in together(first, late, last)] == ["JobRow", "WrongState", "JobRow"]
    assert {row.id for row in store.call(c.ListJobs())} == {first.job_id, last.job_id}


def test_each_sees_what_stood_before_it(together: Callable[..., list[Any]]) -> None:
    first = new_job(key="once")
    again = new_job(key="once")
    other_payload = new_job(key="once", payload='{"other": 1}')
    answers = together(first, again, other_payload)
    assert answers[0].id == answers[1].id == first.job_id
    assert isinstance(answers[2], bp.KeyConflict)


def test_more_than_one_transaction_holds(
    store: SqliteStore, together: Callable[..., list[Any]], transactions: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commit, "_LONGEST", 3)
    assert len({row.id for row in together(*(new_job() for _ in range(7)))}) == 7
    assert transactions == ["COMMIT"] * 3


def test_what_does_not_fit_together_fits_in_part(
    store: SqliteStore, together: Callable[..., list[Any]], transactions: list[str]
) -> None:
    store.call(new_job())
    with store._writing as connection:
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 6}")
    transactions.clear()
    small, large = new_job(), new_job(payload=f'"{"x" * 200_000}"')
    answers = together(large, small)
    assert isinstance(answers[0], bp.Overloaded)
    assert answers[1].id == small.job_id
    assert {row.id for row in store.call(c.ListJobs())} >= {small.job_id}
    assert large.job_id not in {row.id for row in store.call(c.ListJobs())}


def test_all_are_told_that_the_file_is_busy(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """... when the first has waited for as long as it may: they do not wait one after another."""
    monkeypatch.setattr(waiting, "BUSY_DEADLINE", 2.0)
    with other(path) as db, ThreadPoolExecutor(8) as pool:
        db.execute("BEGIN IMMEDIATE")
        sent = [pool.submit(store.call, new_job()) for _ in range(8)]
        ended, waiting_still = wait(sent, timeout=12)  # one after another would take 16
        db.execute("ROLLBACK")
        assert not waiting_still
        assert all(isinstance(each.exception(), bp.Overloaded) for each in ended)
    assert store.call(c.ListJobs()) == []
    assert not store._commits._waiting


def test_an_answer_comes_after_the_commit(store: SqliteStore, path: Path, together: Callable[..., list[Any]]) -> None:
    """Whatever thread asks: when `call` has returned, others see the row."""
    for row in together(*(new_job() for _ in range(10))):
        with other(path) as db:
            assert db.execute("SELECT count(*) FROM job WHERE id = ?", (row.id,)).fetchone() == (1,)


def test_a_failed_commit_is_nobodys_success(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One and many: if SQLite refuses the commit, all are told so and nothing is kept."""
    with store._writing as connection:
        connection.execute("CREATE TABLE veto (job TEXT REFERENCES job (id) DEFERRABLE INITIALLY DEFERRED)")
        connection.execute("CREATE TRIGGER vetoes AFTER INSERT ON job BEGIN INSERT INTO veto VALUES ('nobody'); END")
        connection.execute("PRAGMA foreign_keys = ON")
    with ThreadPoolExecutor(5) as pool:
        for each in [pool.submit(store.call, new_job()) for _ in range(5)]:
            assert isinstance(each.exception(10), bp.Unreachable)
    assert store.call(c.ListJobs()) == []


def test_whoever_leads_is_interrupted(store: SqliteStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C in the middle of a shared transaction: it is undone, and the others are carried out."""
    carry_out = store._commits._carry_out

    def interrupted(connection: sqlite3.Connection, command: c.Command[Any]) -> Any:
        if isinstance(command, c.Submit) and command.key == "stop":
            raise KeyboardInterrupt
        return carry_out(connection, command)

    monkeypatch.setattr(store._commits, "_carry_out", interrupted)
    with other(path) as db, ThreadPoolExecutor(5) as pool:
        db.execute("BEGIN IMMEDIATE")
        leads = pool.submit(store.call, new_job(key="stop"))
        wait_until(lambda: len(store._commits._waiting) == 1)
        sent = [pool.submit(store.call, new_job()) for _ in range(4)]
        wait_until(lambda: len(store._commits._waiting) == 5)
        db.execute("ROLLBACK")
        assert isinstance(leads.exception(10), KeyboardInterrupt)
        kept = {each.result(10).id for each in sent}
    assert {row.id for row in store.call(c.ListJobs())} == kept
    assert not store._commits._waiting


def test_who_was_refused_before_an_interruption_is_asked_anew(store: SqliteStore, path: Path) -> None:
    """What it was refused for may be undone with the transaction."""
    carry_out, interruptions = store._commits._carry_out, iter([KeyboardInterrupt()])

    def interrupted(connection: sqlite3.Connection, command: c.Command[Any]) -> Any:
        if command is last and (now := next(interruptions, None)):
            raise now
        return carry_out(connection, command)

    first, rival, last = new_job(key="k"), new_job(key="k", payload='{"other": 1}'), new_job()
    store._commits._carry_out = interrupted
    with other(path) as db, ThreadPoolExecutor(3) as pool:
        db.execute("BEGIN IMMEDIATE")
        sent = list[Any]()
        for command in (first, rival, last):
            sent.append(pool.submit(store.call, command))
            wait_until(lambda: len(store._commits._waiting) == len(sent))
        db.execute("ROLLBACK")
        assert isinstance(sent[0].exception(10), KeyboardInterrupt)
        assert [each.result(10).id for each in sent[1:]] == [rival.job_id, last.job_id]
    assert {row.id for row in store.call(c.ListJobs())} == {rival.job_id, last.job_id}
