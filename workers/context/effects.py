"""Effects: what an agent does outside of Batonpass, recorded before it starts and after it ends. No I/O."""

from __future__ import annotations

import inspect
from asyncio import CancelledError
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from threading import Lock
from typing import Any, Literal, TypeAlias, cast

from ...contracts.errors import Ambiguous, BadSetup, BatonpassError, Fenced, NotDone, OverBudget
from ...contracts.inbox import AskTerms
from ...contracts.raised import described
from ..doubt import Started, about_of, changed, is_open, noted, start_of, unknown
from ..parts import is_anothers
from ..session import LeaseSession
from .arguments import same
from .counted import Later
from .steps import Recorded, Steps

Unsure: TypeAlias = Literal["stop", "ask", "repeat"]
Arguments: TypeAlias = tuple[Sequence[Any], Mapping[str, Any]]
# The number of the next question about an effect: an answer only concerns the attempts before it.
_ASKS = "asks/"
# The valid answers. Nothing else is accepted, because a result under another name would be lost, and one that was
# forgotten would be null.
_TOLD = AskTerms(
    schema={
        "type": "object",
        "properties": {"done": {"type": "boolean"}, "result": {"description": "What the effect returned, or null"}},
        "required": ["done"],
        "additionalProperties": False,
        "if": {"properties": {"done": {"const": True}}, "required": ["done"]},
        "then": {"required": ["result"], "description": "what the effect returned, null if that is nothing"},
        "examples": [{"done": True, "result": "what the effect returned"}, {"done": False}],
    }
)


@dataclass(frozen=True, slots=True)
class Record:
    """Commit journal records."""

    records: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Found:
    """Note that this code has found the outcome, which perhaps another part of the agent has recorded, or still
    does."""

    full: str
    recorded: Recorded


class TakeBack(Record):
    """Commit that nothing was done, also while the attempt is being cancelled."""


class Perform:
    """Call `begin`, and then the effect's function. What they raise is thrown in.

    In a thread the call may begin late, or never. Whichever comes first counts: `begin` in the thread, or `call_off` by
    the task that waits for it, or the end of the attempt, which `check` tells of.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.begun = False
        self._called_off = False
        self._check = check
        self._lock = Lock()

    def begin(self) -> None:
        """From now on it may have happened. Raises if it must not begin."""
        with self._lock:
            if self._called_off:
                raise NotDone("the attempt ended before it began")
            self._check()
            self.begun = True

    def call_off(self) -> None:
        """Keep the call from beginning, unless it has begun."""
        with self._lock:
            self._called_off = not self.begun


@dataclass(frozen=True, slots=True)
class Ask:
    """Ask a person. `key` keeps the question out of the count of the hop's other questions: once the effect is
    recorded, it asks nothing, and the count must stay the same."""

    question: Any
    key: str
    terms: AskTerms


@dataclass(frozen=True, slots=True)
class Commit:
    """Commit the outcome."""

    full: str
    digest: bytes | None
    result: Any


Act: TypeAlias = Record | Found | Perform | Ask | Commit | Later


def effecting(
    steps: Steps,
    session: LeaseSession,
    key: str,
    fn: Callable[..., object],
    arguments: Arguments,
    unsure: Unsure,
    part: str,
) -> Generator[Act, Any, Any]:
    """Run an effect, and return its outcome. `fn` is what `Perform` is to call. `part` is the agent's part whose it is,
    unless the code here is one's."""
    if not key:
        raise BadSetup("ctx.effect needs a key that is unique in this hop")
    if unsure not in ("stop", "ask", "repeat"):
        raise BadSetup(f"ctx.effect(unsure={unsure!r}): use 'stop', 'ask' or 'repeat'")
    full, digest, recorded = steps.begin("effect", key, arguments, part=part)
    if recorded is not None:
        yield Found(full, recorded)
        return recorded.result
    with _under_way(steps, session, key):
        steps.check()  # again: what waits for those under way has seen this one, or keeps it from starting
        anothers = is_anothers(full, session.parts, part, session.journal)
        if not anothers and steps.recorded(full) is not None:  # by a thread that has ended it just now
            raise _twice(key)
        start = None if anothers else start_of(session.journal, key)
        about = about_of(session, key, start)
        if (misfit := _misfit(key, fn, arguments)) and start is None:
            raise BadSetup(f"effect {key!r} was not done: {misfit}")
        if start is not None:
            if misfit and unsure != "stop":  # which says below that it is not known
                raise Ambiguous(unknown(about, key, before=f" (now {misfit})"))
            if unsure != "stop" and start.digest is not None and not same(start.digest, digest, arguments):
                raise Ambiguous(changed(about, key))
            settled = yield from _settled(session, about, key, unsure)
            if settled:
                [result] = settled
                yield Commit(full, digest, result)
                return result
        if start is None or start.repeats != (unsure == "repeat"):
            over = {**(steps.voided(full) if anothers else {}), **steps.losses.news()}
            yield from _announced(key, Started(about, digest, unsure == "repeat"), start, over)
        elif news := steps.losses.news():
            yield Record(news)
        try:
            result = yield from _performed(steps, key, start if unsure == "repeat" else None)
        except Exception as error:
            if isinstance(error, BatonpassError) or unsure == "repeat" or steps.editable:
                raise
            raise _ambiguous(about, key, error) from error  # in a tool, a model would be told of it, and go on
        yield Commit(full, digest, result)
    return result


