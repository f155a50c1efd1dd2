"""The files of bundles: whatever happens to one, all of it counts or nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.contracts.contract import ContractRef
from batonpass.contracts.names import home, mint
from batonpass.coordinator.book import queue_of
from batonpass.coordinator.bundles.file import BundleWriter
from batonpass.coordinator.bundles.records import CHECKPOINT, JOB, THREAD
from batonpass.coordinator.seals import FORMAT, content_hash

from ..harness.texts import message
from .commandline import CommandLine, kept


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """Of a thread of 60 checkpoints, two of which have names."""
    path = tmp_path / "run.bundle"
    chance = random.Random(3)
    with bp.connect("memory://") as coordinator:
        messages: list[Any] = []
        for n in range(60):
            messages.append(message(chance))
            made = coordinator.save(thread="run", agent="a", state={"n": n, "messages": messages})
            if n % 30 == 7:
                coordinator.name(made.id, f"name {n}")
        coordinator.export_bundle("run", path)
    return path


@pytest.fixture
def run(sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(sqlite_url, capsys, monkeypatch)


def _refused(run: CommandLine, path: Path, match: str) -> None:
    with bp.connect(run.url) as coordinator:
        before = kept(run.url)
        with pytest.raises(bp.BatonpassError, match=match):
            coordinator.import_bundle(path)
        assert kept(run.url) == before


def test_cut_short(run: CommandLine, bundle: Path, tmp_path: Path) -> None:
    whole, cut = bundle.read_bytes(), tmp_path / "cut"
    for part in [*(len(whole) * n // 50 for n in range(50)), len(whole) - 1, len(whole) - 32, len(whole) - 36]:
        cut.write_bytes(whole[:part])
        _refused(run, cut, "is cut short or damaged: nothing was imported|is not a bundle")
    cut.write_bytes(whole + b"x")
    _refused(run, cut, "is cut short or damaged")


def test_flipped_bits(run: CommandLine, bundle: Path, tmp_path: Path) -> None:
    whole, flipped = bundle.read_bytes(), tmp_path / "flipped"
    chance = random.Random(5)
    for at in [*range(0, 40, 3), *(chance.randrange(len(whole)) for _ in range(60))]:
        changed = bytearray(whole)
        changed[at] ^= 1 << chance.randrange(8)
        flipped.write_bytes(changed)
        _refused(run, flipped, "is cut short or damaged|is not a bundle|is a bundle of another Batonpass")


def test_what_is_no_bundle(run: CommandLine, bundle: Path, tmp_path: Path) -> None:
    complaint = run("import", str(tmp_path / "nothing")).complaint
    assert complaint == f"there is no file {tmp_path / 'nothing'}"
    run("import", str(tmp_path / "nothing"), "--store", f"sqlite:///{tmp_path}/fresh.db")
    assert not (tmp_path / "fresh.db").exists()
    for data in (b"", b"batonpass bundle", b"SQLite format 3\0" * 9, os.urandom(5000)):
        other = tmp_path / "other"
        other.write_bytes(data)
        assert "is not a bundle: `batonpass export` writes them" in run("import", str(other)).complaint
    assert "can't be read" in run("import", str(tmp_path)).complaint
    with bp.connect(run.url) as coordinator:
        coordinator.import_bundle(bundle)
        for path in (bundle, tmp_path):
            with pytest.raises(bp.BadSetup, match="already exists, and is never overwritten"):
                coordinator.export_bundle("run", path)
        with pytest.raises(bp.BadSetup, match="can't be written: No such file"):
            coordinator.export_bundle("run", tmp_path / "no folder" / "file")
        with pytest.raises(bp.BadSetup, match="is not the path of a file"):
            coordinator.export_bundle("run", 5)  # type: ignore[arg-type]
    assert sorted(path.name for path in tmp_path.iterdir() if "part" in path.name) == []


def _made(path: Path, *records: tuple[Any, ...]) -> Path:
    path.unlink(missing_ok=True)
    out = BundleWriter(str(path), None)
    for record in records:
        out.add(*record)
    out.close()
    return path


def test_a_file_that_somebody_else_has_written(run: CommandLine, tmp_path: Path) -> None:
    """With a checksum that is right."""
    checkpoint: list[Any] = [mint("c", home("run")), b"\x01\x90", b"", b"", "a", "s", "", [], None, "", 0, 5, ""]
    job = _job()
    other = mint("c", home("run"))
    strange: list[list[tuple[Any, ...]]] = [
        [],
        [(THREAD, "run"), (THREAD, "two")],
        [(THREAD, 5)],
        [(THREAD, "run"), ("strange", 1)],
        [(THREAD, "run"), (CHECKPOINT,)],
        [(THREAD, "run"), (CHECKPOINT, *checkpoint)],
        [(THREAD, "run"), (CHECKPOINT, "../../etc", *checkpoint[1:])],
        [(THREAD, "run"), (JOB, {**job, "thread": "other"}, {}, [], [])],
        [(THREAD, "run"), (JOB, {**job, "id": "x"}, {}, [], [])],
        [(THREAD, "run"), (JOB, {**job, "state": "owned"}, {}, [], [])],
        [(THREAD, "run"), (JOB, {**job, "hop": "1"}, {}, [], [])],
        [(THREAD, "run"), (JOB, {**job, "hop": 1 << 63}, {}, [], [])],
        [(THREAD, "run"), (JOB, {**job, "more": 1}, {}, [], [])],
        [(THREAD, "run"), (JOB, job, {"a": 1}, [], [])],
        [(THREAD, "run"), (JOB, job, {}, [["f", {"job_id": "x"}]], [])],
        [(THREAD, "run"), (JOB, job, {}, [["a b", {"job_id": mint("j"), "number": 0, "state": "failed"}]], [])],
        [(THREAD, "run"), (JOB, job, {}, [["f", {"job_id": mint("j"), "number": -1, "state": "failed"}]], [])],
        [(THREAD, "run"), (JOB, job, {}, [["f", {"job_id": "x y", "number": 0, "state": "failed"}]], [])],
        [(THREAD, "run"), (JOB, job, {}, [], [5])],
        [(THREAD, "run"), (JOB, job, {}, [], [{f"field {n}": "" for n in range(5000)}])],
        *([(THREAD, "run"), (JOB, {**job, **wrong}, {}, [], [])] for wrong in _NO_JOBS),
        [(THREAD, "run"), *((JOB, _job(state="input_required"), {}, [], []) for _ in range(2))],
        [(THREAD, "run"), _checkpoint(parent="- 1 0 c.0:0:99 s")],
        [(THREAD, "run"), _checkpoint(other), _checkpoint(other, index=1)],
        [(THREAD, "run"), _checkpoint(other, index=1), _checkpoint()],
        [(THREAD, "run"), _checkpoint(other), _checkpoint()],
        [(THREAD, "run"), _checkpoint(created=1 << 52)],
        [(THREAD, "run"), _checkpoint(place="a\0b\0c")],
        [(THREAD, "run"), _checkpoint(spans=f"{other}.0:0:3")],
        [(THREAD, "run"), _checkpoint(spans=f"{other}.0:0:3", appends=[[f"{other}.0", 0, b"abc"]])],
        [(THREAD, "run"), _checkpoint(other, spans=f"{other}.0:0:4", appends=[[f"{other}.0", 0, b"abc"]])],
        [(THREAD, "run"), _checkpoint(other, spans=f"{other}.0:0:4", appends=[[f"{other}.0", 1, b"abc"]])],
    ]
    for records in strange:
        _refused(run, _made(tmp_path / "strange", *records), "bundle|strange|thread 5|checkpoint c")
    told = [{"was": str(number)} for number in range(600)]
    _made(tmp_path / "right", (THREAD, "run"), _checkpoint(other), (JOB, job, {}, [], told))
    assert run("import", str(tmp_path / "right")).out.startswith("imported thread run with 1 checkpoint")
    with bp.connect(run.url) as coordinator:  # all of it is one command, so it has an end
        events = [event.data["was"] for event in coordinator.events(job=job["id"])]
    assert events == [str(number) for number in range(100, 600)]


def test_a_checkpoint_that_an_encrypted_store_can_not_pack(run: CommandLine, tmp_path: Path) -> None:
    """Found before the first page of checkpoints is written."""
    records = [_checkpoint(index=number) for number in range(60)]
    path = _made(tmp_path / "last", (THREAD, "run"), *records, _checkpoint(index=60, state=FORMAT + b"\xc1"))
    with bp.connect(run.url, codec=bp.Codec(encrypt={"k": os.urandom(32)}, plain=True)) as coordinator:
        with pytest.raises(bp.Corrupted, match="be decoded"):
            coordinator.import_bundle(path)
        assert coordinator.timeline("run") == []


_NO_JOBS: list[dict[str, Any]] = [
    {"contract": ""},
    {"created": 1 << 52},
    {"priority": 7},
    {"queue": "a b:c"},
    {"fan": "x y"},
    {"agent": "x"},  # no worker of its queue could run it
    {"queue": ""},
]


def _job(**more: Any) -> dict[str, Any]:
    address = {"agent": "a", "contract": "a@1", "queue": queue_of("a", ContractRef("a", 1))}
    return {"id": mint("j", home("run")), "thread": "run", "state": "failed", **address, **more}


def _checkpoint(id_: str = "", *, index: int = 0, created: int = 5, **more: Any) -> tuple[Any, ...]:
    """With a header and a state that are right."""
    state = more.get("state", FORMAT + pack({}))
    about = ["run", None, None, "a", "s", "", pack({}), content_hash(state), content_hash(b"")]
    held = [id_ or mint("c", home("run")), FORMAT + pack(about), state, b"", "a", "s"]
    parts = [more.get("spans", ""), more.get("appends", []), more.get("place"), more.get("parent", "")]
    return (CHECKPOINT, *held, *parts, index, created, "")


_KILLED = """
import os, signal, sys
import batonpass as bp
def told(done, total):
    if done > 20:
        os.kill(os.getpid(), signal.SIGKILL)
