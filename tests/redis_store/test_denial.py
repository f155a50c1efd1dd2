"""Which refusals of a server are an outage for a user who was let in before, and which are a wrong setup."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.store import RedisStore
from tests.harness.redis import RedisServer


@pytest.fixture
def store(own_redis: RedisServer) -> RedisStore:
    """A store that a user of its own has opened; the scripts that a call needs are not on the server yet."""
    with own_redis.client() as admin:
        admin.execute_command("ACL", "SETUSER", "w", "on", ">secret", "~*", "&*", "+@all")
        made = RedisStore(f"redis://w:secret@127.0.0.1:{own_redis.port}", "default")
        made.open()
        admin.script_flush()
    return made


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        ("-@all", bp.Unreachable),
        ("-eval", bp.Unreachable),  # as when it is taken away between the two ways to run a script
        ("resetkeys", bp.Unreachable),
        ("-hgetall", bp.BadSetup),  # what some calls need, and opening does not
    ],
)
def test_what_is_taken_away(
    store: RedisStore, own_redis: RedisServer, rule: str, error: type[bp.BatonpassError]
) -> None:
    with own_redis.client() as admin:
        admin.execute_command("ACL", "SETUSER", "w", rule)
    with pytest.raises(error):
        store.call(c.ReadJob(mint("j")))
    store.close()
