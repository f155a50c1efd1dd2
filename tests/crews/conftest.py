"""Fixtures of the kill tests of CrewAI's constructs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.crews.matrix import MODULES
from tests.kills.harness import Zygote
from tests.rules.test_acknowledged import ROOT


@pytest.fixture(scope="session")
def crewai_zygote() -> Iterator[Zygote]:
    """The warm parent of workers."""
    warm = Zygote(MODULES, ROOT)
    yield warm
    warm.close()


@pytest.fixture
def new_url(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Makes the URL of a new, empty store."""

    def make(store: str) -> str:
        if store == "sqlite":
            return f"sqlite:///{tmp_path / uuid4().hex}.db"
        return f"{request.getfixturevalue('redis_server')}?namespace={uuid4().hex}"

    return make
