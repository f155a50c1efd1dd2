"""Fixtures of the kill tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from .harness import Zygote

APPS = ["function", "langgraph", "crewai", "autogen"]


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    """The warm parent of workers."""
    warm = Zygote([f"tests.apps.{kind}_app" for kind in APPS], Path(__file__).parents[2])
    yield warm
    warm.close()


@pytest.fixture
def new_url(tmp_path: Path, redis_server: str) -> Callable[[str], str]:
    """Makes the URL of a new, empty store."""

    def make(store: str) -> str:
        if store == "sqlite":
            return f"sqlite:///{tmp_path / uuid4().hex}.db"
        return f"{redis_server}?namespace={uuid4().hex}"

    return make
