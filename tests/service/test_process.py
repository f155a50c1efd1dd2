"""`batonpass serve` as a process: how it starts, stops, waits for its store, and what it refuses to start with."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

import batonpass as bp
from batonpass.service.running import configured
from batonpass.service.settings import Settings

from ..cli.commandline import CommandLine
from ..harness.redis import RedisServer
from ..harness.waiting import wait_until
from ..workers.serving import DEADLINE
from .service import TOKEN, caller, process, service

# A request whose body is still to come.
BEGUN = b"""POST /jobs HTTP/1.1\r
Host: x\r
Authorization: Bearer %s\r
Content-Type: application/json\r
Content-Length: 2\r
Expect: 100-continue\r
\r
"""


def refuses(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:  # it was in line when the service stopped to listen
        pass
    return False


def test_a_request_that_never_comes_is_told_that_the_service_stops(sqlite_url: str) -> None:
    with bp.connect(sqlite_url):
        pass
    with process(sqlite_url, "--json", BATONPASS_TOKEN=TOKEN) as running:
        assert running.stdout is not None
        port = int(json.loads(running.stdout.readline())["url"].rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port), timeout=DEADLINE) as open_one:
            open_one.sendall(BEGUN % TOKEN.encode())
            assert open_one.recv(1000).startswith(b"HTTP/1.1 100 ")
            running.send_signal(signal.SIGTERM)
            reply = open_one.makefile("rb").read()
        told = running.communicate(timeout=DEADLINE)[1]
    assert reply.startswith(b"HTTP/1.1 503 ")
    problem = json.loads(reply.partition(b"\r\n\r\n")[2])
    assert ("the service is stopping" in problem["error"], problem["type"]) == (True, "Unavailable")
    assert ("Traceback" in told, running.returncode) == (False, 0)


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGINT])
def test_it_begins_with_a_token_and_ends_by_a_signal(sqlite_url: str, order: signal.Signals) -> None:
    """It first answers open requests; it does not wait for a connection without one."""
    with bp.connect(sqlite_url):
        pass
    with process(sqlite_url) as running:
        assert running.stdout is not None
        line = running.stdout.readline()
        found = re.fullmatch(r"serving sqlite:\S+ on (http://127\.0\.0\.1:\d+), with the token (\S{43})\n", line)
        assert found, line
        assert running.stdout.readline() == f"its page: {found[1]}/ui/\n"
        with httpx.Client(base_url=found[1], headers={"authorization": f"Bearer {found[2]}"}) as http:
            assert http.get("/inbox").json() == []
            address = ("127.0.0.1", int(found[1].rpartition(":")[2]))
            with socket.create_connection(address, timeout=DEADLINE) as open_one:
                open_one.sendall(BEGUN % found[2].encode())
                assert open_one.recv(1000).startswith(b"HTTP/1.1 100 ")
                running.send_signal(order)
                wait_until(lambda: refuses(address))
                with pytest.raises(subprocess.TimeoutExpired):  # it waits for the request
                    running.wait(0.5)
                open_one.sendall(b"{}")
                assert open_one.recv(1000).startswith(b"HTTP/1.1 400 ")
            told = running.communicate(timeout=DEADLINE)
            assert (told[0], told[1].count("\n"), "POST /jobs 400" in told[1]) == ("", 1, True)
    assert running.returncode == 0


async def test_a_store_that_is_away_for_a_while(own_redis: RedisServer) -> None:
    with service(own_redis.url) as address:
        async with caller(address) as http:
            own_redis.kill()
            reply = await http.get("/inbox")
            assert (reply.status_code, "Traceback" in reply.text) == (503, False)
            own_redis.start()
            with anyio.fail_after(DEADLINE):
                while (reply := await http.get("/inbox")).status_code == 503:
                    await anyio.sleep(0.05)
            assert (reply.status_code, reply.json()) == (200, [])


def test_what_does_not_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BATONPASS_TOKEN", raising=False)
    monkeypatch.setattr("batonpass.cli.serve.log_lines", lambda *_: None)  # it sets up a whole process
    cli = CommandLine(f"sqlite:///{tmp_path}/store.db", capsys, monkeypatch)
    for host in ("0.0.0.0", "::"):
        assert "open to other machines: give --token" in cli("serve", "--host", host, "--port", "0").complaint
    assert "is not an address of this machine" in cli("serve", "--host", "no.such.host.invalid").complaint
    for token in ("", "two words", "\u00e9", "line\n"):
        assert "sent in a header" in cli("serve", "--token", token).complaint
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"can't listen on 127.0.0.1 port {port}: " in cli("serve", "--port", str(port)).complaint
    assert not list(tmp_path.iterdir())  # no store was begun
    assert "no Redis at redis://127.0.0.1:1" in cli("serve", "--store", "redis://127.0.0.1:1").complaint
    for module in [name for name in sys.modules if name.startswith("batonpass.service")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'batonpass[http]'" in cli("serve").complaint


def test_an_idle_connection_is_kept_longer_than_proxies_keep_theirs() -> None:
    """Else a proxy sends a request on one that is being closed, and does not repeat a POST. uvicorn's default is 5 s;
    nginx and the load balancers of clouds keep theirs for 60 s."""
    assert configured(None, Settings(TOKEN)).timeout_keep_alive > 60
