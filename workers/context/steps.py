"""Steps: what an agent's code has recorded in this hop, and the rules for replaying it. No I/O."""

from __future__ import annotations

import inspect
import re
import threading
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from typing import Any, TypeVar

import anyio

from ...contracts.alike import alike
from ...contracts.checkpoint import Snapshot
from ...contracts.codec import pack
from ...contracts.errors import BadSetup, StepMismatch, Unserializable
from ...coordinator.commands import EFFECT, FAN, STEP
from ...coordinator.snapshots import from_ms
from ..caught import Told
from ..doubt import settled
from ..journal import named
from ..parts import is_anothers
from ..session import LeaseSession
from ..threads import place
from .arguments import digest_of, same
from .losses import Losses

# Prefixes of what is recorded like steps, under its own names.
_OTHERS = ("ask", "effect", "fan_out")
# Of a fan-out that a redrive made again: what had been recorded since its children failed.
SINCE = "since/"
# How many other records an error names.
_SHOWN = 10
_SIGNS = re.compile(r"[\\#:]")


@dataclass(slots=True)
class Recorded:
    """A finished step: its result, the digest of its arguments (None: any), and whether its record is known to be
    stored. If it is not, it is on its way, or could not be written."""

    digest: bytes | None
    result: Any
    stored: bool = True

    def missing(self, full: str) -> dict[str, Any]:
        """The record, unless it is stored. Whoever finds the step writes it, too, before the result is used: nobody has
        to wait for another's write, which may fail."""
        return {} if self.stored else {STEP + full: [self.digest, self.result]}


class ReplayMismatch(StepMismatch):
    """What an earlier run has recorded is not what the code does now: the code may be another release's."""


class Pause(BaseException):
    """Control flow: this run ends, until something has happened. Not an Exception, so that agent code doesn't catch
    it."""


P = TypeVar("P", bound=Pause)


