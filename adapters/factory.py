"""Factory: how the user's function becomes the framework's object for one delivery."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, cast

from ..contracts.agent import Agent
from ..contracts.arity import takes_context as with_context
from .borders import settle


@asynccontextmanager
async def built(agent: Agent[Any], context: Any) -> AsyncGenerator[Any]:
    """What the agent's factory makes, for as long as the run lasts.

    The factory takes nothing or `ctx`, is sync or async, and may be a (sync or async) context manager, which is held
    open. It is called once.
    """
    made = await settle(agent.fn(context) if takes_context(agent) else agent.fn())
    async with AsyncExitStack() as held:
        if isinstance(made, AbstractAsyncContextManager):
            made = await held.enter_async_context(cast("AbstractAsyncContextManager[Any]", made))
        elif isinstance(made, AbstractContextManager):
            made = held.enter_context(cast("AbstractContextManager[Any]", made))
        yield made


def takes_context(agent: Agent[Any]) -> bool:
    """Whether the factory takes `ctx`, so that what it makes may differ from job to job."""
    return with_context(agent.fn, 0)
