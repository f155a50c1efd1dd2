"""Channels: where a namespace's news are published, and the pattern by which those of all its subjects are heard."""

from __future__ import annotations

from urllib.parse import quote

from .place import prefix_of

# A server takes a pattern from a user of limited rights only if it is, letter by letter, one of those in the ACL:
# that of the shipped files, or the one for users who are held to a namespace.
_SHIPPED = "bp:*"


class Channels:
    """Those of a namespace. Shared by all who listen in it, so that the right pattern is found once."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        # How all of them begin.
        self._start = f"bp:{{{quote(namespace, safe='')}:"
        self._own = f"{self._start}*"
        # Its own first: the shipped one also brings the news of all other namespaces.
        self._pattern = self._own

    def of(self, subject: str | None, partition: int) -> str:
        """The channel of a subject; without one, the name here for those of all subjects."""
        return f"{prefix_of(self._namespace, partition)}live:{subject}" if subject else self._own

    def asked(self, channel: str) -> tuple[str, str]:
        """How a server is asked for a channel: the command (without "SUBSCRIBE" or "UNSUBSCRIBE"), and its argument."""
        return ("P", self._pattern) if channel == self._own else ("", channel)

    def refused(self, asked: str) -> None:
        """The user may not subscribe to what was asked. Ask for the other pattern next: rights can change, too."""
        if asked in (self._own, _SHIPPED):
            self._pattern = _SHIPPED if asked == self._own else self._own

    def heard(self, published: str, *, by_pattern: bool) -> str | None:
        """The channel, as `of` names it, of something published. None if it belongs to another namespace."""
        if not by_pattern:
            return published
        return self._own if published.startswith(self._start) else None
