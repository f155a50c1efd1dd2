"""The file: what is kept in it, and which files are refused."""

from __future__ import annotations

import os
import sqlite3
import warnings
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.sqlite import disk
from batonpass.coordinator.sqlite.file import warn_of_network
from batonpass.coordinator.sqlite.schema import FOLDER, migrations
from batonpass.coordinator.sqlite.store import SqliteStore
from tests.harness.bench import new_job
from tests.sqlite.beside import finished, other, run

LATEST = max(migrations(FOLDER))


def test_it_keeps_what_was_committed(store: SqliteStore, path: Path) -> None:
    with other(path) as db:
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA user_version").fetchone() == (LATEST,)
    with store._writing as connection:
        normal, full = 1, 2
        assert connection.execute("PRAGMA synchronous").fetchone() == (normal if disk.SHARED else full,)
    job_id = store.call(new_job()).id
    store.close()
    again = SqliteStore(str(path), "default")
    assert again.call(c.ReadJob(job_id)).id == job_id
    again.close()


def test_a_closed_handle_opens_again(store: SqliteStore) -> None:
    job_id = store.call(new_job()).id
    store.close()
    store.close()
    assert store.call(c.ReadJob(job_id)).id == job_id


def test_a_read_only_file_system(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "statvfs", lambda _: SimpleNamespace(f_flag=os.ST_RDONLY))
    with pytest.raises(bp.Unreachable, match="its file system is read-only"):
        bp.connect(f"sqlite:///{path}").open()


def test_another_programs_database(path: Path) -> None:
    with other(path) as db:
        db.execute("CREATE TABLE invoices (id)")
    with pytest.raises(bp.BadSetup, match="is another program's database: choose another file"):
        bp.connect(f"sqlite:///{path}").open()
    with other(path) as db:
        assert db.execute("SELECT name FROM sqlite_master").fetchall() == [("invoices",)]


def test_another_programs_empty_database(path: Path) -> None:
    with other(path) as db:
        db.execute("PRAGMA application_id = 7")
    with pytest.raises(bp.BadSetup, match="is another program's database"):
        bp.connect(f"sqlite:///{path}").open()


def test_a_file_that_is_no_database(path: Path) -> None:
    path.write_text("Dear diary, " * 1000)
    why = "is not a Batonpass store: file is not a database"
    with pytest.raises(bp.BadSetup, match=why):
        bp.connect(f"sqlite:///{path}").open()
    store = SqliteStore(str(path), "default")
    assert store.examine().findings[-1].text == f"{path} {why}"
    with pytest.raises(bp.BadSetup, match=why):
        store.backup(f"{path}.copy")
    assert path.read_text() == "Dear diary, " * 1000


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(bp.Unreachable, match=r"store.db can't be opened: there is no folder .*/none, make it first"):
        bp.connect(f"sqlite:///{tmp_path}/none/store.db").open()
    assert not (tmp_path / "none").exists()


def test_a_folder_in_its_place(tmp_path: Path) -> None:
    with pytest.raises(bp.Unreachable, match="can't be opened: it is a folder, name a file in it"):
        bp.connect(f"sqlite:///{tmp_path}").open()


# Nobody is refused what root may do, so the process becomes somebody else first.
_AS_NOBODY = """
import os, sys
from batonpass.cli.options import opened
from batonpass.contracts.errors import BatonpassError
from batonpass.coordinator.sqlite.store import SqliteStore
if os.getuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
os.chdir(sys.argv[1])
store = SqliteStore("store.db" if len(sys.argv) < 3 else sys.argv[2], "default")
print(store.examine().findings[-1].text)
for use in (store.open, opened(store.url, None).open, lambda: store.backup("copy.db")):
    try:
        use()
    except BatonpassError as error:
        print(error)
"""


def _told_nobody(*arguments: object) -> str:
    """The one complaint of everything that opens a file: the store, doctor, a command, a backup."""
    complaints = finished(run(_AS_NOBODY, *arguments)).splitlines()
    assert complaints == complaints[:1] * 4
    return complaints[0]


