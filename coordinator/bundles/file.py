"""The file of a bundle: records, which only count together.

batonpass bundle 1 <id>     a line: the version of the format, and 16 random digits
length (4 bytes), record    each packed, behind a format byte; or that protected by the store's codec, bound to the
                            bundle's id and its number. The last one is "end"
0 (4 bytes), SHA-256        of everything before it
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from secrets import token_hex
from typing import Any, BinaryIO

from ...contracts.codec import pack, unpack
from ...contracts.errors import BadSetup, Corrupted, NotFound
from ...contracts.understood import understood
from ..coded.codec import Codec, check_open
from ..new_file import opener, put_in_place, sync
from ..seals import FORMAT

_NAME = b"batonpass bundle"
_VERSION = 1
_LINE = len(_NAME) + 32  # the first line is shorter
_LENGTH, _DIGEST, _CHUNK = 4, 32, 1 << 20
END = "end"


class BundleWriter:
    """Writes a new file, which appears under its name when it is complete. Without a codec it is plain."""

    def __init__(self, path: str, codec: Codec | None) -> None:
        self._path = path
        self._part = f"{path}.part-{token_hex(4)}"
        self._id = token_hex(8)
        self._codec = codec
        self._count = 0
        self._hash = sha256()
        if os.path.lexists(path):
            raise _there(path)
        try:
            self._file: BinaryIO = open(self._part, "xb", opener=opener)  # noqa: SIM115
        except OSError as error:
            raise _unwritable(path, error) from None
        self._write(b"%s %d %s\n" % (_NAME, _VERSION, self._id.encode()))

    def add(self, kind: str, *values: Any) -> None:
        """Add a record."""
        data = FORMAT + pack([kind, *values], path=kind)
        if self._codec is not None:
            data = self._codec.wrap(data, _about(self._id, self._count))
        if len(data) >= 1 << 8 * _LENGTH:
            raise BadSetup(f"a {kind} of {len(data):,} bytes is too large for a bundle")
        self._count += 1
        self._write(len(data).to_bytes(_LENGTH, "big") + data)

    def _write(self, data: bytes) -> None:
        self._hash.update(data)
        try:
            self._file.write(data)
        except OSError as error:
            raise _unwritable(self._path, error) from None

    def close(self) -> int:
        """End the file, and let it appear. Returns its size."""
        self.add(END)
        self._write(bytes(_LENGTH))
        self._write(self._hash.digest())
        size = self._file.tell()
        try:
            self._file.close()
            sync(self._part)
            put_in_place(self._part, self._path)
        except FileExistsError:
            raise _there(self._path) from None
        except OSError as error:
            raise _unwritable(self._path, error) from None
        return size

    def abandon(self) -> None:
        """Remove what is left of a file that did not appear."""
        with suppress(OSError):  # it writes what it still holds, for which there may be no room
            self._file.close()
        with suppress(FileNotFoundError):
            os.unlink(self._part)


class BundleReader:
    """Reads a file. `Corrupted` if it is not complete and intact."""

    def __init__(self, path: str, codec: Codec | None) -> None:
        self.path = path
        self._codec = codec
        try:
            self._file = open(path, "rb")  # noqa: SIM115
        except FileNotFoundError:
            raise NotFound(f"there is no file {path}") from None
        except OSError as error:
            raise BadSetup(f"{path} can't be read: {error.strerror or error}") from None
        try:
            self._id = self._begin()
            self._check()
        except BaseException:
            self.close()
            raise

    def _begin(self) -> str:
        line = self._file.readline(_LINE)
        name, _, rest = line.rpartition(b" ")
        if not line.startswith(_NAME + b" ") or line[-1:] != b"\n":
            raise BadSetup(f"{self.path} is not a bundle: `batonpass export` writes them")
        if name != b"%s %d" % (_NAME, _VERSION):
            raise BadSetup(f"{self.path} is a bundle of another Batonpass: import it with the version that wrote it")
        return rest[:-1].decode("ascii", "replace")

    def _check(self) -> None:
        left = os.fstat(self._file.fileno()).st_size - _DIGEST
        self._file.seek(0)
        hashed = sha256()
        while left > 0:
            data = self._file.read(min(left, _CHUNK))
            hashed.update(data)
            left -= len(data) or left
        if self._file.read() != hashed.digest():
            raise Corrupted(f"{self.path} is cut short or damaged: nothing was imported. Copy or export it again")

    def records(self, kind: str = "") -> Iterator[list[Any]]:
        """The records' values, of one kind or each behind its kind."""
        self._file.seek(0)
        self._file.readline(_LINE)
        number = 0
        while length := int.from_bytes(self._file.read(_LENGTH), "big"):
            found = self._open(self._file.read(length), number)
            number += 1
            if found[0] == END:
                return
            if not kind or found[0] == kind:
                yield found[1:] if kind else found
        raise Corrupted(f"{self.path} has no end: nothing was imported")

    @understood("record {2} of {0.path}")
    def _open(self, data: bytes, number: int) -> list[Any]:
        about = _about(self._id, number)
        if self._codec is not None:
            data = self._codec.unwrap(data, about)
        check_open(data, f"{self.path}")
        if data[:1] != FORMAT:
            raise Corrupted(f"record {number} of {self.path} is in an unknown format")
        kind, *values = unpack(data[1:])
        return [kind, *values]

    def close(self) -> None:
        self._file.close()


def _about(bundle: str, number: int) -> str:
    return f"record {number} of bundle {bundle}"


def _unwritable(path: str, error: OSError) -> BadSetup:
    return BadSetup(f"{path} can't be written: {error.strerror or error}")


def _there(path: str) -> BadSetup:
    return BadSetup(f"{path} already exists, and is never overwritten: choose another name")
