"""Context: what an agent gets as `ctx`, also available anywhere inside a job as `batonpass.current()`."""

from __future__ import annotations

import inspect
import time
from asyncio import CancelledError
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar, Token
from functools import cached_property
from typing import Any, TypeVar, overload

from anyio import CancelScope, sleep
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled
from typing_extensions import Unpack

from ...contracts.contract import Contract
from ...contracts.duration import Duration
from ...contracts.errors import NoJob
from ...contracts.fanout import Failures, Wait
from ...contracts.handoff import Handoff
from ...contracts.options import AskOptions
from ...coordinator.commands import Command
from ...coordinator.following import afollow, follow
from ..spans import call_span
from ..threads import in_thread
from .asking import terms_of
from .base import BaseContext
from .counted import Later
from .effects import Act, Ask, Commit, Found, Perform, Record, TakeBack, Unsure
from .steps import Recorded, check_function, refuse_async

T = TypeVar("T")
P = TypeVar("P", bound=Contract)
C = TypeVar("C", bound=Contract)
_CURRENT: ContextVar[Context] = ContextVar("batonpass_context")


class SyncContext(BaseContext):
    """The context for sync code: a plain `def` agent, a tool, a task."""

    def step(self, name: str, fn: Callable[..., T], /, *args: Any, key: str | None = None, **kwargs: Any) -> T:
        """Run `fn(*args, **kwargs)` and record its result: see `Context.step`."""
        refuse_async(f"step {name!r}", fn)
        full, digest, recorded = self._steps.begin(name, key, [args, kwargs], users=True, part=self._part)
        if recorded is not None:
            self._note(full, recorded)
            result: T = recorded.result
            return result
        try:
            with call_span(self._session, "step", name):
                result = fn(*args, **kwargs)
            self._commit(full, digest, result)
        finally:
            self._steps.leave(name)
        return result

    def emit(self, *values: Any) -> None:
        """Stream values to readers of `job.stream()`: see `Context.emit`."""
        self._session.emit(values)

    @overload
    def ask(self, question: Any, *, answer: type[C], **options: Unpack[AskOptions]) -> C: ...

    @overload
    def ask(self, question: Any, **options: Unpack[AskOptions]) -> Any: ...

    def ask(self, question: Any, *, answer: type[Contract] | None = None, **options: Unpack[AskOptions]) -> Any:
        """Ask a person and return the answer: see `Context.ask`."""

        def act(asked: Act) -> None:
            if isinstance(asked, Commit):
                self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Record):
                self._session.record(asked.records, part=self._part)
            elif isinstance(asked, Later):
                self._let_others()

        with self._steps.turn:
            return follow(self._asking(question, terms_of(answer, **options)), act)

    def fan_out(
        self, handoffs: Iterable[Handoff[Any]], *, wait: Wait = "all", failures: Failures = "fail_fast"
    ) -> list[Any]:
        """Run other agents in parallel and return their results: see `Context.fan_out`."""

        def act(asked: Command[Any] | Later) -> Any:
            return self._let_others() if isinstance(asked, Later) else self._session.write(asked)

        given, told = self._several(handoffs), self._steps.losses.told()
        with self._steps.turn:
            return follow(self._joining(given, wait, failures, told), act)

    def sleep(self, delay: Duration, *, key: str | None = None) -> None:
        """Wait without a worker: see `Context.sleep`."""
        self._sleep(delay, key)

    def effect(self, key: str, fn: Callable[..., T], /, *args: Any, unsure: Unsure = "stop", **kwargs: Any) -> T:
        """Do something outside of Batonpass, with one recorded outcome: see `Context.effect`."""
        refuse_async(f"effect {key!r}", fn)

        def act(asked: Act) -> Any:
            if isinstance(asked, Perform):
                with call_span(self._session, "effect", key):
                    asked.begin()
                    return fn(*args, **kwargs)
            if isinstance(asked, Ask):
                return follow(self._asking(asked.question, asked.terms, asked.key), act)
            if isinstance(asked, Record):
                self._session.record(asked.records, part=self._part)
            elif isinstance(asked, Commit):
                self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Found):
                self._note(asked.full, asked.recorded)

        result: T = follow(self._effecting(key, fn, (args, kwargs), unsure), act)
        return result

    def _note(self, full: str, recorded: Recorded) -> None:
        if records := self._found(full, recorded):
            self._session.record(records, part=self._part)
            recorded.stored = True

    def _commit(self, full: str, digest: bytes | None, result: Any) -> None:
        with self._steps.finishing(full, digest, result) as (snapshot, records):
            if snapshot is not None:
                self._session.save(snapshot, records=records)
            else:
                self._session.record(records, part=self._part)

    def _let_others(self) -> None:
        self._steps.turn.release()
        time.sleep(Later.seconds)
        self._steps.turn.acquire()


