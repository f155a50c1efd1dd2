"""JournalKeys: the journal's keys that an adapter writes to. A key is used again when what it holds is over."""

from __future__ import annotations

_PREFIX = "langgraph/"


class JournalKeys:
    """Gives each name a key of the journal, so that the journal grows with what is needed at once, not with time."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, ...], int] = {}
        self._free: list[int] = []
        self._next = 0

    @staticmethod
    def owns(key: str) -> bool:
        """Whether a key of the journal is one of these."""
        return key.startswith(_PREFIX)

    def found(self, key: str, name: tuple[str, ...] | None) -> None:
        """Note a key that is in the journal, and its name (None: what it holds is over)."""
        number = int(key.removeprefix(_PREFIX))
        self._next = max(self._next, number + 1)
        if name is None:
            self._free.append(number)
        else:
            self._taken[name] = number

    def has(self, name: tuple[str, ...]) -> bool:
        """Whether the journal has something of that name."""
        return name in self._taken

    def key(self, name: tuple[str, ...]) -> str:
        """The key of a name: its own, else a free one."""
        if name not in self._taken:
            if not self._free:
                self._free.append(self._next)
                self._next += 1
            self._taken[name] = self._free.pop()
        return f"{_PREFIX}{self._taken[name]}"

    def drop(self, name: tuple[str, ...]) -> None:
        """What the name's key holds is over."""
        number = self._taken.pop(name, None)
        if number is not None:
            self._free.append(number)
