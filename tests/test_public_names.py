"""`import batonpass` shows its public names, each of them can be used, and nothing else is shown."""

from __future__ import annotations

import batonpass as bp


def test_all_names_are_there() -> None:
    assert [name for name in bp.__all__ if not hasattr(bp, name)] == []


def test_nothing_else_is_shown() -> None:
    shown = [name for name in dir(bp) if not name.startswith("__")]
    assert sorted(shown) == sorted(bp.__all__)
