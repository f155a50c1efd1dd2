"""Sentinels that are asked for a master, and, if they name none, what went wrong with the first of them that failed.
(Of their errors, redis-py tells the types alone.)"""

from __future__ import annotations

from typing import Any

from redis.asyncio import sentinel as asyncio_sentinel
from redis.exceptions import ConnectionError, TimeoutError
from redis.sentinel import MasterNotFoundError, Sentinel

NO_MASTER = (MasterNotFoundError, asyncio_sentinel.MasterNotFoundError)
_FAILED = (ConnectionError, TimeoutError)


def _to_ask(error: Exception, manager: Any) -> list[Any]:
    """The Sentinels to ask again for what is wrong. None if those that failed were silent, and would be again."""
    return list(manager.sentinels) if "ConnectionError" in str(error) else []


class Sentinels(Sentinel):
    """For sync code."""

    def discover_master(self, service_name: str) -> Any:
        usual: Any = super()
        try:
            return usual.discover_master(service_name)
        except NO_MASTER as error:
            for each in _to_ask(error, self):
                try:
                    each.ping()
                except _FAILED as cause:
                    raise error from cause
            raise


class AsyncSentinels(asyncio_sentinel.Sentinel):
    """`Sentinels` for async code."""

    async def discover_master(self, service_name: str) -> Any:
        usual: Any = super()
        try:
            return await usual.discover_master(service_name)
        except NO_MASTER as error:
            for each in _to_ask(error, self):
                try:
                    await each.ping()
                except _FAILED as cause:
                    raise error from cause
            raise
