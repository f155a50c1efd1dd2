"""Place: where a Redis store is, read from its URL, and the clients that connect to it."""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

import redis
import redis.asyncio
from redis.backoff import ExponentialWithJitterBackoff
from redis.exceptions import ConnectionError, InvalidResponse, ResponseError, TimeoutError

from ...contracts.errors import BadSetup
from ...contracts.lean import dataclass
from ...contracts.version import __version__
from ..urls import unusable
from .patience import ANSWER_WITHIN, AsyncRepeats, Repeats, patience, silent_once
from .private import cut_off, pooled
from .renewing import renewing
from .sentinels import AsyncSentinels, Sentinels

# The client library is typed in part only.
_Sync: Any = redis.Redis
_Async: Any = redis.asyncio.Redis
_SyncSentinel: Any = Sentinels
_AsyncSentinel: Any = AsyncSentinels

# What can go wrong at a server, or whatever is at its address. Any other error is a mistake of ours.
TROUBLE = (ConnectionError, TimeoutError, ResponseError, InvalidResponse, OSError)


def _truth(text: str) -> bool:
    return text.lower() not in ("0", "false", "no")


# The client library's options that a URL may have, and how to read them.
_OPTIONS: dict[str, Callable[[str], Any]] = {
    "client_name": str,
    "db": int,
    "health_check_interval": int,
    "max_connections": int,
    "socket_connect_timeout": float,
    "socket_timeout": float,
    "ssl_ca_certs": str,
    "ssl_cert_reqs": str,
    "ssl_certfile": str,
    "ssl_check_hostname": _truth,
    "ssl_keyfile": str,
    "ssl_password": str,
}
_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_OF_SENTINEL = ("sentinel_username", "sentinel_password")
# What else a URL may have.
_OTHERS = ("events", "namespace", "replicas", *_OF_SENTINEL, "partitions (in a cluster)")
# After so many seconds of silence the kernel probes a connection. That keeps firewalls from forgetting it, and closes
# it if nobody answers. (The client library would send PING, which a server with a full disk answers with an error.)
_SILENT = 30
# The longest wait for work or news, in seconds: a little more than `_LOOK` in claiming.py. The answer may then take as
# long as any other. Jobs have to wait meanwhile if a firewall has forgotten the connection.
_LONGEST_WAIT = 5.0


def _named() -> dict[str, Any]:
    """How our connections are shown by a server. (The client library would look its own version up for each client.)"""
    try:
        from redis.driver_info import DriverInfo
    except ImportError:  # before 7.4
        return {"lib_name": "batonpass", "lib_version": __version__}
    return {"driver_info": DriverInfo("batonpass", __version__)}


NAMED = _named()
_DEFAULTS = {"max_connections": 10_000, "socket_connect_timeout": ANSWER_WITHIN, "socket_timeout": ANSWER_WITHIN}
# After about 1.5 s a server that refuses connections is given up. With Sentinels it is 5 s, because a failover takes
# some. For how long a silent server is asked is in patience.py.
_REPEATS, _REPEATS_BY_SENTINEL = 4, 10
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 1.0


def _keepalive() -> dict[int, int]:
    """What the kernel does: three probes, 10 s apart, and an end to a connection whose data nobody acknowledges."""
    wanted = {"TCP_KEEPIDLE": _SILENT, "TCP_KEEPALIVE": _SILENT, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
    wanted["TCP_USER_TIMEOUT"] = 60_000
    return {getattr(socket, name): value for name, value in wanted.items() if hasattr(socket, name)}


def _backoff() -> ExponentialWithJitterBackoff:
    return ExponentialWithJitterBackoff(base=_FIRST_PAUSE, cap=_LONGEST_PAUSE)


@dataclass(frozen=True)
class Place:
    """A Redis server, or the master of a service that Sentinels watch."""

    scheme: str
    hosts: tuple[tuple[str, int], ...]
    service: str = ""
    db: int = 0
    replicas: int = 0
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    sentinel_options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def url(self) -> str:
        """The URL to show: without secrets and options."""
        hosts = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in self.hosts)
        if not self.service:
            return f"{self.scheme}://{hosts}/{self.db}"
        return f"{self.scheme}://{hosts}/{self.service}" + (f"/{self.db}" if self.db else "")

    @cached_property
    def patience(self) -> float:
        """For how many seconds after its first attempt a command may be repeated."""
        return patience(float(self.options.get("socket_timeout", ANSWER_WITHIN)))

    def client(self, *, waits: bool = False) -> Any:
        """A client for sync code. One that `waits` may be silent for long, and does not repeat what failed."""
        return self._client(_Sync, _SyncSentinel, Repeats, waits)

    def aclient(self, *, waits: bool = False) -> Any:
        """`client` for async code."""
        client = self._client(_Async, _AsyncSentinel, AsyncRepeats, waits)
        for each in connected_by(client):
            each.connection_pool.connection_class = renewing(each.connection_pool.connection_class)
        return client

    def opening(self) -> AbstractContextManager[None]:
        """A block in which a silent server is not asked again, so that a mistaken address is reported within seconds.
        (With Sentinels, the next attempt may find another server.)"""
        return nullcontext() if self.service else silent_once()

    def _client(self, plain: Any, sentinel: Any, retry: Any, waits: bool) -> Any:
        options: dict[str, Any] = {**NAMED, **_DEFAULTS, **self.options}
        if waits:
            options["socket_timeout"] += _LONGEST_WAIT
        repeats = 0 if waits else _REPEATS_BY_SENTINEL if self.service else _REPEATS
        # A lost connection is made again to the same server. Only a new one asks the Sentinels who the master is now.
        again = retry(_backoff(), repeats, self.patience, late=not self.service)
        options |= {"db": self.db, "retry": again}
        options |= {"socket_keepalive": True, "socket_keepalive_options": _keepalive()}
        if self.scheme.startswith("rediss"):
            options["ssl"] = True
        try:
            if not self.service:
                [(host, port)] = self.hosts
                return plain(host=host, port=port, **options)
            once = retry(_backoff(), 0, 0.0, late=False)
            asked = {
                **NAMED,
                **self.sentinel_options,
                "retry": once,
                "socket_timeout": 1.0,
                "socket_connect_timeout": 1.0,
            }
            if "ssl" in options:
                asked |= {name: value for name, value in options.items() if name.startswith("ssl")}
            return sentinel(list(self.hosts), sentinel_kwargs=asked, **options).master_for(self.service)
        except (TypeError, ValueError) as error:
            raise BadSetup(f"{self.url} can't be used: {error}") from None


