"""JsonFiles: checkpoints as JSON files that people can read, one file each."""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from anyio import to_thread

from ...contracts.checkpoint import Checkpoint, CheckpointSummary
from ...contracts.codec import pack
from ...contracts.errors import BadSetup, BatonpassError, Conflict, Corrupted, NotFound, Unavailable, Unserializable
from ...contracts.names import digest
from .json_values import from_json, to_json

T = TypeVar("T")
_FORMAT = 1
_FILE = re.compile(r"([0-9]{6,})\.json\Z")
_NUMBER = re.compile(r"[0-9]{1,12}\Z")
# Keys whose names are also their folders' names. They have no capitals, because A and a are one name on some systems.
_PLAIN = re.compile(r"[a-z0-9_-]{1,80}\Z")
_TRIES = 100


class JsonFiles:
    """A folder with a subfolder for each key, where `000000.json` is the first checkpoint.

    A file gets its name only when it is complete and on disk, and is never overwritten. Several threads and processes
    may save. Files left by a killed process start with a dot. Each file holds a whole state, so for growing states a
    store takes less space. The checksum covers a file's content, not its formatting. You may delete old files. The
    folder is created when needed. A checkpoint's id is its key and number, "run-1/12".
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def save(
        self,
        *,
        thread: str,
        agent: str,
        state: Any,
        step: str = "",
        context: Mapping[str, Any] | None = None,
        framework: str = "python",
    ) -> Checkpoint:
        """Write the next checkpoint's file. When this returns, it is on disk."""
        pack(state)  # what a store refuses is refused here too, with the path to it
        about = {"agent": agent, "framework": framework, "step": step, "context": dict(context or {})}
        pack(about, path="checkpoint")
        folder = self._folder(thread)
        try:
            _make(folder)
            for _ in range(_TRIES):
                numbers = _numbers(folder)
                number = numbers[-1] + 1 if numbers else 0
                parent = _id(thread, numbers[-1]) if numbers else None
                created = datetime.now(UTC).isoformat()
                head = {"batonpass": _FORMAT, "id": _id(thread, number), "thread": thread, "step_index": number}
                written = {**head, "parent_id": parent, "created_at": created, **about, "state": state}
                text = _text(written)
                if _write(_path(folder, number), text):
                    return _opened(text)
        except OSError as error:
            raise Unavailable(f"{folder} can't be written to: {error}") from error
        raise Conflict(f"others saved to {folder} at each of {_TRIES} tries: try again later")

    def restore(self, checkpoint_id: str) -> Checkpoint:
        """Load a checkpoint, verified. Raises `NotFound`, or `Corrupted` with the file's name."""
        key, _, number = checkpoint_id.rpartition("/")
        if not key or not _NUMBER.match(number):
            raise NotFound(f"{checkpoint_id!r} is not the id of a checkpoint in files, such as 'run-1/12'")
        found = self._read(key, int(number))
        if found is None:
            raise NotFound(f"there is no checkpoint {checkpoint_id} in {self.folder}")
        return found

    def latest(self, *, thread: str) -> Checkpoint | None:
        """The key's newest checkpoint, verified, or None."""
        for number in reversed(_numbers(self._folder(thread))):
            found = self._read(thread, number)
            if found is not None:  # its user may have just deleted it
                return found
        return None

    def timeline(self, thread: str, *, limit: int = 50) -> list[CheckpointSummary]:
        """The key's checkpoints, newest first. Reads whole files. A damaged one doesn't hide the others."""
        found: list[CheckpointSummary] = []
        for number in reversed(_numbers(self._folder(thread))[-limit:] if limit > 0 else []):
            try:
                read: CheckpointSummary | None = self._read(thread, number)
            except Corrupted:
                read = _damaged(thread, number)
            if read is not None:
                found.append(read)
        return found

    def keys(self) -> list[str]:
        """The keys that have checkpoints."""
        found: list[str] = []
        for folder in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            numbers = _numbers(folder)
            if numbers:
                found.append(_key(folder, numbers))
        return sorted(found)

    def _folder(self, key: str) -> Path:
        if not key:
            raise BadSetup("the key is empty: give the run a name")
        if _PLAIN.match(key):
            return self.folder / key
        return self.folder / f"{re.sub(r'[^a-z0-9_-]+', '-', key.lower())[:40]}~{digest(key)}"

    def _read(self, key: str, number: int) -> Checkpoint | None:
        path = _path(self._folder(key), number)
        try:
            checkpoint = _read(path)
        except FileNotFoundError:
            return None
        if checkpoint.id != _id(key, number):
            raise Corrupted(f"{path} is checkpoint {checkpoint.id}: it was moved or renamed")
        return checkpoint


