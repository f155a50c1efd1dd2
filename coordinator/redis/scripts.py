"""The Lua scripts: a file for each operation, put together with the libraries that it names."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import copy
from functools import cache
from hashlib import sha1
from pathlib import Path

from ...contracts.lean import dataclass

_FOLDER = Path(__file__).with_name("lua")
_USES = re.compile(r"^--@ uses (.+)$", re.MULTILINE)
# A definition in a library: a function, or a constant in one line. (`function` alone fills an earlier declaration.)
_DEFINITION = re.compile(r"^local function (\w+)\(.*?^end\n|^local (\w+) = [^\n]*\n", re.MULTILINE | re.DOTALL)
# The scripts that run even while the namespace is being moved. All others ask lib/moved.lua first.
UNASKED = frozenset(f"store/{name}" for name in ("fill", "mark", "ready", "rights", "ring", "witness", "workers"))
_WORD, _CALL, _FILLED = re.compile(r"\w+"), re.compile(r"\b(\w+)\("), re.compile(r"^(?=.)", re.MULTILINE)
_COMMENT = re.compile(r"^ *--[^\n]*\n", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """A script as sent to the server, and the digest by which EVALSHA calls it."""

    name: str
    source: str
    sha: str


@cache
def script(name: str) -> Script:
    """The script of an operation, behind those parts of its libraries that it needs (each function costs a script time,
    even if it is not called). `save+put` is `save` with the libraries of `put`, too."""
    operation, _, more = name.partition("+")
    body = _read(operation)
    asked = [] if operation in UNASKED else ["moved"]
    libraries = dict.fromkeys(["base", *asked, *_used(body), *(_used(_read(more)) if more else ())])
    source = _nested(_needed(libraries, body), body) + body
    return Script(name, source, sha1(source.encode(), usedforsecurity=False).hexdigest())


@dataclass(eq=False)
class _Piece:
    """A definition of a library, with its name, or code between definitions (name '')."""

    name: str
    text: str
    is_function: bool = False

    def __post_init__(self) -> None:
        self.words = frozenset(_WORD.findall(self.text))
        self.calls = frozenset(_CALL.findall(self.text))

    def take_in(self, other: _Piece) -> None:
        head, rest = self.text.split("\n", 1)
        self.text = f"{head}\n{_FILLED.sub('  ', other.text)}{rest}"
        self.words |= other.words


def _needed(libraries: Iterable[str], body: str) -> list[_Piece]:
    """Copies of the libraries' definitions that a script needs. A definition can only use earlier ones."""
    words, calls, kept = {*_WORD.findall(body)}, {*_CALL.findall(body)}, list[_Piece]()
    for piece in reversed([piece for library in libraries for piece in _library(library)]):
        if not piece.name or piece.name in (calls if piece.is_function else words):
            words |= piece.words
            calls |= piece.calls
            kept.append(copy(piece))
    return kept[::-1]


def _nested(pieces: list[_Piece], body: str) -> str:
    """The same definitions, but a function that only one other function uses is moved into that, where it is only made
    when needed. (Not into the operation's own functions, which may run for each of many things.)"""
    used = set(_WORD.findall(body))
    for_many = {word for piece in _pieces(body) if piece.is_function for word in piece.words}
    for piece in reversed(pieces):
        if piece.name in for_many:
            for_many |= piece.words
    moved = True
    while moved:
        moved = False
        for piece in [each for each in pieces if each.name and each.name not in used]:
            user, *others = [each for each in pieces if piece.name in each.words and each is not piece]
            if user.is_function and not others and user.name not in for_many:
                user.take_in(piece)
                pieces.remove(piece)
                moved = True
    return "".join(piece.text for piece in pieces)


@cache
def _library(name: str) -> list[_Piece]:
    return _pieces(_COMMENT.sub("", _read(f"lib/{name}") + "\n"))


def _pieces(code: str) -> list[_Piece]:
    pieces, at = list[_Piece](), 0
    for found in _DEFINITION.finditer(code):
        pieces += [_Piece("", code[at : found.start()]), _Piece(found[1] or found[2], found[0], bool(found[1]))]
        at = found.end()
    return [each for each in (*pieces, _Piece("", code[at:])) if each.text]


def _used(body: str) -> list[str]:
    uses = _USES.search(body)
    return uses.group(1).split() if uses else []


def names() -> list[str]:
    """The names of all operations' scripts."""
    return sorted(path.stem for path in _FOLDER.glob("*.lua"))


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text(encoding="utf-8")