def prefix_of(namespace: str, partition: int | str) -> str:
    """How every key of a partition begins."""
    return f"bp:{{{quote(namespace, safe='')}:{partition}}}:"


def connected_by(client: Any) -> list[Any]:
    """The clients to close with a client: itself, and those that ask the Sentinels for it."""
    manager = getattr(client.connection_pool, "sentinel_manager", None)
    return [client, *(manager.sentinels if manager else [])]


async def end_at_once(client: Any) -> None:
    """Close a client for async code. Waits for no server."""
    cut_off(pooled(client.connection_pool))
    await client.aclose()


def read_place(url: str) -> Place:
    """The place that a URL names; `BadSetup` says what is wrong with it."""
    try:
        return _read(urlsplit(url))
    except ValueError as error:
        raise unusable(url, error) from None


def _read(parts: SplitResult) -> Place:
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    replicas = _number(options.pop("replicas", "0"), "replicas")
    of_sentinel = {name.removeprefix("sentinel_"): options.pop(name) for name in _OF_SENTINEL if name in options}
    watched = parts.scheme.endswith("+sentinel")
    login, _, hosts = parts.netloc.rpartition("@")
    user, _, password = login.partition(":")
    typed = {name: _option(name, value, parts.scheme) for name, value in options.items()}
    if "ssl_keyfile" in typed and "ssl_certfile" not in typed:
        raise ValueError("it has ssl_keyfile, but no ssl_certfile")
    typed |= {"username": unquote(user)} if user else {}
    typed |= {"password": unquote(password)} if password else {}
    words = [unquote(word) for word in parts.path.split("/") if word]
    service = ""
    if watched:
        if not words:
            raise ValueError("it names no service: write redis+sentinel://host:26379,host2:26379/service")
        service, *words = words
    elif "," in hosts:
        raise ValueError("it names several hosts: only redis+sentinel:// and redis+cluster:// have those")
    if len(words) > 1 or (words and not words[0].isdecimal()):
        raise ValueError(f"{'/'.join(words)!r} is not a database: those are numbers, and 0 if you leave it out")
    database = int(typed.pop("db", words[0] if words else 0))
    found = tuple(_host(host, 26379 if watched else 6379) for host in hosts.split(","))
    return Place(parts.scheme, found, service, database, replicas, typed, of_sentinel)


def _host(text: str, default: int) -> tuple[str, int]:
    parsed = urlsplit(f"//{text}")
    return unquote(parsed.hostname or "localhost"), parsed.port or default


def _number(text: str, name: str) -> int:
    if not text.isdecimal():
        raise ValueError(f"{name}={text} is not a number")
    return int(text)


def _option(name: str, value: str, scheme: str) -> Any:
    read = _OPTIONS.get(name)
    if read is None:
        raise ValueError(f"there is no option {name!r}: it may have {', '.join((*_OPTIONS, *_OTHERS))}")
    if name.startswith("ssl_"):
        if not scheme.startswith("rediss"):
            raise ValueError(f"{name} is for TLS: write rediss:// instead of redis://")
        if name in _FILES and not Path(value).is_file():
            raise ValueError(f"there is no file {value} ({name})")
    return read(value)
