"""Every test of the saver runs in memory and on one of the stores. The conformance tests compare the stores."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from batonpass.adapters.langgraph import BatonpassSaver
from tests.harness.stores import Harness, MemoryHarness, RedisHarness, SqliteHarness
from tests.harness.variants import some


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test the stores that it runs on."""
    if "url" in metafunc.fixturenames:
        metafunc.parametrize("url", ["memory", *some(metafunc, ["sqlite", "redis"])], indirect=True)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    """A store URL with a namespace of its own."""
    if request.param == "memory":
        return "memory://"
    found: str = request.getfixturevalue(f"{request.param}_url")
    return found


@pytest.fixture
def saver(url: str) -> Iterator[BatonpassSaver]:
    """A saver on a store of its own."""
    with BatonpassSaver.from_url(url) as made:
        yield made


@pytest.fixture
def shared_url(store_url: str) -> str:
    """A store URL that several processes can use."""
    return store_url


@pytest.fixture
def thread() -> str:
    """A thread's name that no other test has."""
    return f"thread-{secrets.token_hex(6)}"


@pytest.fixture(params=["memory", "sqlite", "redis"])
def harness(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Harness]:
    """A store whose clock the test moves."""
    if request.param == "redis":
        made = RedisHarness(request.getfixturevalue("redis_server"))
        yield made
        made.close()
    else:
        yield MemoryHarness() if request.param == "memory" else SqliteHarness(tmp_path / "store.db")
