"""The Lua scripts: one file per operation, each put together with the libraries that it names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from hashlib import sha1
from pathlib import Path

_FOLDER = Path(__file__).with_name("lua")
_USES = re.compile(r"^--@ uses (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Script:
    """A script as the server gets it, and the name by which EVALSHA calls it."""

    name: str
    source: str
    sha: str


@cache
def script(name: str) -> Script:
    """The script of an operation, with its libraries in front. `save+put` is `save` with those that `put` needs, too:
    each function costs a script some time, used or not."""
    operation, _, more = name.partition("+")
    body = _read(operation)
    libraries = dict.fromkeys(["base", *_used(body), *(_used(_read(more)) if more else ())])
    source = "\n".join([*(_read(f"lib/{library}") for library in libraries), body])
    return Script(name, source, sha1(source.encode(), usedforsecurity=False).hexdigest())


def _used(body: str) -> list[str]:
    uses = _USES.search(body)
    return uses.group(1).split() if uses else []


def names() -> list[str]:
    """All operations that have a script."""
    return sorted(path.stem for path in _FOLDER.glob("*.lua"))


def _read(name: str) -> str:
    return (_FOLDER / f"{name}.lua").read_text(encoding="utf-8")
