"""Graphs made by chance, and what users do with them: our saver tells what LangGraph's own does. A few; `make storm`
plays hundreds on each store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from batonpass.adapters.langgraph import BatonpassSaver

from .chance import Point
from .plays import Play

pytestmark = pytest.mark.capability("langgraph")


@pytest.fixture
def allowing(url: str) -> Iterator[BatonpassSaver]:
    """A saver that restores the graphs' own type."""
    with BatonpassSaver.from_url(url, allow=[Point]) as made:
        yield made


@pytest.mark.parametrize("seed", range(3, 9))
def test_both_tell_the_same(seed: int, allowing: BatonpassSaver, thread: str) -> None:
    assert Play(seed, allowing, thread).on() is None