with bp.connect(sys.argv[1]) as coordinator:
    coordinator.import_bundle(sys.argv[2], progress=told)
"""


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_killed_in_the_middle_and_run_again(
    kind: str, request: pytest.FixtureRequest, bundle: Path, tmp_path: Path
) -> None:
    url = request.getfixturevalue(f"{kind}_url")
    ended = subprocess.run([sys.executable, "-c", _KILLED, url, str(bundle)], check=False)
    assert ended.returncode == -signal.SIGKILL
    with bp.connect(url) as coordinator:
        assert 0 < len(coordinator.timeline("run", limit=100)) < 60
        assert coordinator.import_bundle(bundle).checkpoints == 60
        found = coordinator.timeline("run", limit=100)
        assert [each.step_index for each in found] == [*range(59, -1, -1)]
        assert len(coordinator.restore(found[0].id).state["messages"]) == 60
        assert coordinator.restore(thread="run", name="name 37").state["n"] == 37
        coordinator.export_bundle("run", tmp_path / "again")
    assert len((tmp_path / "again").read_bytes()) == len(bundle.read_bytes())


def test_a_killed_export_leaves_no_file_of_that_name(sqlite_url: str, bundle: Path, tmp_path: Path) -> None:
    with bp.connect(sqlite_url) as coordinator:
        coordinator.import_bundle(bundle)
    code = _KILLED.replace("import_bundle(sys.argv[2]", "export_bundle('run', sys.argv[2]").replace("done > 20", "done")
    ended = subprocess.run([sys.executable, "-c", code, sqlite_url, str(tmp_path / "new")], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "new").exists()


def test_an_export_that_is_told_to_stop_leaves_nothing(sqlite_url: str, bundle: Path, tmp_path: Path) -> None:
    with bp.connect(sqlite_url) as coordinator:
        coordinator.import_bundle(bundle)
    code = """
