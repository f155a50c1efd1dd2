"""Asks once what redis-py would ask again for each new client. Tests make thousands of them."""

from __future__ import annotations

from functools import cache
from typing import Any

import redis.utils
from redis._parsers import commands


def ask_once() -> None:
    """Keep the client library's own version (5 ms), and a cluster's table of all commands (10 ms)."""
    redis.utils.get_lib_version = cache(redis.utils.get_lib_version)
    sync: Any = commands.CommandsParser
    ask, known = sync.initialize, dict[str, Any]()

    def initialize(self: Any, client: Any) -> None:
        if not known:
            ask(self, client)
            known.update(self.commands)
        self.commands = known

    sync.initialize = initialize
    aio: Any = commands.AsyncCommandsParser
    aask, aknown = aio.initialize, dict[str, Any]()

    async def ainitialize(self: Any, node: Any = None) -> None:
        if not aknown:
            await aask(self, node)
            aknown.update(self.commands)
        self.node, self.commands = node or self.node, aknown

    aio.initialize = ainitialize