@contextmanager
def _under_way(steps: Steps, session: LeaseSession, key: str) -> Generator[None]:
    """Around the call of an effect. Notes where its error was raised. If it is cut off, the agent's code may learn
    nothing of it: a task beside it may have failed."""
    call = object()
    if steps.effects.setdefault(key, call) is not call:  # in one go, since there may be other threads
        raise _twice(key)
    steps.told.forget(key)
    try:
        yield
    except Exception as error:
        if is_open(session, key):
            steps.told.note(key, error, session.home)
        raise
    finally:
        del steps.effects[key]
        steps.leave("effect")


def _twice(key: str) -> BadSetup:
    return BadSetup(f"effect {key!r} runs twice at once: it happens once, so give each call its own key")


def _misfit(key: str, fn: Callable[..., object], arguments: Arguments) -> str:
    """Why a call could not begin, or "". Such a call must not be recorded as started: its outcome would be taken for
    unknown."""
    args, named = arguments
    try:
        takes = inspect.signature(fn, follow_wrapped=False)  # what wraps a function may give it arguments of its own
    except (ValueError, TypeError):  # some built-in functions don't tell
        return ""
    try:
        takes.bind(*args, **named)
    except TypeError as error:
        hint = "effect's own key comes first, without key=" if "key" in named else "arguments of fn follow it"
        return f"its function does not take what it is given ({error}). In ctx.effect({key!r}, fn, ...) the {hint}"
    return ""


def _ambiguous(about: str, key: str, error: Exception) -> Ambiguous:
    return Ambiguous(unknown(about, key, before=f" (the error was {described(error)})"))


def _announced(key: str, start: Started, before: Started | None, over: dict[str, Any]) -> Generator[Act, Any, None]:
    """Record that the effect starts. `before` is how it started in an earlier attempt. `over` takes back another
    part's outcome."""
    try:
        yield Record(noted(key, start) | over)
    except (OverBudget, CancelledError):  # the record may be written, but nothing has begun
        yield TakeBack(noted(key, before))
        raise


def _performed(steps: Steps, key: str, before: Started | None) -> Generator[Act, Any, Any]:
    """Call the effect's function. If nothing was done, take back the record that it starts. `before` is an earlier try
    that this repeats: it may have happened then.

    The attempt may have ended while the start was recorded, without having seen that.
    """
    performing = Perform(steps.check)
    try:
        return (yield performing)
    except (NotDone, Fenced, CancelledError) as error:
        if isinstance(error, NotDone) or (not performing.begun and before is None):
            yield TakeBack(noted(key, before))
        raise


def _settled(session: LeaseSession, about: str, key: str, unsure: Unsure) -> Generator[Act, Any, list[Any]]:
    """The result of an effect that was started before, if a person knows it. Nothing if it should run again.
    `Ambiguous` if it must not."""
    if unsure == "stop":
        before = f" (the last error was {session.last_error})" if session.last_error else ""  # perhaps this effect's
        raise Ambiguous(unknown(about, key, before=before))
    if unsure == "repeat":
        return []
    first: int = session.journal.get(_ASKS + key, 1)
    question = {"effect": key, "idempotency_key": about, "question": "was it done? answer {done: ..., result: ...}"}
    for number in count(first):
        answer = yield Ask(question, f"{key}/{number}", _TOLD)
        told = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
        if told.get("done") is True:
            return [told.get("result")]
        if told.get("done") is False:
            yield Record({_ASKS + key: number + 1})
            break
    return []
