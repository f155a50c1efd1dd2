"""The book of agents, which several threads may look into."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import suppress
from types import FrameType
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import book as book_module
from batonpass.coordinator.book import Book, close_declaration

app = bp.App("book")


@app.agent("a", accepts=bp.State, returns=bp.State)
async def agent(state: bp.State) -> bp.State:
    return state


def looked_up(book: Book, recorded: dict[str, bytes]) -> Any:
    asked: Generator[Any, Any, Any] = book.declaration("a")
    try:
        next(asked)
        asked.send(recorded)
    except StopIteration as end:
        return end.value
    raise AssertionError("it asks once")


def test_what_another_thread_reads_meanwhile_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a KeyError if that came between two lines: here, another thread reads the record anew before each."""
    monkeypatch.setattr(book_module, "_FRESH", -1.0)
    book, code = Book(None), Book.declaration.__code__
    recorded = {"a": close_declaration(app["a"], app)}

    def traced(frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code is code and event == "line":
            sys.settrace(None)
            with suppress(bp.UnknownAgent):
                looked_up(book, {})
            sys.settrace(traced)
        return traced if frame.f_code is code else None

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        found = looked_up(book, recorded)
    finally:
        sys.settrace(before)
    assert found.kind == "function"