class Steps:
    """The recorded steps of one hop. The key is `name`, `name#ordinal` from the second use of the name, or `name:key`.

    Each step is a record in the hop's journal. A plain function's steps are also its state: each is a checkpoint, and a
    resumed function replays them from its top. (The journal decides: if two steps end at once, the later checkpoint may
    lack one.) In a framework's agent the state is the framework's, and only the framework knows where its nodes, tasks
    or turns resume. So steps can't be counted there, and each needs a `key`.
    """

    def __init__(self, session: LeaseSession, *, own_state: bool, timeout: float = inf) -> None:
        self.timeout = timeout  # of an attempt, in seconds
        # Questions and fan-outs are counted, and each ends the run until it is answered. So those that an agent makes
        # at once take turns: the first is over, and recorded, before the next one begins.
        self.turn, self.tasks_turn = threading.Lock(), anyio.Lock(fast_acquire=True)
        self.pause: Pause | None = None
        self.made: set[str] = set()  # what this run has asked, and its fan-outs
        self.effects: dict[str, object] = {}  # the calls of those that are under way, by key
        self.told = Told()  # their errors in this run
        self.losses = Losses(session.journal)
        # What was given to the children of the fan-outs that earlier runs made, by key. (To make one ends a run.)
        self.fan_outs: dict[str, bytes] = {full: made[0] for full, made in named(session.journal, FAN).items()}
        # What an earlier run recorded before failed children went on. What it was made of may have changed with them.
        self.since = {full for names in named(session.journal, SINCE).values() for full in names or ()}
        self.asleep: dict[str, int] = {}  # until when this run's sleeps last, by key, in ms by the store's clock
        # The counted questions that earlier runs have asked, and which of them others need not wait for: once they are
        # looked up.
        self.asks: tuple[dict[str, bytes | None], set[str]] | None = None
        self._session = session
        self._own_state = own_state
        self._counts: dict[str, int] = {}
        self._running: set[str] = set()
        self._called: dict[str, bytes] = {}  # the steps that this run has called, by key, with their digests
        self._done: dict[str, Recorded] = {}
        # The question that suspended this hop, and its digest (None: any), until its answer is recorded.
        self.asking: tuple[str, bytes | None] | None = None
        if own_state and session.checkpoint and (full := session.checkpoint.native.get("asking")):
            self.asking = (full, session.checkpoint.native.get("digest"))
        if not session.journal and not session.checkpoint:
            return
        # If the state was edited before the job was redriven, it counts, even if it has results that no step returned.
        held: dict[str, Any] = session.checkpoint.state if own_state and session.checkpoint else {}
        done = {key: value for key, value in named(session.journal, STEP).items() if value is not None}
        self._done = {key: Recorded(None, result) for key, result in held.items()}
        for key, (digest, result) in done.items():
            # An unedited result is taken from the journal, because later steps were recorded with that as argument. An
            # edited one counts whatever the arguments are, because the payload may have been edited with it.
            if key not in held or alike(held[key], result):
                self._done[key] = Recorded(digest, result)

    def paused(self, pause: P) -> P:
        """The same, noted as what ends this run, unless another one already does."""
        self.pause = self.pause or pause
        return pause

    @property
    def job_id(self) -> str:
        """The job whose steps these are."""
        return self._session.job_id

    @property
    def at_home(self) -> bool:
        """Whether the agent's own task or thread is what calls this, not another one."""
        return self._session.home == place()

    def check(self) -> None:
        """Raise if this run must stop: see `LeaseSession.check`."""
        self._session.check()

    def digests(self) -> dict[str, bytes | None]:
        """The recorded steps' digests (None: any), by key."""
        return {key: recorded.digest for key, recorded in self._done.items()}

    def recorded(self, full: str) -> Recorded | None:
        """A step's record, if it is done."""
        return self._done.get(full)

    def ahead(self, counted: Iterable[str]) -> set[str]:
        """What is recorded that this run has not come to yet. `counted` are the questions without an answer, and the
        fan-outs, that are recorded."""
        started = {f"effect:{key}" for key, start in named(self._session.journal, EFFECT).items() if start}
        asking = {self.asking[0]} if self.asking else set[str]()
        return (self._done.keys() | started | asking | {*counted}) - self._called.keys() - self.made

    def digest(self, full: str, arguments: object) -> bytes:
        """The digest of a step's arguments."""
        try:
            return digest_of(arguments)
        except (RecursionError, Unserializable):
            raise Unserializable(
                f"the arguments of step {full!r} can't be recorded: they are nested too deep, or contain "
                "themselves. Pass only a part of them",
                path=f"arguments of step {full!r}",
            ) from None

    @property
    def editable(self) -> bool:
        """Whether a user can give a result when redriving the job."""
        return self._own_state

    def begin(
        self, name: str, key: str | None, arguments: object, *, users: bool = False, part: str = ""
    ) -> tuple[str, bytes, Recorded | None]:
        """Enter a step. Returns its key, its arguments' digest, and its record if it is done.

        `users` means that a user named it. `part` is the agent's part whose it is, unless the code here is one's.
        Raises if this run must stop.
        """
        self._session.check()
        if key is None and not self._own_state:
            raise BadSetup(
                f"step {name!r} needs key= here: in a framework's agent, steps can't be identified by counting"
            )
        if key is None and name in self._running:
            raise BadSetup(f"step {name!r} runs twice at once: give each call its own key=")
        full = self._full(_unmistakable(name) if users else name, key)
        digest = self.digest(full, arguments)
        recorded = self._done.get(full)
        # The result that a person gave is of any arguments, but it is one call's.
        known = recorded and (recorded.digest or self._called.get(full))
        if known and not same(known, digest, arguments):
            anew = users and (self._is_edited or full in self.since) and full not in self._called
            if not anew and not is_anothers(full, self._session.parts, part, self._session.journal):
                raise self._mismatch(full)
            recorded = None
        if recorded is None:
            self._running.add(name)
            if name in _OTHERS and not users:
                self.losses.act_on(self.losses.told())
        self._called.setdefault(full, digest)
        return full, digest, recorded

    @property
    def _is_edited(self) -> bool:
        """Whether the state from which the code runs is not that with which it ran before: a person has edited it."""
        checkpoint = self._session.checkpoint
        native: Any = checkpoint.native if checkpoint else None
        return isinstance(native, dict) and "edited" in native

    def _mismatch(self, full: str) -> StepMismatch:
        if full in self._called:
            called = f"job {self._session.job_id} was already called in this run, with other arguments"
            if (key := full.removeprefix("effect:")) != full:
                return StepMismatch(
                    f"effect {key!r} of {called}: what comes first is the key, and each call needs its own"
                )
            return StepMismatch(f"step {full!r} of {called}: give each call its own key")
        return ReplayMismatch(
            f"step {full!r} of job {self._session.job_id} is recorded with other arguments: replayed code must "
            "call its steps in the same order with the same arguments. If you changed the code, rename the changed "
            f"step, so that it runs again, or put the old code back, and redrive the job{self.advice(full)}"
        )

    def advice(self, full: str) -> str:
        """What to do about a record that does not fit, if the payload was edited, or children went on since. Empty if
        that can't be."""
        if not (self.editable and self._done):
            return ""
        others = sorted(self._done.keys() - self._called.keys() - self.made - {full})
        more = f", and perhaps those of {', '.join(map(repr, others[:_SHOWN]))}" if others else ""
        since = ", or if children of it have completed since" if full in self.since else ""
        return (
            f". If you edited the payload{since}, redrive with the result that counts now, the recorded one or "
            f"another, in changes={{{full!r}: RESULT}} (--set){more}, or submit a new job, which runs all steps"
        )

    def _full(self, said: str, key: str | None) -> str:
        """A step's key, from its name and its own key. Without that, the uses of the name are counted."""
        if key is not None:
            return f"{said}:{key}"
        ordinal = self._counts.get(said, 0)
        self._counts[said] = ordinal + 1
        return f"{said}#{ordinal}" if ordinal else said

    def voided(self, full: str) -> dict[str, Any]:
        """Forget a record that is another part's, because its effect begins anew. Returns what takes it back."""
        self._done.pop(full, None)
        return {STEP + full: None}

    def leave(self, name: str) -> None:
        """The step is no longer running."""
        self._running.discard(name)

    @contextmanager
    def finishing(
        self, full: str, digest: bytes | None, result: Any
    ) -> Generator[tuple[Snapshot | None, dict[str, Any]]]:
        """Note a result. Gives what to commit for it in the block: a plain function's snapshot, and journal records."""
        pack(result, path=f"result of step {full!r}")
        done = self._done[full] = Recorded(digest, result, stored=False)
        self.losses.act_on(self.losses.told())  # also on what was told meanwhile: it may be in the result
        yield self.snapshot(full) if self._own_state else None, done.missing(full) | settled(full) | self.losses.news()
        done.stored = True

    def snapshot(self, step: str, asking: tuple[str, bytes | None] | None = None) -> Snapshot:
        """All recorded steps, and until when sleeps last, as a plain function's state, and the question that waits for
        its answer."""
        done, asleep = self._done.copy(), self.asleep.copy()  # a sync agent's threads may go on meanwhile
        state = {key: recorded.result for key, recorded in done.items()}
        state |= {key: from_ms(until) for key, until in asleep.items()}
        full, digest = asking or self.asking or (None, None)
        return Snapshot(
            step=step, state=state, native={"v": 1, "asking": full} | ({"digest": digest} if digest else {})
        )


def _unmistakable(name: str) -> str:
    """A user's name escaped for keys, so that no part of it reads as an ordinal, a key, or another kind of call."""
    said = _SIGNS.sub(r"\\\g<0>", name)
    return f"\\{said}" if said in _OTHERS else said


def check_function(what: str, fn: object) -> None:
    """Refuse what can't be called, before anything is done or recorded. Mostly `fn()` instead of `fn`."""
    if not callable(fn):
        if inspect.iscoroutine(fn):
            fn.close()  # or Python would warn that it was never awaited
        raise BadSetup(f"{what}: {fn!r:.80} is not a function: give the function itself, then its arguments")


def refuse_async(what: str, fn: Callable[..., object]) -> None:
    """Refuse async code in a plain `def`, which can't await it, before anything is done or recorded."""
    check_function(what, fn)
    if inspect.iscoroutinefunction(fn):
        raise BadSetup(f"{what} is async: write the agent as `async def` and await ctx.step() or ctx.effect() there")
