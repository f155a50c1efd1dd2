"""Together: jobs that end in the same turn of an event loop are ended by one call of the script.

Each is still a commit of its own, with its own reply. They share what a call costs before it does anything.
"""

from __future__ import annotations

from asyncio import Future, get_running_loop
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any

from redis.exceptions import ConnectionError as Lost

from .connections import AsyncConnection
from .scripts import Script
from .wire import unfolded

_MOST = 16  # per call, so that others get their turn in between, and the server can begin


class Together:
    """For one event loop. Calls a script that takes the arguments of several commands in a row, and then returns a list
    of replies."""

    def __init__(self, connection: AsyncConnection, script: Callable[[], Script], prefix: str) -> None:
        self._connection = connection
        self._script = script
        self._prefix = prefix
        self._loop = get_running_loop()
        self._waiting: list[tuple[Sequence[Any], Future[Any]]] = []

    async def ask(self, argv: Sequence[Any]) -> Any:
        """The reply to one command; an error of the client library if the server refuses it or is not there.

        The error may be due to others in the same call. Then it is a `ConnectionError`: ask again, alone.
        """
        if not self._waiting and not await self._connection.ready():
            return await self._connection.ask("EVALSHA", self._script().sha, 1, self._prefix, *argv)
        reply: Future[Any] = self._loop.create_future()
        if not self._waiting:
            self._loop.call_soon(self.send)
        self._waiting.append((argv, reply))
        if len(self._waiting) == _MOST:
            self.send()
        return await reply

    def send(self) -> None:
        """Send what is waiting now, and not at the end of this turn."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        argv = chain.from_iterable(argv for argv, _ in waiting)
        asked = self._connection.asked("EVALSHA", self._script().sha, 1, self._prefix, *argv)
        asked.add_done_callback(partial(_hand_out, [reply for _, reply in waiting]))


def _hand_out(waiting: Sequence[Future[Any]], asked: Future[Any]) -> None:
    error = asked.exception()
    if error is not None and len(waiting) > 1:
        error = Lost(f"{len(waiting)} ends of jobs were asked together: {error}")
    replies: list[Any] = []
    if error is None:
        replies = [asked.result()] if len(waiting) == 1 else unfolded(asked.result())
        if len(waiting) > 1 and isinstance(replies[0], bytes):  # one refusal for all: lib/moved.lua
            replies = [replies] * len(waiting)
    for index, reply in enumerate(waiting):
        if reply.done():  # its caller has stopped waiting
            continue
        if error is not None:
            reply.set_exception(error)
        else:
            reply.set_result(replies[index])
