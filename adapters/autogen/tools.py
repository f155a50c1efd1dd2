"""Tools: functions that an agent's model may call, made to know the job that they run in."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from ...contracts.errors import Fenced, StepMismatch, Unavailable

# Where a tool running in this context reports an error that must end the turn. A tool may be shared by many teams.
end_turn: ContextVar[Callable[[BaseException], None]] = ContextVar("batonpass_autogen_end_turn")


def adopted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as AutoGen should call it.

    AutoGen runs a sync function in a thread without the context variables, so `bp.current()` would not work there.
    It gives a tool's error to the model, also one that says that the job is lost; and it hangs on an error that is no
    Exception (`ctx.reject()` raises one).
    """
    if getattr(function, "adopted_by_batonpass", False):
        return function

    async def call(**arguments: Any) -> Any:
        try:
            if inspect.iscoroutinefunction(function):
                return await function(**arguments)
            return await asyncio.to_thread(function, **arguments)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            end = end_turn.get(None)
            if end is None or not _concerns_job(error):
                raise
            end(error)
            raise asyncio.CancelledError from None

    call.adopted_by_batonpass = True  # type: ignore[attr-defined]
    return call


def _concerns_job(error: BaseException) -> bool:
    return not isinstance(error, Exception) or isinstance(error, Fenced | Unavailable | StepMismatch)
