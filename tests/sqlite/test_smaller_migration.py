"""A file of schema 7 goes on: checkpoints are read, jobs wait in their order, and new commit lines are smaller."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import CommitLine, Place
from batonpass.coordinator.seals import is_sealed, read_commit, seal
from batonpass.coordinator.sqlite.commit_lines import packed, unpacked
from tests.harness.bench import Bench, fence_of
from tests.harness.stores import SqliteHarness
from tests.sqlite.older import made_by


def _lines(path: Path) -> list[object]:
    with closing(sqlite3.connect(path)) as db:
        return [line for (line,) in db.execute("SELECT commit_line FROM checkpoint ORDER BY step_index")]


def test_an_older_file_goes_on(tmp_path: Path) -> None:
    with Bench(SqliteHarness(tmp_path / "newer.db"), side="sync") as bench:
        before = bench.save(None, {"said": "before"}, thread="run")
        jobs = [bench.submit(thread="line", on_busy="queue") for _ in range(3)]
    made_by(7, tmp_path / "older.db", tmp_path / "newer.db")
    [old] = _lines(tmp_path / "older.db")
    with Bench(SqliteHarness(tmp_path / "older.db"), side="sync") as bench:
        face = bench.face()
        assert face.restore(before).state == {"said": "before"}
        after = bench.save(None, {"said": "after"}, thread="run")
        jobs.append(bench.submit(thread="line", on_busy="queue"))
        assert [face.restore(id_).state["said"] for id_ in (before, after)] == ["before", "after"]
        assert [row.id for row in bench.line("run")] == [after, before]
        ended: list[str] = []
        for delivery in (bench.claim()[0] for _ in jobs):
            ended.append(delivery.job.id)
            bench.do(c.Complete(fence_of(delivery), b"done"))
        assert ended == jobs
        [still, new] = _lines(tmp_path / "older.db")
        damaged = bench.harness.tampered(before, "commit", lambda line: line.replace(b"1", b"2", 1))
        with damaged, pytest.raises(bp.Corrupted, match=before):
            face.restore(before)
    assert isinstance(old, str)
    assert still == old
    assert isinstance(new, bytes)
    assert len(new) == len(unpacked(new)) - 20


@pytest.mark.parametrize("place", [None, Place("", "k", ""), Place("a scope", "a\0 key \1", "run")])
def test_a_line_comes_back(place: Place | None) -> None:
    for parent, spans in (("", ""), ("c_1", "l:0:5,l:9:12")):
        made: CommitLine = seal("c_2", b"header", 17, parent, 1_700_000_000_000, 0, spans)
        made.place = place
        assert unpacked(packed(made.line())) == made.line().encode()
        assert unpacked(made.line().encode()) == made.line().encode()


def test_a_cut_line_can_not_be_read() -> None:
    whole = packed(seal("c_2", b"header", 17, "c_1", 1_700_000_000_000, 0, "l:0:5").line())
    for end in range(len(whole)):
        line = unpacked(whole[:end]).decode("utf-8", "replace")
        try:
            commit = read_commit(line, "c_2")
        except bp.Corrupted:
            continue
        assert not is_sealed("c_2", b"header", commit)
