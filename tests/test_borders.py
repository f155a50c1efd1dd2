"""How a user's `enter=` and `leave=` are called."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.adapters import borders
from batonpass.testing import context


class Note(bp.Contract, name="borders.note"):
    text: str


def of_two(value: Any, ctx: bp.Context) -> Any:
    return Note(text=f"{value} {ctx.agent}")


def of_any(*given: Any) -> Any:
    return of_two(*given)


async def of_one(value: Any) -> Any:
    return Note(text=str(value))


def of_one_and_a_name(value: Any, *, loud: bool = False) -> Any:
    return Note(text=str(value).upper() if loud else str(value))


def untouched(contract: Any) -> Any:
    raise AssertionError(f"the default was asked for {contract}")


@pytest.mark.parametrize(
    ("fn", "text"), [(of_two, "5 keep"), (of_any, "5 keep"), (of_one, "5"), (of_one_and_a_name, "5")]
)
async def test_with_the_context_or_without(fn: Any, text: str) -> None:
    agent = bp.App("desk").agent("keep", kind="autogen", accepts=Note, returns=Note, enter=fn, leave=fn)(lambda: None)
    async with context(agent, Note(text="x")) as ctx:
        assert await borders.leave(agent, 5, ctx, untouched) == Note(text=text)
        assert (await borders.enter(agent, Note(text="5"), ctx, dict)).text.startswith("text='5'")


async def test_a_builtin_that_does_not_say_what_it_takes() -> None:
    agent = bp.App("desk").agent("keep", kind="langgraph", accepts=Note, returns=Note, enter=dict)(lambda: None)
    async with context(agent, Note(text="x")) as ctx:
        assert await borders.enter(agent, Note(text="5"), ctx, dict) == {"text": "5"}


class Other(bp.Contract, name="borders.other"):
    text: str


class Shared(bp.Contract, name="borders.shared"):
    text: str


async def test_a_contract_from_leave_goes_to_the_one_agent_that_gets_it() -> None:
    """An agent's result goes to nobody, even if another agent would take it."""
    hands_to = {"note": Note, "other": Other, "a": Shared, "b": Shared}
    options: dict[str, Any] = {"accepts": Note, "returns": Note, "hands_to": hands_to, "leave": lambda made: made}
    agent = bp.App("desk").agent("keep", kind="crewai", **options)(lambda: None)
    assert await borders.leave(agent, Note(text="x"), None, untouched) == Note(text="x")
    assert await borders.leave(agent, Other(text="x"), None, untouched) == bp.Handoff("other", Other(text="x"))
    with pytest.raises(bp.ContractViolation, match=r"'a' and 'b' may get: return bp.Handoff\('a', ...\)"):
        await borders.leave(agent, Shared(text="x"), None, untouched)
