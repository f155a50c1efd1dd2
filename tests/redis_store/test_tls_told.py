"""What is told of certificates that don't do: where, what is wrong, and what to give instead."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from tests.capabilities import note
from tests.harness.redis import tls_binary
from tests.harness.tls import TlsSentinel, TlsServer
from tests.harness.waiting import wait_until

pytestmark = [
    pytest.mark.capability("redis-tls"),
    pytest.mark.skipif(tls_binary() is None, reason="no redis-server with TLS at hand"),
]
# The options of a URL, and what is told. C, K, A: the certificate, key and authority that are right; c, k, a: another
# authority's; x: a file that holds none.
CASES = {
    "A": "ssl_certfile=FILE",  # the words before depend on how fast the server hangs up
    "Ack": "ssl_certfile",
    "aCK": r"has a certificate that can't be verified \(\?ssl_ca_certs=FILE\)",
    "AC": "the client's certificate or its key can't be read as PEM: give ssl_certfile=FILE, and ssl_keyfile=FILE",
    "ACx": "the client's certificate or its key can't be read as PEM",
    "ACk": "ssl_keyfile is not the key of ssl_certfile",
    "xCK": "ssl_ca_certs has no certificate in PEM form",
    "AK": "it has ssl_keyfile, but no ssl_certfile",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tls")


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[TlsServer]:
    made = TlsServer(folder, certified=True)
    made.start()
    note("redis-tls")
    yield made
    made.close()


@pytest.fixture(scope="module")
def urls(server: TlsServer, folder: Path) -> Iterator[dict[str, str]]:
    """The server's URL, and that of a Sentinel."""
    (folder / "sentinel").mkdir()
    sentinel = TlsSentinel(folder / "sentinel", server)
    sentinel.start()
    yield {"server": server.plain_url, "sentinel": sentinel.service_url}
    sentinel.close()


@pytest.fixture(scope="module")
def files(server: TlsServer, folder: Path) -> dict[str, Path]:
    other, right = trustme.CA(), server.certificates
    issued = other.issue_cert("localhost")
    wrong = {letter: folder / letter for letter in "acx"} | {"k": folder / "other.key"}
    other.cert_pem.write_to_path(wrong["a"])
    issued.cert_chain_pems[0].write_to_path(wrong["c"])
    issued.private_key_pem.write_to_path(wrong["k"])
    wrong["x"].write_text("nothing")
    return {"A": right.authority, "C": right.certificate, "K": right.key, **wrong}


def _query(case: str, files: dict[str, Path]) -> str:
    names = ["ssl_ca_certs", "ssl_keyfile" if case == "AK" else "ssl_certfile", "ssl_keyfile"]
    return "&".join(f"{name}={files[letter]}" for name, letter in zip(names, case, strict=False))


@pytest.mark.parametrize(
    ("case", "kind"),
    [*((case, "server") for case in CASES), ("A", "sentinel"), ("aCK", "sentinel"), ("AK", "sentinel")],
)
def test_opening(urls: dict[str, str], files: dict[str, Path], case: str, kind: str) -> None:
    url = f"{urls[kind]}?{_query(case, files)}"
    with pytest.raises(bp.BatonpassError, match=CASES[case]) as refused:
        bp.connect(url).open()
    assert urls[kind] in str(refused.value)


@pytest.mark.parametrize("kind", ["server", "sentinel"])
def test_async_code_is_told_the_same(urls: dict[str, str], files: dict[str, Path], kind: str) -> None:
    async def ask() -> None:
        store = RedisStore(f"{urls[kind]}?{_query('aCK', files)}", "default")
        try:
            await store.acall(c.ListJobs())
        finally:
            await store.aclose()

    with pytest.raises(bp.BadSetup, match=CASES["aCK"]):
        asyncio.run(ask())


def test_what_was_right_before_is_an_outage(
    server: TlsServer, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a refused login is: the worker waits, and ends if it lasts."""
    monkeypatch.setattr("batonpass.coordinator.redis.denial.LASTING", 1.0)
    store = RedisStore(server.url, "default")
    store.open()
    right, lasting = files["A"].read_bytes(), list[bool]()

    def ends() -> bool:
        with pytest.raises(bp.Unreachable, match=r"can't be verified.*It was let in before: put its") as refused:
            store.call(c.ListJobs())
        lasting.append(refused.value.lasting)
        return lasting[-1]

    try:
        files["A"].write_bytes(files["a"].read_bytes())
        store.close()
        wait_until(ends, what="the end")
        assert not lasting[0]
    finally:
        files["A"].write_bytes(right)
    assert store.call(c.ListJobs()) == []
    store.close()