class AsyncFiles:
    """The same for async code. Files are read and written in threads."""

    def __init__(self, files: JsonFiles) -> None:
        self._files = files

    async def save(self, **about: Any) -> Checkpoint:
        return await to_thread.run_sync(partial(self._files.save, **about))

    async def restore(self, checkpoint_id: str) -> Checkpoint:
        return await to_thread.run_sync(self._files.restore, checkpoint_id)

    async def latest(self, *, thread: str) -> Checkpoint | None:
        return await to_thread.run_sync(partial(self._files.latest, thread=thread))

    async def timeline(self, thread: str, *, limit: int) -> list[CheckpointSummary]:
        return await to_thread.run_sync(partial(self._files.timeline, thread, limit=limit))

    async def keys(self) -> list[str]:
        return await to_thread.run_sync(self._files.keys)


def _id(key: str, number: int) -> str:
    return f"{key}/{number}"


def _path(folder: Path, number: int) -> Path:
    return folder / f"{number:06d}.json"


def _numbers(folder: Path) -> list[int]:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(int(found[1]) for name in names if (found := _FILE.match(name)))


def _key(folder: Path, numbers: list[int]) -> str:
    """The key of a folder: its name, or what the first readable file in it says."""
    for number in reversed(numbers):
        with suppress(Corrupted, OSError):
            return _read(_path(folder, number)).thread
    return folder.name


def _text(written: dict[str, Any]) -> str:
    try:
        document = {name: to_json(value) for name, value in written.items()}
        return json.dumps({**document, "checksum": _checksum(document)}, indent=1, ensure_ascii=False) + "\n"
    except RecursionError:
        raise Unserializable("state can't be saved in a JSON file: it is too deep", path="state") from None


def _checksum(document: dict[str, Any]) -> str:
    """The checksum of what a document says, however it is laid out."""
    plain = json.dumps(document, sort_keys=True, separators=(",", ":"))
    return blake2b(plain.encode(), digest_size=20).hexdigest()


def _read(path: Path) -> Checkpoint:
    try:
        return _opened(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unavailable(f"{path} can't be read: {error}") from error
    except BatonpassError as error:
        raise type(error)(f"{path}: {error}") from error
    except Exception as error:  # JSON of any form may be there
        raise Corrupted(
            f"{path} is not what was saved ({type(error).__name__}): it is damaged or was edited; other files of the "
            "folder may be readable"
        ) from error


def _opened(text: str) -> Checkpoint:
    document = json.loads(text)
    checksum = document.pop("checksum")
    if document["batonpass"] != _FORMAT:
        raise BadSetup(f"it has format {document['batonpass']!r}: a newer Batonpass may read it")
    if _checksum(document) != checksum:
        raise ValueError("checksum")
    about: dict[str, Any] = {name: from_json(value) for name, value in document.items() if name != "batonpass"}
    about["created_at"] = datetime.fromisoformat(about["created_at"])
    return Checkpoint(**about, job=None, hop=None, expires_at=None, native=None)


def _damaged(key: str, number: int) -> CheckpointSummary:
    nothing: dict[str, Any] = {"agent": "", "step": "", "framework": "", "parent_id": None, "job": None, "hop": None}
    nothing |= {"context": {}, "created_at": datetime.fromtimestamp(0, UTC), "expires_at": None}
    return CheckpointSummary(id=_id(key, number), thread=key, step_index=number, **nothing, damaged=("record",))


def _make(folder: Path) -> None:
    """Make a thread's folder, and the one of all. New ones are private; in one that others may read they may go on."""
    if not folder.is_dir():
        if not folder.parent.is_dir():
            folder.parent.parent.mkdir(parents=True, exist_ok=True)
            folder.parent.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=_mode(folder.parent), exist_ok=True)
        _sync(folder.parent)


def _mode(folder: Path) -> int:
    """What a folder's mode allows."""
    return stat.S_IMODE(folder.stat().st_mode) & 0o777


def _write(path: Path, text: str) -> bool:
    """Make a file. False if there is one of that name."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with open(part, "x", encoding="utf-8", opener=partial(os.open, mode=_mode(path.parent) & 0o666)) as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if not _put_in_place(part, path):
            return False
        _sync(path.parent)
        return True
    finally:
        with suppress(FileNotFoundError):
            os.unlink(part)


def _put_in_place(part: Path, path: Path) -> bool:
    try:
        os.link(part, path)  # unlike a rename, it fails if there is a file
    except FileExistsError:
        return False
    except OSError:  # a file system without links, where two saves at the same instant are not kept apart
        if path.exists():
            return False
        os.rename(part, path)
    return True


def _sync(folder: Path) -> None:
    """Sync a folder's names to the disk. Windows can't, and need not."""
    if os.name != "nt":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)
