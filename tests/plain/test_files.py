"""JsonFiles: people read what was saved, damage is named, and nothing is lost or overwritten."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batonpass as bp
from batonpass.adapters.plain import Checkpointable, JsonFiles, Keeper
from batonpass.adapters.plain.json_values import from_json, to_json
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack
from batonpass.contracts.state_types import UnknownValue
from tests.harness.waiting import wait_until

LEAVES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.dates(), st.datetimes()),
    *(st.times(), st.timedeltas(), st.decimals(), st.uuids(), st.integers(-(10**40), 10**40)),
)
KEYS = st.one_of(st.text(), st.integers(), st.none(), st.binary(), st.just("$"), st.tuples(st.integers(), st.text()))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.one_of(st.text(), KEYS), inner, max_size=4),
        st.tuples(inner, inner),
        st.frozensets(st.one_of(st.text(), st.integers(), st.none()), max_size=4),
        st.sets(st.tuples(st.integers(), st.text()), max_size=4),
    ),
    max_leaves=20,
)


@given(VALUES)
@settings(max_examples=200, deadline=None)
def test_values_come_back_as_they_come_back_from_stores(value: Any) -> None:
    found = from_json(json.loads(json.dumps(to_json(value), allow_nan=False)))
    assert alike(found, unpack(pack(value)))


def test_a_value_of_an_unknown_type_is_kept() -> None:
    unknown = UnknownValue("nobody.knows", pack({"a": (1,)}))
    assert from_json(to_json([unknown])) == [unknown]
    written = {"$": "type", "name": "nobody.knows", "value": {"a": {"$": "tuple", "items": [1]}}}
    assert from_json(written) == unknown


class Run(Checkpointable):
    def __init__(self, note: Any = "a") -> None:
        self.note = note


def test_files_are_readable(tmp_path: Path) -> None:
    saved = Keeper(JsonFiles(tmp_path)).save(Run("ä"), "run-1", step="first", context={"n": 1})
    path = tmp_path / "run-1" / "000000.json"
    text = path.read_text(encoding="utf-8")
    document = json.loads(text)
    assert list(document) == [
        *("batonpass", "id", "thread", "step_index", "parent_id", "created_at"),
        *("agent", "framework", "step", "context", "state", "checksum"),
    ]
    assert (document["id"], document["state"]["note"]) == (saved.id, "ä") == ("run-1/0", "ä")
    assert '\n "step": "first",\n' in text
    assert '"note": "ä"' in text
    # The same JSON in another layout is the same state.
    path.write_text(json.dumps(document), encoding="utf-8")
    assert JsonFiles(tmp_path).restore("run-1/0") == saved


def _cut(text: str) -> str:
    return text[: len(text) // 2]


def _edited(**change: Any) -> Callable[[str], str]:
    return lambda text: json.dumps({**json.loads(text), **change})


@pytest.mark.parametrize(
    "change",
    [
        *(_cut, lambda _: "", lambda _: "[]", lambda _: "{}", lambda text: text.replace('"a"', '"b"')),
        *(lambda text: text + "x", lambda _: "[" * 100_000, lambda _: "\x00"),
        *(_edited(step="x"), _edited(extra=1), _edited(checksum=""), _edited(checksum=None), _edited(parent_id="x/1")),
    ],
)
def test_damage_is_named_and_the_others_stay_readable(change: Callable[[str], str], tmp_path: Path) -> None:
    keeper = Keeper(JsonFiles(tmp_path))
    first = keeper.save(Run(), "run")
    keeper.save(Run(), "run")
    path = tmp_path / "run" / "000001.json"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    run = Run("before")
    with pytest.raises(bp.Corrupted, match=r"run/000001\.json is not what was saved"):
        keeper.load(run, "run")
    with pytest.raises(bp.Corrupted, match=r"run/000001\.json is not what was saved"):
        keeper.restore(run, "run/1")
    assert run.note == "before"
    damaged, other = keeper.history("run")
    assert (damaged.id, damaged.damaged, other.id, other.damaged) == ("run/1", ("record",), first.id, ())
    assert keeper.keys() == ["run"]
    keeper.restore(run, first.id)
    assert run.note == "a"
    assert keeper.save(run, "run").id == "run/2"


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    keeper = Keeper(JsonFiles(tmp_path))
    keeper.save(Run(), "run")
    (tmp_path / "run" / "000000.json").write_bytes(b"\xff\xfe")
    with pytest.raises(bp.Corrupted, match=r"000000\.json is not what was saved \(UnicodeDecodeError\)"):
        keeper.load(Run(), "run")


def test_a_file_at_another_place(tmp_path: Path) -> None:
    keeper = Keeper(JsonFiles(tmp_path))
    keeper.save(Run(), "run")
    os.rename(tmp_path / "run", tmp_path / "other")
    with pytest.raises(bp.Corrupted, match=r"other/000000\.json is checkpoint run/0: it was moved or renamed"):
        keeper.load(Run(), "other")


def test_a_newer_format(tmp_path: Path) -> None:
    keeper = Keeper(JsonFiles(tmp_path))
    keeper.save(Run(), "run")
    path = tmp_path / "run" / "000000.json"
    path.write_text(_edited(batonpass=2)(path.read_text()))
    with pytest.raises(bp.BadSetup, match=r"000000\.json: it has format 2: a newer Batonpass may read it"):
        keeper.load(Run(), "run")


@pytest.mark.parametrize("wrong", ["", "run", "/1", "run/", "run/x", "run/-1", "run/1.5", "run/" + "9" * 5000, "run/²"])
def test_ids_that_are_none(wrong: str, tmp_path: Path) -> None:
    with pytest.raises(bp.NotFound):
        JsonFiles(tmp_path).restore(wrong)


def test_missing_ones(tmp_path: Path) -> None:
    files = JsonFiles(tmp_path / "none")
    assert (files.keys(), files.latest(thread="x"), files.timeline("x")) == ([], None, [])
    with pytest.raises(bp.NotFound, match="there is no checkpoint x/7 in"):
        files.restore("x/7")
    assert not (tmp_path / "none").exists()


def test_the_newest_one_that_is_still_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its user may delete any file, also between the look at the folder and the look at the file."""
    keeper, listed = Keeper(JsonFiles(tmp_path)), os.listdir
    saved = [keeper.save(Run(note), "run") for note in "abc"]
    gone: list[str] = []

    def deleting(folder: Path) -> list[str]:
        found = listed(folder)
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        return found

    monkeypatch.setattr(os, "listdir", deleting)
    gone = ["000002.json"]
    assert JsonFiles(tmp_path).latest(thread="run") == saved[1]
    gone = ["000000.json", "000001.json"]
    assert JsonFiles(tmp_path).latest(thread="run") is None


