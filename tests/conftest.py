"""What all tests share: the stores they run on, and quiet frameworks."""

from __future__ import annotations

import gc
import logging
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import redis

from tests import capabilities
from tests.harness.clients import ask_once
from tests.harness.cluster import Cluster, some_cluster
from tests.harness.files import new_file
from tests.harness.namespaces import namespaces
from tests.harness.redis import RedisServer, cluster_binary, one_node_cluster, some_server, valkey_binary
from tests.harness.signals import keep_from_children
from tests.harness.variants import some

if TYPE_CHECKING:
    from tests.apps.crewai_kit import Crews

for _name, _value in {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "LANGSMITH_TRACING": "false",
    "PYDANTIC_DISABLE_PLUGINS": "__all__",  # there are none: each process would look for 35 ms, and there are hundreds
    "PYTHONWARNINGS": "ignore:Core Pydantic V1 functionality",  # LangChain, on Python 3.14
}.items():
    os.environ.setdefault(_name, _value)
keep_from_children()
ask_once()
gc.disable()  # until all is imported: it would look at what the frameworks make again and again


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--all-variants", action="store_true", help="no samples of stores and sides: see harness/variants.py"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(capabilities)
    config.addinivalue_line("markers", "each_store: runs on every store, not on a sample (tests/harness/variants.py)")


def pytest_collection_finish() -> None:
    """The frameworks that the tests import make half a million objects, which no garbage collection has to look at."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give a test with processes of its own the store that it runs on."""
    if "store_url" in metafunc.fixturenames:
        metafunc.parametrize("store_url", some(metafunc, ["sqlite", "redis"]), indirect=True)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Async tests run on asyncio, as Batonpass does."""
    return "asyncio"


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of the session's Redis. Tests keep out of each other's way by namespace."""
    with some_server(tmp_path_factory.mktemp("redis")) as url:
        yield url


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Redis that refuses scripts which leave their slot."""
    binary = cluster_binary()
    assert binary is not None, "no redis-server >= 7.0 at hand"
    with one_node_cluster(tmp_path_factory.mktemp("cluster"), binary) as url:
        yield url


@pytest.fixture(scope="session")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The session's cluster of three nodes. Tests keep out of each other's way by namespace."""
    with some_cluster(tmp_path_factory.mktemp("nodes")) as cluster:
        yield cluster


@pytest.fixture
def own_redis(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis (by parametrization: a Valkey) of the test's own, to be killed, filled and misconfigured."""
    binary = valkey_binary() if getattr(request, "param", "redis") == "valkey" else None
    folder = tmp_path / "redis"
    folder.mkdir()
    # `everysec` holds writes back in memory while it syncs: on a busy disk for seconds, and a kill loses them.
    server = RedisServer(folder, "--appendfsync", "always", binary=binary)
    server.start()
    yield server
    server.close()


@pytest.fixture
def redis_place(redis_server: str) -> Iterator[Callable[[], str]]:
    """Makes store URLs on Redis."""
    with redis.Redis.from_url(redis_server) as client, namespaces(redis_server, client) as place:
        yield place


@pytest.fixture
def cluster_place(three_nodes: Cluster) -> Iterator[Callable[[], str]]:
    """Makes store URLs on the cluster."""
    with namespaces(three_nodes.url, three_nodes.plain) as place:
        yield place


@pytest.fixture
def redis_url(redis_place: Callable[[], str]) -> str:
    """A store URL on Redis with a namespace of its own."""
    return redis_place()


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """A store URL of a new SQLite file."""
    capabilities.note("sqlite")
    return f"sqlite:///{new_file(tmp_path / 'store.db')}"


@pytest.fixture
def store_url(request: pytest.FixtureRequest) -> str:
    """A store URL, on SQLite or on Redis: for tests with processes of their own."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    return url


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the apps of the tests note what they really ran."""
    path = tmp_path / "evidence.log"
    path.touch()
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(path))
    return path


@pytest.fixture
def crews() -> Crews:
    """Scripted crews and flows."""
    from tests.apps.crewai_kit import Crews  # CrewAI takes seconds to import

    return Crews()


@pytest.fixture
def new_url(tmp_path: Path, redis_place: Callable[[], str]) -> Callable[[str], str]:
    """Makes the URL of a new, empty store."""

    def make(store: str) -> str:
        if store == "sqlite":
            return f"sqlite:///{new_file(tmp_path / f'{secrets.token_hex(8)}.db')}"
        return redis_place()

    return make


@pytest.fixture
def complaints(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """What asyncio has reported, as of tasks that were not done when their loop ended."""

    def told() -> list[str]:
        gc.collect()
        return [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]

    return told


@pytest.fixture
def seen() -> dict[str, Any]:
    """What each model of the desk of three frameworks was told, by framework."""
    from tests.apps.switch_desk import SEEN

    SEEN.clear()
    return SEEN
