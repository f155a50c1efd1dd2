"""Rights: which of the commands in our scripts the user of a store may not call. A server carries out what comes before
a call that it refuses, so such a script would leave half of what it does."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from ..refusals import Denied
from .failures import first_line, in_script, lacks
from .scripts import Script

_FILES = Path(__file__).with_name("acl")
_CALL = re.compile(r"\bredis\.call\('(\w+)'")


class Lacking(Denied):
    """The script was not sent. What the user lacks may have been granted since this was asked."""


class Rights:
    """What a user lacks, once the store is open. Shared with the store's siblings."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lacking: dict[str, frozenset[str]] = {}
        self._outdated: set[str] = set()

    def learn(self, prefix: str, reply: Any) -> None:
        """Note the commands that the user may not call on the node with these keys: the reply to `store/rights`, which
        a user may not be allowed to run, either."""
        self._outdated.discard(prefix)
        if not isinstance(reply, Exception):
            self._lacking[prefix] = frozenset(command.decode() for command in reply[1:])

    def refused(self, prefix: str, error: Exception) -> None:
        """A script may have been refused in its middle: what it lacks was taken away, perhaps on all nodes. So no
        other is sent to any before this is asked again there."""
        if in_script(first_line(error)):
            self._outdated.update(self._lacking, [prefix])

    def checked(self, scripts: Callable[[str], Script], prefix: str) -> Callable[[str], Script]:
        """`scripts`, but for those that would only be carried out in part on these keys: `Lacking`."""

        def find(name: str) -> Script:
            found = scripts(name)
            # What only looks at the store goes along with other commands.
            if prefix in self._outdated and name != "store/witness" and _calls(found.source) & _writing():
                raise Lacking(f"{self._url}: the user's rights have changed")
            if lacking := self._lacking.get(prefix):
                self._check(found, lacking)
            return found

        return find

    def _check(self, script: Script, lacking: frozenset[str]) -> None:
        calls = _calls(script.source)
        denied = calls & lacking
        # Who may write nothing at all is refused at the first call that writes, or never comes to one.
        if denied and calls & _writing() - denied:
            raise Lacking(lacks(self._url, f"{', '.join(sorted(denied))}: nothing was written"))


@cache
def commands() -> tuple[str, ...]:
    """The commands that anybody needs in scripts, and some more."""
    return tuple(sorted(word for word in _allowed("worker") if not word.endswith("subscribe")))


@cache
def _writing() -> frozenset[str]:
    return _allowed("worker") - _allowed("reader")


def _allowed(role: str) -> frozenset[str]:
    words = (_FILES / f"{role}.acl").read_text(encoding="utf-8").split()
    return frozenset(word[1:] for word in words if word[0] == "+" and "|" not in word)


@cache
def _calls(source: str) -> frozenset[str]:
    return frozenset(command.lower() for command in _CALL.findall(source))