def _made(file: Path) -> None:
    """A store's file, and nobody who has it open: SQLite's two other files are gone."""
    store = SqliteStore(str(file), "default")
    store.open()
    store.close()


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """A folder that every user may look into."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    for parent in folder.parents[:4]:
        if parent.stat().st_uid == os.getuid() and len(parent.parts) > 2:
            parent.chmod(parent.stat().st_mode | 0o011)
    return folder


def test_a_read_only_file(open_folder: Path) -> None:
    file = open_folder / "store.db"
    _made(file)
    open_folder.chmod(0o777)
    file.chmod(0o444)
    assert _told_nobody(open_folder).startswith(f"{file} can't be opened: this user may not read and write {file}, ")


def test_a_read_only_folder(open_folder: Path) -> None:
    _made(open_folder / "store.db")
    (open_folder / "store.db").chmod(0o666)
    open_folder.chmod(0o555)
    told = _told_nobody(open_folder)
    assert f"store.db can't be opened: this user may not write in {open_folder}, where SQLite keeps two more" in told


def test_a_log_of_another_user(open_folder: Path) -> None:
    store = SqliteStore(str(open_folder / "store.db"), "default")
    store.open()
    open_folder.chmod(0o777)
    for file in open_folder.iterdir():
        file.chmod(0o444 if file.name.endswith("-wal") else 0o666)
    assert f"this user may not read and write {open_folder}/store.db-wal, change its per" in _told_nobody(open_folder)
    store.close()


def test_a_folder_that_is_closed_to_this_user(open_folder: Path) -> None:
    closed = open_folder / "closed"
    closed.mkdir()
    _made(closed / "store.db")
    closed.chmod(0)
    told = _told_nobody(open_folder, "closed/store.db")
    closed.chmod(0o700)
    assert told == f"{closed}/store.db can't be opened: this user may not look into {closed}, change its permissions"


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite://host/file.db", "sqlite:///:memory:"])
def test_a_url_that_names_no_file(url: str) -> None:
    with pytest.raises(bp.BadSetup):
        bp.connect(url)


def test_a_url_names_a_file_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with bp.connect("sqlite:///a%20b.db"):
        assert (tmp_path / "a b.db").exists()


def _filled(store: SqliteStore) -> None:
    for number in range(200):
        store.call(new_job(payload=f'{{"number": {number}}}'))
    store.close()


@pytest.mark.parametrize("command", [c.ListJobs(500), new_job()], ids=["read", "write"])
def test_damaged_pages(store: SqliteStore, path: Path, command: c.Command[object]) -> None:
    _filled(store)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xa5" * (len(data) - 4096)
    path.write_bytes(data)
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged \(.*\): .* put a backup in its place, or rescue"):
        store.call(command)


def _flip(path: Path, what: bytes, become: bytes) -> None:
    data = path.read_bytes()
    assert what in data
    path.write_bytes(data.replace(what, become))


def _tidy(store: SqliteStore, path: Path) -> None:
    store.close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    ("what", "become"),
    [
        (b"CREATE TABLE thread", b"CREATE TABLE thre\xe1d"),  # SQLite's own message is no text then
        (b"envelope BLOB", b"envelopf BLOB"),
        (b"lease TEXT", b"lea\xf3e TEXT"),
    ],
)
def test_a_damaged_schema(store: SqliteStore, path: Path, what: bytes, become: bytes) -> None:
    store.call(new_job())
    _tidy(store, path)
    _flip(path, what, become)
    again = SqliteStore(str(path), "default")
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged \(.*\): .* put a backup in its place"):
        again.call(c.ListJobs(10))
    again.close()


def test_a_damaged_job_is_named_and_hides_no_other(
    store: SqliteStore, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = (store.call(new_job()).id for _ in range(2))
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE job SET state = 'submitteD' WHERE id = ?", (first,))
        db.commit()
    with bp.connect(f"sqlite:///{path}") as coordinator:
        with pytest.raises(bp.Corrupted, match=f"job {first} is damaged in the store .*'submitteD'"):
            coordinator.job(first).info()
        assert [job.id for job in coordinator.jobs()] == [second]
    assert f"left out of a list: job {first} is damaged" in caplog.text


def test_one_damaged_page_leaves_the_others_readable(store: SqliteStore, path: Path) -> None:
    _filled(store)
    with other(path) as db:
        [root] = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()
        [size] = db.execute("PRAGMA page_size").fetchone()
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xa5" * size)
    assert len(store.call(c.ListJobs(500))) == 200
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged"):
        store.call(c.Events(limit=500))
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged"):
        store.call(new_job())
    assert len(store.call(c.ListJobs(500))) == 200


def test_a_file_that_is_cut_off(store: SqliteStore, path: Path) -> None:
    _filled(store)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(bp.Corrupted, match=r"store.db is damaged"):
        store.call(c.ListJobs(500))


def test_a_network_file_system_is_warned_of(path: Path, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"host:/export {tmp_path} nfs4 rw 0 0\n")
    with pytest.warns(bp.UnsafeStore, match=r"store.db is on a network file system \(nfs4\): .* or use Redis"):
        warn_of_network(str(path), mounts)
    mounts.write_text(f"/dev/sda1 {tmp_path} ext4 rw 0 0\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_network(str(path), mounts)
        warn_of_network(str(path), tmp_path / "no such table")


@pytest.mark.parametrize(
    "text", ["{", "[]", "7", '{"type": {}, "subject": ""}', '{"type": "batonpass.checkpoint.saved"}']
)
def test_an_event_that_is_damaged_in_the_file_is_read_as_one(path: Path, store: SqliteStore, text: str) -> None:
    """It was an error of json, at each read of the page that has it."""
    with bp.connect(f"sqlite:///{path}") as coordinator:
        for number in range(3):
            coordinator.save(thread="t", agent="a", state=number)
        with other(path) as db:
            first, second, third = (number for (number,) in db.execute("SELECT number FROM event ORDER BY number"))
            db.execute("UPDATE event SET fields = ? WHERE number = ?", (text, second))
        events = coordinator.events()
        assert next(events).id == str(first)
        with pytest.raises(bp.Corrupted, match=f"event '{second}' is not what Batonpass writes") as damaged:
            next(events)
        assert [event.id for event in coordinator.events(after=damaged.value.after)] == [str(third)]