class Context(BaseContext):
    """The context for async code. `sync` is the same for sync code that it calls."""

    @cached_property
    def sync(self) -> SyncContext:
        """The context for sync code."""
        made = SyncContext(self._session, self._agent, self.payload, self.resources, self._steps)
        made._part = self._part
        return made

    def _here(self) -> Context:
        """The same for the part of the agent that calls this. It may pass it on to threads that it starts, in which
        nothing else tells whose they are."""
        part = self._session.parts.here() if self._session.parts else ""
        if part == self._part:
            return self
        made = Context(self._session, self._agent, self.payload, self.resources, self._steps)
        made._part = part
        return made

    @overload
    async def step(
        self, name: str, fn: Callable[..., Awaitable[T]], /, *args: Any, key: str | None = None, **kwargs: Any
    ) -> T: ...

    @overload
    async def step(
        self, name: str, fn: Callable[..., T], /, *args: Any, key: str | None = None, **kwargs: Any
    ) -> T: ...

    async def step(
        self, name: str, fn: Callable[..., Any], /, *args: Any, key: str | None = None, **kwargs: Any
    ) -> Any:
        """Run `fn(*args, **kwargs)` and record its result. A resumed hop returns the recorded result instead.

        `fn` may be sync (then it runs in a thread) or async. Its result must be plain values. If the process dies while
        `fn` runs, it runs again.

        A step is identified by its name and how often that name was used. If you use a name concurrently, or inside a
        framework's agent, give a `key` that is unique in this hop: the same name and key with the same arguments return
        the recorded result, also in the same run. Raises `StepMismatch` if the step was recorded with other arguments.
        """
        check_function(f"step {name!r}", fn)
        full, digest, recorded = self._steps.begin(name, key, [args, kwargs], users=True, part=self._part)
        if recorded is not None:
            await self._note(full, recorded)
            return recorded.result
        try:
            # A step that runs beside it under the same name begins now, and is refused on every store: some commit
            # without waiting.
            await checkpoint()
            with call_span(self._session, "step", name):
                result = await _called(fn, args, kwargs)
            await self._commit(full, digest, result)
        finally:
            self._steps.leave(name)
        return result

    async def emit(self, *values: Any) -> None:
        """Stream plain values (tokens, progress) to readers of `job.stream()`.

        Streamed values are not part of the job. A retried attempt streams again, and so does a plain function that runs
        again after a question, a fan-out or a sleep, except inside of steps. What can't be sent during an outage is
        lost. One call is one round trip, so pass several values at once if they come fast.
        """
        await self._session.aemit(values)

    @overload
    async def ask(self, question: Any, *, answer: type[C], **options: Unpack[AskOptions]) -> C: ...

    @overload
    async def ask(self, question: Any, **options: Unpack[AskOptions]) -> Any: ...

    async def ask(self, question: Any, *, answer: type[Contract] | None = None, **options: Unpack[AskOptions]) -> Any:
        """Ask a person and return the answer. For plain functions.

        The job becomes input_required and appears in `coordinator.inbox()`. It doesn't occupy a worker while it waits.
        When it is answered, the agent runs again from its recorded steps, on any worker, and this call returns the
        answer: an instance of the contract `answer` if given, else plain values. Answers that don't fit are refused.

        `assignee` is asked first. After `timeout` (seconds or a timedelta; None: never), `escalate` is asked: a name,
        or several with a time each, [("lead", 3600), ...]. After the last one, `default` is the answer. Without a
        default, `Unanswered` is raised. An agent that doesn't catch it fails, and asks again when redriven.
        """

        async def act(asked: Act) -> None:
            if isinstance(asked, Commit):
                await self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Record):
                await self._session.arecord(asked.records, part=self._part)
            elif isinstance(asked, Later):
                await self._let_others()

        async with self._steps.tasks_turn:
            return await afollow(self._asking(question, terms_of(answer, **options)), act)

    async def fan_out(
        self, handoffs: Iterable[Handoff[Any]], *, wait: Wait = "all", failures: Failures = "fail_fast"
    ) -> list[Any]:
        """Run other agents in parallel and return their results, in the order given. For plain functions.

        Each handoff becomes a child job (`info().parent` is this one) with its own retries and handoffs. The child's
        result is the result of its last hop. This job doesn't occupy a worker while it waits. Then the agent runs again
        from its recorded steps, on any worker. If this job is canceled, its children are too.

        - `wait` is "all" (all have ended), "any" (one has completed) or a number (that many have). The other children
          are then canceled, and their results are None.
        - `failures` is how many children may fail, be rejected or be canceled: none ("fail_fast"), a number, or all
          ("collect", where a `wait` that can't be met ends with what there is). If more fail, `ChildrenFailed` is
          raised and the others are canceled. A tolerated failure appears as a `ChildFailed`.

        An uncaught `ChildrenFailed` fails the job (reason "children") without another attempt. An own error has that
        reason too, once its attempts are over, if children had failed and nothing new was recorded since. If a job that
        failed this way, or before its children had ended, is redriven, completed children keep their results, and the
        others go on. (Others only go on if it is redriven with `lost_children`.)
        """

        async def act(asked: Command[Any] | Later) -> Any:
            return await (self._let_others() if isinstance(asked, Later) else self._session.awrite(asked))

        given, told = self._several(handoffs), self._steps.losses.told()
        await checkpoint()  # those that are called beside it are called now, on every store: some answer at once
        async with self._steps.tasks_turn:
            return await afollow(self._joining(given, wait, failures, told), act)

    async def sleep(self, delay: Duration, *, key: str | None = None) -> None:
        """Wait for `delay` (seconds or a timedelta), also for weeks. For plain functions.

        The job doesn't occupy a worker while it waits. When the time has come, by the store's clock, the agent runs
        again from its recorded steps, on any worker, and this call returns. After a crash, a failure or a redrive only
        the rest of the time is waited for. Sleeps are counted: give those that begin in tasks or threads of their own a
        `key` that is unique in this hop.
        """
        self._sleep(delay, key)

    @overload
    async def effect(
        self, key: str, fn: Callable[..., Awaitable[T]], /, *args: Any, unsure: Unsure = "stop", **kwargs: Any
    ) -> T: ...

    @overload
    async def effect(
        self, key: str, fn: Callable[..., T], /, *args: Any, unsure: Unsure = "stop", **kwargs: Any
    ) -> T: ...

    async def effect(
        self, key: str, fn: Callable[..., Any], /, *args: Any, unsure: Unsure = "stop", **kwargs: Any
    ) -> Any:
        """Do something outside of Batonpass (pay, mail, order) by calling `fn(*args, **kwargs)`, with one recorded
        outcome.

        The effect is recorded before it starts, and again with its result. A resumed hop returns the recorded result.
        `key` identifies it among the effects of this hop: a second call with it returns the recorded result. If it
        started and its outcome is unknown, because the process died or `fn` raised, `unsure` decides: "stop" raises
        `Ambiguous` (the job becomes a dead letter), "ask" asks a person (in plain functions), "repeat" calls `fn`
        again. If `fn` knows that nothing happened, it should raise `bp.NotDone`. If the service accepts an idempotency
        key, give it `ctx.effect_key(key)`.
        """

        check_function(f"effect {key!r}", fn)

        async def act(asked: Act) -> Any:
            if isinstance(asked, Perform):
                with call_span(self._session, "effect", key):
                    return await _performed(asked, fn, args, kwargs)
            if isinstance(asked, Ask):
                return await afollow(self._asking(asked.question, asked.terms, asked.key), act)
            if isinstance(asked, Record):
                with CancelScope(shield=isinstance(asked, TakeBack)):
                    await self._session.arecord(asked.records, part=self._part)
                    await checkpoint_if_cancelled()  # before anything begins
            elif isinstance(asked, Commit):
                await self._commit(asked.full, asked.digest, asked.result)
            elif isinstance(asked, Found):
                await self._note(asked.full, asked.recorded)

        return await afollow(self._effecting(key, fn, (args, kwargs), unsure), act)

    async def _let_others(self) -> None:
        self._steps.tasks_turn.release()
        try:
            await sleep(Later.seconds)
        finally:
            with CancelScope(shield=True):
                await self._steps.tasks_turn.acquire()

    async def _note(self, full: str, recorded: Recorded) -> None:
        if records := self._found(full, recorded):
            await self._session.arecord(records, part=self._part)
            recorded.stored = True

    async def _commit(self, full: str, digest: bytes | None, result: Any) -> None:
        with self._steps.finishing(full, digest, result) as (snapshot, records):
            if snapshot is not None:
                await self._session.asave(snapshot, records=records)
            else:
                await self._session.arecord(records, part=self._part)


async def _called(fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(fn):
        return await fn(*args, **kwargs)
    result = await in_thread(lambda: fn(*args, **kwargs))
    return await result if inspect.isawaitable(result) else result


async def _performed(asked: Perform, fn: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if inspect.iscoroutinefunction(fn):
        asked.begin()
        return await fn(*args, **kwargs)

    def begins() -> Any:
        asked.begin()
        return fn(*args, **kwargs)

    try:
        return await _called(begins, (), {})
    except CancelledError:
        asked.call_off()
        raise


def current() -> Context:
    """The context of the job that runs this code. Raises `NoJob` outside of a job. In sync code, use its `.sync`."""
    try:
        return _CURRENT.get()._here()  # pyright: ignore[reportPrivateUsage]
    except LookupError:
        raise NoJob(
            "batonpass.current() was called outside of a job: it only works in code that a worker runs. A thread that "
            "this code starts itself lacks it: pass the context on"
        ) from None


def entered(context: Context) -> Token[Context]:
    """Make a context the current one, for this task and everything that it starts. `left` undoes this."""
    return _CURRENT.set(context)


def left(before: Token[Context]) -> None:
    """Make the context current again that was current before `entered`, in the same task or thread."""
    _CURRENT.reset(before)