import os, pathlib, signal, sys
from batonpass.cli import bundle
bundle.print_progress = lambda done, total: os.kill(os.getpid(), signal.SIGTERM)
sys.stderr.isatty = lambda: True
bundle.export("run", pathlib.Path(sys.argv[2]), store=sys.argv[1])
"""
    ended = subprocess.run([sys.executable, "-c", code, sqlite_url, str(tmp_path / "new")], check=False)
    assert ended.returncode == -signal.SIGTERM
    assert not list(tmp_path.glob("new*"))


_FULL = """
import resource, signal, sys
import batonpass as bp
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
with bp.connect(sys.argv[1]) as coordinator:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), resource.RLIM_INFINITY))
    try:
        coordinator.export_bundle("run", sys.argv[2])
    except bp.BadSetup as error:
        print(error)
"""


@pytest.mark.parametrize("room", [100, 9000, 20_000])
def test_an_export_for_which_there_is_no_room(sqlite_url: str, bundle: Path, tmp_path: Path, room: int) -> None:
    with bp.connect(sqlite_url) as coordinator:
        coordinator.import_bundle(bundle)
    ended = subprocess.run(
        [sys.executable, "-c", _FULL, sqlite_url, str(tmp_path / "new"), str(room)], capture_output=True, text=True
    )
    assert ended.stdout == f"{tmp_path / 'new'} can't be written: File too large\n", ended.stderr
    assert list(tmp_path.glob("new*")) == []


def test_into_another_namespace_of_the_same_file(run: CommandLine, tmp_path: Path) -> None:
    with bp.connect(run.url) as coordinator:
        coordinator.save(thread="run", agent="a", state={"n": 1})
        coordinator.export_bundle("run", tmp_path / "small")
    complaint = run("import", str(tmp_path / "small"), "--namespace", "other").complaint
    assert "has the same ids, which are unique in a file: use another file" in complaint
