"""The Redis store's scripts, changed for a test: another clock, a shebang, calls that are watched or fail."""

from __future__ import annotations

import re
from functools import cache, partial
from hashlib import sha1

from batonpass.coordinator.redis.scripts import Script, script

_CLOCK = re.compile(r"^( *local function now_text\(\)\n).*?(\n *end)$", re.MULTILINE | re.DOTALL)
_KEPT = r"\1return redis.call('GET', P .. 'clock')\2"
# Stands before a script: `redis.call` keeps a log of what it is asked, and raises at call number `at`.
_WATCHED = """
local server, calls, at, P_ = redis, 0, {at}, KEYS[1]
local function watched(run, ...)
  calls = calls + 1
  server.call('RPUSH', P_ .. 'log', (...) .. ' ' .. tostring((select(2, ...))))
  if calls == at then
    return run == server.pcall and {{ err = 'PLANTED' }} or error('PLANTED this call fails')
  end
  return run(...)
end
local redis = {{ sha1hex = server.sha1hex, call = function(...) return watched(server.call, ...) end,
  pcall = function(...) return watched(server.pcall, ...) end }}
"""


def _again(name: str, source: str) -> Script:
    return Script(name, source, sha1(source.encode(), usedforsecurity=False).hexdigest())


@cache
def with_clock(name: str) -> Script:
    """The script with the time that the test keeps in the partition."""
    source, told = _CLOCK.subn(_KEPT, script(name).source)
    return _again(name, source) if told else script(name)


@cache
def with_shebang(name: str) -> Script:
    """... as servers from 7.0 on check it: one slot for all keys."""
    return _again(name, f"#!lua\n{with_clock(name).source}")


def watched(name: str, *, at: int = 0) -> Script:
    """... that logs its calls to the server, and fails at the one with number `at` (from 1)."""
    return _again(name, _WATCHED.format(at=at) + with_clock(name).source)


def failing(at: int) -> partial[Script]:
    """All scripts so that their call number `at` fails."""
    return partial(watched, at=at)
