"""Context: what an agent's code gets as `ctx`, and anywhere inside of a job by `batonpass.current()`."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, overload

from typing_extensions import Unpack

from ..contracts.contract import Contract
from ..contracts.errors import NoJob
from ..contracts.fanout import Failures, Wait
from ..contracts.handoff import Handoff
from ..contracts.options import AskOptions
from ..coordinator.calls import afollow, follow
from .about import About
from .asking import terms_of
from .effects import Act, Ask, Commit, Perform, Record, Unsure
from .steps import check_function, refuse_async
from .threads import in_thread

if TYPE_CHECKING:
    pass

T = TypeVar("T")
P = TypeVar("P", bound=Contract)
C = TypeVar("C", bound=Contract)
_CURRENT: ContextVar[Context] = ContextVar("batonpass_context")


class SyncContext(About):
    """The context of sync code: a plain `def` agent, a tool, a task."""

    def step(self, name: str, fn: Callable[..., T], *args: Any, key: str | None = None, **kwargs: Any) -> T:
        """Run `fn(*args, **kwargs)` once in this hop: see `Context.step`."""
        refuse_async(f"step {name!r}", fn)
        full, digest, recorded = self._steps.begin(name, key, [args, kwargs], users=True)
        if recorded is not None:
            result: T = recorded.result
            return result
        try:
            result = fn(*args, **kwargs)
            self._commit(full, digest, result)
        finally:
            self._steps.leave(name)
        return result

    def emit(self, *values: Any) -> None:
        """Stream values to who reads along: see `Context.emit`."""
        self._session.emit(values)

    @overload
    def ask(self, question: Any, *, answer: type[C], **options: Unpack[AskOptions]) -> C: ...

    @overload
    def ask(self, question: Any, **options: Unpack[AskOptions]) -> Any: ...

    def ask(self, question: Any, *, answer: type[Contract] | None = None, **options: Unpack[AskOptions]) -> Any:
        """Ask a person and get the answer: see `Context.ask`."""

        def act(asked: Act) -> None:
            if isinstance(asked, Commit):
                self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Record):
                self._session.record(asked.records)

        return follow(self._asking(question, terms_of(answer, **options)), act)

    def fan_out(
        self, handoffs: Sequence[Handoff[Any]], *, wait: Wait = "all", failures: Failures = "fail_fast"
    ) -> list[Any]:
        """Wait for jobs of other agents and get their results: see `Context.fan_out`."""
        return follow(self._joining(handoffs, wait, failures), self._session.write)

    def effect(self, key: str, fn: Callable[..., T], *args: Any, unsure: Unsure = "stop", **kwargs: Any) -> T:
        """Do something outside, with one recorded outcome: see `Context.effect`."""
        refuse_async(f"effect {key!r}", fn)

        def act(asked: Act) -> Any:
            if isinstance(asked, Perform):
                return fn(*args, **kwargs)
            if isinstance(asked, Ask):
                return follow(self._asking(asked.question, asked.terms, asked.key), act)
            if isinstance(asked, Record):
                self._session.record(asked.records)
            else:
                self._commit(asked.full, asked.digest, asked.result)

        result: T = follow(self._effecting(key, [args, kwargs], unsure), act)
        return result

    def _commit(self, full: str, digest: bytes, result: Any) -> None:
        snapshot, records = self._steps.finish(full, digest, result)
        if snapshot is not None:
            self._session.save(snapshot, records=records)
        else:
            self._session.record(records)


class Context(About):
    """The context of async code. `sync` is the same for sync code that it calls."""

    @cached_property
    def sync(self) -> SyncContext:
        """The context for sync code."""
        return SyncContext(self._session, self._agent, self.payload, self.resources, self._steps)

    @overload
    async def step(
        self, name: str, fn: Callable[..., Awaitable[T]], *args: Any, key: str | None = None, **kwargs: Any
    ) -> T: ...

    @overload
    async def step(self, name: str, fn: Callable[..., T], *args: Any, key: str | None = None, **kwargs: Any) -> T: ...

    async def step(self, name: str, fn: Callable[..., Any], *args: Any, key: str | None = None, **kwargs: Any) -> Any:
        """Run `fn(*args, **kwargs)` once in this hop and record its result; a resumed hop gets the recorded one.

        `fn` may be sync (it runs in a thread then) or async; its result must be plain values. Steps are told apart by
        their name and how often it was used; the same name used concurrently, and any step inside of a framework's
        agent, needs a `key` that is its own in this hop. Raises `StepMismatch` if the recorded arguments were
        others. If the process dies while `fn` runs, it runs again.
        """
        check_function(f"step {name!r}", fn)
        full, digest, recorded = self._steps.begin(name, key, [args, kwargs], users=True)
        if recorded is not None:
            return recorded.result
        try:
            result = await _called(fn, args, kwargs)
            await self._commit(full, digest, result)
        finally:
            self._steps.leave(name)
        return result

    async def emit(self, *values: Any) -> None:
        """Stream plain values (tokens, progress) to who reads along with `job.stream()`.

        They are live, and no part of the job: an attempt that is tried again streams again, and what can't be sent
        while the store is away is lost. One call is one round trip: give several values at once where they come fast.
        """
        await self._session.aemit(values)

    @overload
    async def ask(self, question: Any, *, answer: type[C], **options: Unpack[AskOptions]) -> C: ...

    @overload
    async def ask(self, question: Any, **options: Unpack[AskOptions]) -> Any: ...

    async def ask(self, question: Any, *, answer: type[Contract] | None = None, **options: Unpack[AskOptions]) -> Any:
        """Ask a person and get the answer. For plain functions.

        The job becomes input_required, is in `coordinator.inbox()`, and costs nothing while it waits; once it is
        answered the agent runs again from its recorded steps, on any worker, and gets the value here: an instance of
        `answer`, if that contract is given, else plain values. An answer that does not fit is refused.

        `assignee` says who is asked. After `timeout` (seconds or a timedelta; None: never) `escalate` is asked, a name
        or several with the time that each has, [("lead", 3600), ...]; then `default` is taken as the answer. Where
        there is none `Unanswered` is raised: an agent that does not catch it fails, and asks again when it is redriven.
        """

        async def act(asked: Act) -> None:
            if isinstance(asked, Commit):
                await self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Record):
                await self._session.arecord(asked.records)

        return await afollow(self._asking(question, terms_of(answer, **options)), act)

    async def fan_out(
        self, handoffs: Sequence[Handoff[Any]], *, wait: Wait = "all", failures: Failures = "fail_fast"
    ) -> list[Any]:
        """Have other agents do something at once, and get their results in the order given.

        Each handoff becomes a job of its own (`info().parent` is this one), with its own retries and handoffs; its
        result is that of its last hop. Meanwhile this job holds no worker; then the agent runs again from its recorded
        steps, on any worker. `wait`: until "all" have ended, "any" one is completed, or so many are. The others are
        canceled then, and None stands in their places. `failures`: a job that fails, is rejected or canceled ends the
        waiting at once ("fail_fast"), as soon as there are more than a number of them, or never ("collect": a `wait`
        that can't be met ends with what there is). Then `ChildrenFailed` is raised, and the others are canceled. A
        tolerated failure gives a `ChildFailed`. When this job is canceled its children are. For plain functions.

        An uncaught `ChildrenFailed` fails the job (reason "children") without another attempt. When a job that
        failed by it, or before its children had ended, is redriven, completed children keep their results, and new
        ones are made in the places of the others.
        """
        return await afollow(self._joining(handoffs, wait, failures), self._session.awrite)

    @overload
    async def effect(
        self, key: str, fn: Callable[..., Awaitable[T]], *args: Any, unsure: Unsure = "stop", **kwargs: Any
    ) -> T: ...

    @overload
    async def effect(self, key: str, fn: Callable[..., T], *args: Any, unsure: Unsure = "stop", **kwargs: Any) -> T: ...

    async def effect(self, key: str, fn: Callable[..., Any], *args: Any, unsure: Unsure = "stop", **kwargs: Any) -> Any:
        """Do something outside (pay, mail, order) with one recorded outcome, by `fn(*args, **kwargs)`.

        That it begins is recorded before, its result after; a resumed hop gets the recorded result. `key` names it
        among the effects of this hop. If it was begun and its outcome is not known, because the process died or `fn`
        raised, `unsure` decides: "stop" raises `Ambiguous` (the job becomes a dead letter), "ask" asks a person (in
        plain functions), "repeat" calls `fn` again. An `fn` that knows that nothing happened raises `bp.NotDone`.
        Give the service `ctx.effect_key(key)` as its idempotency key where it takes one.
        """

        check_function(f"effect {key!r}", fn)

        async def act(asked: Act) -> Any:
            if isinstance(asked, Perform):
                return await _called(fn, args, kwargs)
            if isinstance(asked, Ask):
                return await afollow(self._asking(asked.question, asked.terms, asked.key), act)
            if isinstance(asked, Record):
                await self._session.arecord(asked.records)
            else:
                await self._commit(asked.full, asked.digest, asked.result)

        return await afollow(self._effecting(key, [args, kwargs], unsure), act)

    async def _commit(self, full: str, digest: bytes, result: Any) -> None:
        snapshot, records = self._steps.finish(full, digest, result)
        if snapshot is not None:
            await self._session.asave(snapshot, records=records)
        else:
            await self._session.arecord(records)


async def _called(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(fn):
        return await fn(*args, **kwargs)
    result = await in_thread(lambda: fn(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


def current() -> Context:
    """The context of the job that runs this code; `NoJob` outside of one. In sync code use its `.sync`."""
    try:
        return _CURRENT.get()
    except LookupError:
        raise NoJob("batonpass.current() was called outside of a job: it works in code that a worker runs") from None


def entered(context: Context) -> None:
    """Make a context the current one, for this task and all that it starts."""
    _CURRENT.set(context)
