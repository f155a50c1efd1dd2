"""What a Redis user must be allowed to move a namespace: the documentation says it, and so does the error."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import redis

import batonpass as bp
from tests.cli.commandline import CommandLine
from tests.harness.redis import RedisServer
from tests.house.tree import ROOT
from tests.redis_store.needed import FILES
from tests.repartition.conftest import Desk, app


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine("memory://", capsys, monkeypatch)


def user(server: RedisServer, name: str, rights: str) -> str:
    """The server's URL for a new user."""
    with redis.Redis.from_url(server.url) as client:
        client.execute_command("ACL", "SETUSER", name, "on", ">secret", *rights.split())
    return server.url.replace("://", f"://{name}:secret@")


@pytest.fixture
def documented() -> str:
    """The rights as running.md has them."""
    [rights] = set(re.findall(r"`(\+@all [^`]*)`", (ROOT / "docs/running.md").read_text()))
    return str(rights)


def test_the_documented_ones_are_enough(
    own_redis: RedisServer, sqlite_url: str, documented: str, line: CommandLine
) -> None:
    with bp.connect(sqlite_url, app=app) as coordinator:
        job = coordinator.submit("write", Desk(topic="new"))
    url = user(own_redis, "mover", documented)
    for source, target in ((sqlite_url, "one"), (f"{url}?namespace=one", "two")):
        command = "move" if target == "one" else "repartition"
        assert line(command, source, f"{url}?namespace={target}").code == 0
    with bp.connect(f"{own_redis.url}?namespace=two") as there:
        assert there.job(job.id).info().state == "submitted"


@pytest.mark.parametrize("role", ["worker", "client"])
def test_a_shipped_user_is_told_which_are_needed(
    own_redis: RedisServer, sqlite_url: str, documented: str, line: CommandLine, role: str
) -> None:
    with bp.connect(sqlite_url, app=app) as coordinator:
        coordinator.declare(app)
    rights = Path(FILES / f"{role}.acl").read_text().partition(" off ")[2]
    url = user(own_redis, role, rights.strip())
    said = line("move", sqlite_url, f"{url}?namespace=new").complaint
    hint = "`redis-cli ACL LOG` names which"
    assert f"(this takes {documented}, which no user of batonpass/coordinator/redis/acl has; {hint})" in said
    assert "worker.acl" not in said
    assert "'scan'" in said
