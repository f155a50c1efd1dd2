"""The Redis store. Importing it needs the Redis client."""

from __future__ import annotations

from importlib.util import find_spec

from ...contracts.errors import MissingExtra

if find_spec("redis") is None or find_spec("hiredis") is None:
    raise MissingExtra("a redis:// store needs the Redis client: pip install 'batonpass[redis]'")
