"""Fixtures of the kill tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .harness import Zygote

APPS = ["function", "langgraph", "crewai", "autogen"]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """The warm parent of workers."""
    warm = Zygote([f"tests.apps.{kind}_app" for kind in APPS], Path(__file__).parents[2])
    yield warm
    warm.close()
