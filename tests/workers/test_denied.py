"""A server that refuses a worker's user for a while: a password is rotated, or an ACL is loaded with a mistake."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import redis

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from tests.harness.redis import RedisServer
from tests.harness.waiting import wait_until

from .agents import Done, Task, app
from .processes import DEADLINE, Desk

GOOD = ("on", "resetpass", ">secret", "~*", "&*", "+@all")
DENIALS = {"password": ("resetpass", ">other"), "commands": ("-@all",), "keys": ("resetkeys",)}


@pytest.fixture
def desk(own_redis: RedisServer, tmp_path: Path) -> Iterator[Desk]:
    with own_redis.client() as admin:
        admin.execute_command("ACL", "SETUSER", "w", *GOOD)
    made = Desk(f"redis://w:secret@127.0.0.1:{own_redis.port}", tmp_path)
    yield made
    made.close()


@contextmanager
def denied(admin: redis.Redis, how: str) -> Iterator[None]:
    admin.execute_command("ACL", "SETUSER", "w", *DENIALS[how])
    with suppress(redis.ResponseError):  # none is connected
        admin.execute_command("CLIENT", "KILL", "USER", "w")
    yield
    admin.execute_command("ACL", "SETUSER", "w", *GOOD)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("how", DENIALS)
@pytest.mark.parametrize("agent", ["steps", "sync"])
def test_the_job_goes_on_when_it_is_let_in_again(desk: Desk, own_redis: RedisServer, agent: str, how: str) -> None:
    with own_redis.client() as admin, bp.connect(own_redis.url, app=app) as coordinator:
        worker = desk.serving(agent, "--lease", "30")  # which outlasts that on a busy machine
        job = coordinator.submit(agent, Task(text="a"), returns=Done)
        desk.wait_for("a:two")
        with denied(admin, how):
            desk.open_gate("two")  # what it did can't be written now
            for what in ("can't claim, trying again", "heartbeat failed, trying again"):
                worker.wait_for(what)
        assert job.result(timeout=DEADLINE).words == ["a:one", "a:two", "a:three"]
        assert desk.ran() == {"a:one": 1, "a:two": 1, "a:three": 1}
        assert job.info().crashes == 0
        assert "was let in before" in worker.said()


def test_a_worker_that_is_denied_for_long_ends(
    own_redis: RedisServer, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batonpass.coordinator.redis.denial.LASTING", 1.0)
    store = RedisStore(desk.url, "default")
    store.open()
    lasting: list[bool] = []

    def ends() -> bool:
        with pytest.raises(bp.Unreachable, match="was let in before") as refused:
            store.call(c.ListJobs())
        lasting.append(refused.value.lasting)
        return lasting[-1]

    with own_redis.client() as admin:
        for _ in range(2):  # the time starts again
            with denied(admin, "keys"):
                wait_until(ends, what="the end")
            store.call(c.ListJobs())
            assert not lasting[0]
            lasting.clear()
    store.close()