def test_no_key_leads_out_of_the_folder_or_to_another_key(tmp_path: Path) -> None:
    keys = ["..", ".", "/", "../up", "a/b", "a", "A", "a ", "a~b", "C:\\x", "x" * 5000, "\x00", "é", "e\u0301", "con"]
    keeper = Keeper(JsonFiles(tmp_path / "in"))
    for key in keys:
        keeper.save(Run(key), key)
    assert os.listdir(tmp_path) == ["in"]
    assert len({name.lower() for name in os.listdir(tmp_path / "in")}) == len(keys)
    for key in keys:
        run = Run()
        assert keeper.load(run, key).thread == key
        assert run.note == key
    assert keeper.keys() == sorted(keys)


def test_other_things_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("mine")
    (tmp_path / "run").mkdir()
    for name in ("1.json", "000000.json.bak", ".000000.json.abc", "x.json"):
        (tmp_path / "run" / name).write_text("mine")
    keeper = Keeper(JsonFiles(tmp_path))
    assert keeper.keys() == []
    assert keeper.save(Run(), "run").step_index == 0
    assert keeper.keys() == ["run"]


def test_a_folder_that_can_not_be_written_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(bp.Unavailable, match="can't be written to"):
        Keeper(JsonFiles(tmp_path / "file")).save(Run(), "run")


def test_too_deep(tmp_path: Path) -> None:
    deep: Any = 1
    for _ in range(480):
        deep = [deep]
    keeper = Keeper(JsonFiles(tmp_path))
    try:
        keeper.save(Run(deep), "run")
    except bp.Unserializable:
        assert keeper.history("run") == []
    else:
        run = Run()
        keeper.load(run, "run")
        assert run.note == deep


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keeper = Keeper(JsonFiles(tmp_path))
    keeper.save(Run(), "run")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(bp.Unavailable, match="No space left"):
            keeper.save(Run("b"), "run")
    assert os.listdir(tmp_path / "run") == ["000000.json"]


def test_a_file_system_without_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", refuse)
    keeper = Keeper(JsonFiles(tmp_path))
    assert [keeper.save(Run(), "run").id for _ in range(3)] == ["run/0", "run/1", "run/2"]


def test_many_save_at_once_and_none_is_lost(tmp_path: Path) -> None:
    def save(number: int) -> str:
        return Keeper(JsonFiles(tmp_path)).save(Run(number), "run").id

    with ThreadPoolExecutor(8) as threads:
        ids = list(threads.map(save, range(60)))
    keeper = Keeper(JsonFiles(tmp_path))
    history = keeper.history("run", 100)
    assert {summary.id for summary in history} == set(ids)
    assert [summary.step_index for summary in history] == list(range(59, -1, -1))
    assert all(one.parent_id == other.id for one, other in pairwise(history))


WRITER = """
import os, sys
from batonpass.adapters.plain import Checkpointable, JsonFiles, Keeper
class Run(Checkpointable):
    note = 0
keeper, run = Keeper(JsonFiles(sys.argv[1])), Run()
log = os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
for run.note in range(100_000):
    os.write(log, f"{keeper.save(run, 'run').id}\\n".encode())
"""


def test_what_was_saved_is_there_after_kill_9(tmp_path: Path) -> None:
    log = tmp_path / "log"
    writer = subprocess.Popen([sys.executable, "-c", WRITER, tmp_path / "runs", log])
    try:
        wait_until(lambda: log.exists() and log.read_text().count("\n") > 20, what="saves")
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
    keeper = Keeper(JsonFiles(tmp_path / "runs"))
    saved = log.read_text().split()
    history = keeper.history("run", 100_000)
    assert [summary.damaged for summary in history] == [()] * len(history)
    assert set(saved) <= {summary.id for summary in history}
    assert len(history) - len(saved) in (0, 1)


@pytest.mark.parametrize("place", ["sqlite:///runs.db", "files"])
def test_hostile_contents_run_nothing(place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class named in a state is looked up among the defined ones, and never imported."""
    (tmp_path / "evil.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.chdir(tmp_path)
    run = Run([{"__class__": "evil.Thing", "__module__": "evil", "__version__": 1}])
    with Keeper(JsonFiles(tmp_path) if place == "files" else place) as keeper:
        state = run.state_dict()
        state["note"] = state["note"][0]["__plain__"]
        keeper._place.save(thread="run", agent="Run", state=state, step="", context=None, framework="plain")
        with pytest.raises(bp.BadSetup, match=r"'evil\.Thing', which this process lacks"):
            keeper.load(Run(), "run")
    assert "evil" not in sys.modules
