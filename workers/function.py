"""The adapter for plain functions: async ones in the worker's loop, sync ones in a thread."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from functools import lru_cache
from typing import Any, cast

from ..adapters.borders import is_outcome
from ..contracts.agent import Agent
from ..contracts.arity import is_async, takes_context
from ..contracts.contract import Contract, contract_ref
from ..contracts.errors import ContractViolation
from ..contracts.outcome import Asleep, FannedOut, Finished, Outcome, Suspended
from ..coordinator.session import Session
from .context.asking import Asking
from .context.base import pause_noted
from .context.context import Context
from .context.fan_out import Spawning
from .context.sleeping import Sleeping
from .context.steps import Pause
from .session import LeaseSession
from .threads import in_thread, place


class FunctionAdapter:
    """Runs `async def agent(payload, ctx)` and `def agent(payload, ctx)`. The second argument is optional."""

    async def run(self, agent: Agent[Any], payload: Contract, session: Session, context: Any) -> Outcome:
        """Call the function from its top. Recorded steps return their results."""
        ctx: Context = context
        held = cast("LeaseSession", session)
        result: object = None
        try:
            result = await _call(agent, payload, held, ctx)
        except BaseException as error:
            pause = pause_of(error)
            if pause is None:
                raise
        else:
            # The agent may have taken one for a result, as asyncio.gather(..., return_exceptions=True) does.
            pause = pause_noted(ctx)
        if isinstance(pause, Asking):
            return Suspended(pause.question, pause.snapshot(), pause.terms)
        if isinstance(pause, Spawning):
            return FannedOut(pause.fan_out, pause.step, pause.record, pause.snapshot())
        if isinstance(pause, Sleeping):
            return Asleep(pause.delay, pause.snapshot())
        if result is None:
            raise ContractViolation(f"agent {agent.name!r} returned nothing: did you forget return?")
        if not is_outcome(result):
            expected = contract_ref(agent.returns) if agent.returns else "a handoff (ctx.hand_off)"
            raise ContractViolation(f"agent {agent.name!r} returned a {type(result).__name__}, not {expected}")
        return Finished(result)


def pause_of(error: BaseException) -> Pause | None:
    """What an agent waits for, if that is why it ended. Of what tasks of a group wait for, the first: the run after it
    comes to the next one."""
    if isinstance(error, BaseExceptionGroup):
        pauses = [pause_of(each) for each in cast("BaseExceptionGroup[BaseException]", error).exceptions]
        return pauses[0] if None not in pauses else None
    return error if isinstance(error, Pause) else None


@lru_cache
def _form(agent: Agent[Any]) -> tuple[bool, bool]:
    """Whether the function takes the context, and whether it is async."""
    return takes_context(agent.fn, 1), is_async(agent.fn)


def _call(agent: Agent[Any], payload: Contract, session: LeaseSession, ctx: Context) -> Awaitable[Any]:
    fn, (with_context, awaited) = agent.fn, _form(agent)
    if awaited:
        session.home = place()
        called: Awaitable[Any] = fn(payload, ctx) if with_context else fn(payload)
        return called

    def call() -> Any:
        session.home = place()
        result = fn(payload, ctx.sync) if with_context else fn(payload)
        if inspect.iscoroutine(result):
            result.close()
            raise ContractViolation(
                f"agent {agent.name!r}: its function is a plain def and returned a coroutine, as a decorator does that "
                "is put around an async def: make the decorator's function async, and await there"
            )
        return result

    return in_thread(call)
