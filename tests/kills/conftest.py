"""Fixtures of the kill tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .harness import Zygote
from .matrix import warm


@pytest.fixture(scope="session")
def zygotes() -> Iterator[dict[str, Zygote]]:
    """The warm parents of workers, by kind."""
    parents: dict[str, Zygote] = {}
    yield parents
    for each in parents.values():
        each.close()


@pytest.fixture
def zygote(kind: str, zygotes: dict[str, Zygote]) -> Zygote:
    """The parent for the framework that the test is about."""
    if kind not in zygotes:
        zygotes[kind] = warm(kind)
    return zygotes[kind]
