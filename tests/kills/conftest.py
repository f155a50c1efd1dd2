"""Fixtures of the kill tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .harness import Zygote


@pytest.fixture(scope="session")
def zygotes() -> Iterator[dict[str, Zygote]]:
    """The warm parents of workers, by framework: to fork one that has imported all of them costs twice as much."""
    warm: dict[str, Zygote] = {}
    yield warm
    for each in warm.values():
        each.close()


@pytest.fixture
def zygote(kind: str, zygotes: dict[str, Zygote]) -> Zygote:
    """The parent for the framework that the test is about."""
    if kind not in zygotes:
        zygotes[kind] = Zygote([f"tests.apps.{kind}_app"], Path(__file__).parents[2])
    return zygotes[kind]
