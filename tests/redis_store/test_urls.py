"""Redis URLs: what they may say, what is refused, and what is shown of them."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import cast

import pytest

import batonpass as bp
from batonpass.coordinator.redis.place import _OPTIONS, read_place
from batonpass.coordinator.urls import open_store, without_secrets
from tests.harness.redis import RedisServer


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost", "redis://localhost:6379/0"),
        ("redis://localhost/3", "redis://localhost:6379/3"),
        ("redis://localhost:7000?db=4", "redis://localhost:7000/4"),
        ("redis://ann:secret@localhost", "redis://localhost:6379/0"),
        ("redis://[::1]:7000", "redis://[::1]:7000/0"),
        ("rediss://localhost:7000/1", "rediss://localhost:7000/1"),
        ("redis+sentinel://a,b:7000/desk", "redis+sentinel://a:26379,b:7000/desk"),
        ("redis+sentinel://:secret@a:1/desk/2", "redis+sentinel://a:1/desk/2"),
        ("rediss+sentinel://a:1/desk", "rediss+sentinel://a:1/desk"),
    ],
)
def test_a_url_is_shown_without_secrets(url: str, shown: str) -> None:
    assert read_place(url).url == shown
    assert open_store(url, "desk").url == shown


def test_what_a_url_says() -> None:
    place = read_place("redis+sentinel://ann:s%40crt@a,b:7/desk/2?replicas=1&sentinel_password=x&socket_timeout=2.5")
    assert (place.hosts, place.service, place.db, place.replicas) == ((("a", 26379), ("b", 7)), "desk", 2, 1)
    assert place.options == {"username": "ann", "password": "s@crt", "socket_timeout": 2.5}
    assert place.sentinel_options == {"password": "x"}


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis://localhost/abc", "'abc' is not a database: those are numbers"),
        ("redis://localhost/1/2", "'1/2' is not a database"),
        ("redis://localhost:70000", "Port out of range"),
        ("redis://localhost?frob=1", "there is no option 'frob'"),
        ("redis://localhost?namespaces=a", "it may have .*, events, namespace, replicas, .*, partitions"),
        ("redis://localhost?decode_responses=1", "there is no option 'decode_responses'"),
        ("redis://localhost?replicas=many", "replicas=many is not a number"),
        ("redis://localhost?socket_timeout=long", "could not convert string to float"),
        ("redis://localhost?ssl_ca_certs=x", "ssl_ca_certs is for TLS: write rediss://"),
        ("rediss://localhost?ssl_ca_certs=/no/such.pem", "there is no file /no/such.pem"),
        ("redis+sentinel://localhost:26379", "names no service"),
        ("redis+sentinel://localhost:26379/desk/abc", "'abc' is not a database"),
        ("redis://a,b", "names several hosts"),
        ("redis://ann:secret@localhost/abc", r"redis://ann:\*\*\*@localhost/abc"),
        ("redis://ann:secret/x@localhost", r"redis://ann:\*\*\*@localhost' .* @ after its host"),
        ("redis://ann:secret?x@localhost", r"redis://ann:\*\*\*@localhost' .* @ after its host"),
        ("redis://:x@secret/x@localhost", r"redis://:\*\*\*@localhost' .* @ after its host"),
        ("redis+sentinel://a/desk?sentinel_password=x%40secret&frob=1", r"sentinel_password=\*\*\*' .* unknown option"),
        ("rediss://a?ssl_password=secret&db=x", r"ssl_password=\*\*\*&db=x"),
        ("redis://a?frob=secret&db=2", r"frob=\*\*\*&db=2' can't be used: there is no option 'frob'"),
        ("memory://?frob=secret", r"frob=\*\*\*' can't be used: it has an unknown option 'frob': only events"),
        ("redis+cluster://:secret@a?db=1", r"redis\+cluster://:\*\*\*@a\?db=1"),
        ("redis+cluster://:secret/x@a", "@ after its host"),
        ("reddis://ann:secret@localhost", r"reddis://ann:\*\*\*@localhost' can't be used: write sqlite:///"),
        ("redis://ann:secret@[::1", r"redis://ann:\*\*\*@\[::1' can't be used: Invalid IPv6 URL"),
    ],
)
def test_a_url_that_can_not_be_used(url: str, complaint: str) -> None:
    with pytest.raises(bp.BadSetup, match=complaint) as refused:
        bp.connect(url)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


MISTYPED = [
    "redis://app:S3kr1t?x=1@127.0.0.1:6379",
    "redis://app:S3kr1t?a=b&c@127.0.0.1:6379/0",
    "redis://app:a?S3kr1t@h:1",
    "redis://app?w=S3kr1t@h:1",
    "redis://app:p?events=S3kr1t@h:1",
    "redis://app?events=S3kr1t@h:1",
    "redis://app?replicas=S3kr1t@h:1",
    "redis://app:/S3kr1t@h:1",
    "redis://app/S3kr1t@h:1",
    "redis:/app:S3kr1t@127.0.0.1:6379",
    "redis:app:S3kr1t@127.0.0.1:6379",
    "redis//app:S3kr1t@h",
    "redis/app:S3kr1t@h",
    "app:S3kr1t@127.0.0.1:6379",
    "app:S3kr1t127.0.0.1:6379",
    "redis://app:S3kr1t127.0.0.1:6379",
    "redis://app:S3kr1t%40127.0.0.1:6379",
    "redis://app:x/S3kr1t127.0.0.1:6379/0",
    "redis://:1234567S3kr1t:6379",
    "redis://app:a://S3kr1t@h/x",
    "redis:/app:a://S3kr1t@h/x",
    "redis://app:[S3kr1t]x@h/x",
    "redis://app:S3kr1t[x]@h",
    "redis://app:S3kr1t\u2100@h",
    "redis://S3kr1t@h/x",
    "redis://app:b@h:S3kr1t",
    "memory://app:pa?S3kr1t@h",
    "memory://app:pa?x=y&S3kr1t@h",
    "sqlite://app:pa?S3kr1t@h",
    "sqlite:///a.db?credential=S3kr1t",
    "redis://h?password=s3&S3kr1t=1",
    "redis://h?password=s3&x@S3kr1t=1",
    "redis://h?credential=S3kr1t&S3kr1t=1",
    "redis+cluster://h?db=1&password=s3&S3kr1t=1",
    "redis://h?password=S3kr1t&frob=1",
    "redis://h?passwd=S3kr1t",
    "rediss://h?ssl_password=a&S3kr1t&frob=1",
    "redis+sentinel://h/desk/x?sentinel_password=a&S3kr1t",
    "rediss+cluster://app:p?w=S3kr1t@h:1",
    "redis+cluster://app?partitions=S3kr1t@h:1",
    "redis+cluster://a:1,app:S3kr1t:1",
    "sqlite://app:S3kr1t@h",
    "sqlite:///a?x=app:S3kr1t@h",
    "memory://app:S3kr1t@h",
    "http://app:S3kr1t@h",
]


@pytest.mark.parametrize("url", MISTYPED)
def test_a_password_in_a_mistyped_url_is_not_shown(url: str) -> None:
    with pytest.raises(bp.BadSetup) as refused:
        bp.connect(url)
    assert "S3kr1t" not in str(refused.value)


@pytest.mark.parametrize("url", [b"redis://app:S3kr1t@h", Path("redis://app:S3kr1t@h"), {"url": "redis://:S3kr1t@h"}])
def test_a_password_in_what_is_no_text_is_not_shown(url: object) -> None:
    with pytest.raises(bp.BadSetup) as refused:
        bp.connect(cast("str", url))
    assert "S3kr1t" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://localhost", "redis://localhost"),
        ("redis+cluster://a:1,b,[::1]:3?namespace=x", "redis+cluster://a:1,b,[::1]:3?namespace=x"),
        ("redis://ann:secret@localhost:7/3?events=9", "redis://ann:***@localhost:7/3?events=9"),
        ("redis://a?credential=x&db=3&y=z&w", "redis://a?credential=***&db=3&y=***"),
        ("redis://a?password=x&y=z&events=3", "redis://a?password=***&events=3"),
        ("localhost:6379", "localhost:6379"),
        ("sqlite:///C:/data/me@work.db", "sqlite:///C:***@work.db"),
        ("sqlite:////data/me@work.db", "sqlite:////data/me@work.db"),
        ("mysql://localhost:port/x", "mysql://localhost:***"),
    ],
)
def test_what_is_shown_of_a_url(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


def test_what_a_refusal_of_a_mistyped_url_advises() -> None:
    with pytest.raises(bp.BadSetup, match=r"'redis://app:\*\*\*@h' can't be used: it can't be read, .* \? as %3F"):
        bp.connect("redis://app:a?b=c@h")


def test_all_options_are_shown_but_secrets() -> None:
    options = "&".join(f"{name}=1" for name in (*_OPTIONS, "events", "namespace", "replicas", "partitions"))
    assert without_secrets(f"redis://a?{options}") == f"redis://a?{options}".replace("password=1", "password=***")


@contextmanager
def stranger(says: bytes) -> Generator[tuple[int, list[socket.socket]]]:
    """A server that is not a Redis: its port, and the connections to it."""
    callers: list[socket.socket] = []

    def answer() -> None:
        with suppress(OSError):  # closed
            while True:
                caller, _ = listening.accept()
                callers.append(caller)
                caller.sendall(says)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=answer)
        thread.start()
        try:
            yield listening.getsockname()[1], callers
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()
            for caller in callers:
                caller.close()


@pytest.mark.parametrize("scheme", ["redis", "rediss"])
def test_a_server_that_is_silent_is_not_asked_again(scheme: str) -> None:
    """Five times ten seconds would be long for a wrong port."""
    with stranger(b"") as (port, callers):
        with pytest.raises(bp.Unreachable, match=f"no Redis at {scheme}://127.0.0.1:{port}/0: Timeout "):
            bp.connect(f"{scheme}://127.0.0.1:{port}?socket_timeout=0.2").open()
        assert len(callers) == 1


def test_another_server_is_not_taken_for_a_redis() -> None:
    with (
        stranger(b"HTTP/1.1 400 Bad Request\r\n\r\n") as (port, _),
        pytest.raises(bp.Unreachable, match=r"the server at .* is not Redis: "),
    ):
        bp.connect(f"redis://127.0.0.1:{port}").open()


def test_silent_connections_are_asked_whether_they_live(own_redis: RedisServer) -> None:
    """By the kernel, so that a firewall does not forget them: half a minute is less than any firewall's patience."""
    for url in (own_redis.url, f"{own_redis.url}?socket_timeout=1"):
        client = read_place(url).client(waits=True)
        client.ping()
        connection = client.connection_pool.get_connection()
        read = connection._sock.getsockopt
        assert read(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
        [idle] = [getattr(socket, name) for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE") if hasattr(socket, name)]
        assert read(socket.IPPROTO_TCP, idle) <= 30
        client.connection_pool.release(connection)
        client.close()
