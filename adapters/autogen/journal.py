"""Journal: the answers of models and tools inside a turn, so that a restarted turn doesn't ask again.

A record's key is only its place in the turn. The next turn overwrites it, so a job of many turns has no more records
than its longest turn has calls. Each record therefore says which turn it belongs to and who asked, with a digest of the
question. A call takes the first remaining record that matches, whatever order calls run in. If the caller failed on an
answer, its record is dropped. Otherwise every attempt would get the same answer, and fail.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import blake2b
from typing import Any, TypeVar

from autogen_core.models import RequestUsage

from ...contracts.codec import pack
from ...contracts.raised import chain
from ...coordinator.session import Session
from ..borders import ENDING

Value = TypeVar("Value")
Item = TypeVar("Item")

_PREFIX = "turn/"
_NO_TURN = -1
_OWN = " own "  # no name of a member has a space


class Journal:
    """The calls of one delivery's turns. `end` stops the turn with an error, which members would swallow or hang on."""

    def __init__(self, session: Session, end: Callable[[BaseException], None]) -> None:
        self.end = end
        self.loop = asyncio.get_running_loop()
        self._session = session
        self._turn = _NO_TURN
        self._runs = False
        self._places = 0
        self._left: dict[tuple[str, bytes], deque[tuple[int, Any]]] = {}
        self._last: dict[str, int] = {}  # the place of each caller's last answer, unless it is asking now
        self._raised: dict[str, BaseException] = {}  # what a call of each member raised last
        self._own: dict[tuple[str, str], dict[int, Any]] = {}
        self._writing = asyncio.Lock()

    def begin(self, turn: int) -> list[Any]:
        """Enter a turn, or enter it again. Returns the answers recorded in it, the oldest first. `turn` is a number
        that grows from turn to turn."""
        self._turn, self._places = turn, 0
        self._left, self._last, self._raised, self._own = defaultdict(deque), {}, {}, {}
        journal = self._session.journal.items()
        records = {int(key.removeprefix(_PREFIX)): record for key, record in journal if key.startswith(_PREFIX)}
        answers: list[Any] = []
        for place in sorted(records):
            of, caller, digest, answer = records[place]
            if of == turn:
                self._left[caller, digest].append((place, answer))
                self._places = place + 1
                answers.append(answer)
        return answers

    @contextmanager
    def running(self) -> Generator[None]:
        """While the turn's members run: an error of a record has to end them."""
        self._runs = True
        try:
            yield
        finally:
            self._runs = False

    async def call(self, caller: str, request: Any, ask: Callable[[], Awaitable[Any]]) -> Any:
        """The answer of `ask` to a request, as plain values: recorded before the crash, or recorded now."""
        digest, answer = self.recall(caller, request)
        if answer is not None:
            return answer
        with self.asking(caller):
            answer = await ask()
        return await self.record(caller, digest, answer)

    @contextmanager
    def asking(self, caller: str) -> Generator[None]:
        """Around a call that is not recorded. Notes its error, which may be why its member fails."""
        try:
            yield
        except Exception as error:
            self._raised[_member(caller)] = error
            raise

    def recall(self, caller: str, request: Any) -> tuple[bytes, Any]:
        """A request's digest, and its answer if it was recorded before the crash, else None."""
        digest = blake2b(pack(request), digest_size=16).digest()
        self._last.pop(caller, None)
        left = self._left.get((caller, digest))
        if not left:
            return digest, None
        self._last[caller], answer = left.popleft()
        return digest, answer

    async def record(self, caller: str, digest: bytes, answer: Any) -> Any:
        """Record an answer, and return it. Stops the turn if that fails."""
        place = self._places
        self._places += 1
        try:
            async with self._writing:  # one at a time, so that callers continue in the order of their answers
                await self._session.arecord({f"{_PREFIX}{place}": [self._turn, caller, digest, answer]})
        except Exception as error:
            if not self._runs:
                raise
            self.end(error)
            raise asyncio.CancelledError from None
        self._last[caller] = place
        return answer

    async def take_back(self, caller: str, failure: BaseException) -> None:
        """After a member failed: drop its last answer, so that it asks again. Not if it failed while it was asking."""
        raised = self._raised.get(caller)
        if raised is not None and _due_to(failure, raised):
            return
        blamed = {who: place for who, place in self._last.items() if _member(who) == caller}
        void = {f"{_PREFIX}{place}": [_NO_TURN, who, b"", None] for who, place in blamed.items()}
        if void:
            await self._session.arecord(void)

    def own(self, client: Any) -> str:
        """The name of a client that a member's own code asks. Clients are numbered in the order in which they are first
        asked, inside a call of its own each time: a recorded call does not ask again."""
        clients = self._own.setdefault((member.get(), calling.get()), {})
        clients.setdefault(id(client), client)
        return own_part(member.get(), f"{[*clients].index(id(client))} {calling.get()}")

    def spend(self, usage: RequestUsage) -> None:
        """Count what a model call has just used towards the job's budget."""
        self._session.spend(tokens=usage.prompt_tokens + usage.completion_tokens)


def own_part(who: str, part: str) -> str:
    """The name of a part of a member, or of a team, that is called itself."""
    return f"{who}{_OWN}{part}"


def concerns_job(error: BaseException) -> bool:
    """Whether an error must end the turn, because agents can't handle it."""
    return not isinstance(error, Exception) or isinstance(error, ENDING)


def _due_to(failure: BaseException, raised: BaseException) -> bool:
    """Whether a failure is this error, was caused by it, or quotes it (as a team does that a member runs)."""
    quoted = f"{type(raised).__name__}: {raised}"
    return any(each is raised or quoted in str(each) for each in chain(failure))


def _member(caller: str) -> str:
    return caller.partition(_OWN)[0]


@contextmanager
def within(variable: ContextVar[Value], value: Value) -> Generator[None]:
    """A block in which a context variable has a value."""
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


async def each_within(variable: ContextVar[Value], value: Value, stream: AsyncIterator[Item]) -> AsyncGenerator[Item]:
    """A stream whose own code runs with a context variable set. Its reader's code between two items does not."""
    while True:
        with within(variable, value):
            try:
                item = await anext(stream)
            except StopAsyncIteration:
                return
        yield item


# The journal of the turn that this code runs in. A model or tool may be shared by many teams.
current: ContextVar[Journal | None] = ContextVar("batonpass_autogen_journal", default=None)

# The path of the member, and the tool call, that this code belongs to.
member: ContextVar[str] = ContextVar("batonpass_autogen_member", default="")
calling: ContextVar[str] = ContextVar("batonpass_autogen_calling", default="")
