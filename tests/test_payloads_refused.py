"""Payloads that don't fit are refused in a few words that name the field, whatever checks them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, Discriminator, Tag, WithJsonSchema

import batonpass as bp

from .service.service import caller, service_of


class Human(BaseModel):
    type: Literal["human"] = "human"
    content: str


class Ai(BaseModel):
    type: Literal["ai"] = "ai"
    content: str
    calls: list[int] = []


class Tool(BaseModel):
    type: Literal["tool"] = "tool"
    content: str


def _type(value: Any) -> str:
    """As LangChain's AnyMessage tells its messages apart."""
    if isinstance(value, dict) and "type" in value:
        return str(value["type"])
    if isinstance(value, BaseModel):
        return str(value.type)  # type: ignore[attr-defined]
    raise TypeError("Expected a dictionary\nwith a 'type' key")


Message = Annotated[
    Annotated[Human, Tag("human")] | Annotated[Ai, Tag("ai")] | Annotated[Tool, Tag("tool")], Discriminator(_type)
]


def _never(value: Any) -> Any:
    raise KeyError(value)


class Chat(bp.Contract, name="refused.chat"):
    about: str = ""
    messages: list[Message]


class Never(bp.Contract, name="refused.never"):
    text: str
    never: Annotated[str, BeforeValidator(_never)] = ""


class First(BaseModel):
    a: int


class Second(BaseModel):
    a: int
    b: int = 0


ONE = {"oneOf": [{"title": each.__name__, "type": "object", "required": ["a"]} for each in (First, Second)]}


class Several(bp.Contract, name="refused.several"):
    one: Annotated[First | Second | None, WithJsonSchema(ONE)] = None
    many: list[int] | int = 0


app = bp.App("refused")
for accepted in (Chat, Never, Several):
    app.agent(accepted.__name__.lower(), accepts=accepted, returns=accepted)(lambda given: given)


async def refused(coordinator: bp.Coordinator, agent: str, payload: dict[str, Any]) -> tuple[str, ...]:
    with pytest.raises(bp.ContractViolation) as told:
        await coordinator.submit(agent, payload)
    assert all(field in str(told.value) for field in told.value.fields)
    assert len(str(told.value)) < 400
    return told.value.fields


async def test_an_error_that_pydantic_lets_through_names_its_field(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url, app=app) as coordinator:
        for wrong in ({"role": "user", "content": "hi"}, "hi"):
            found = await refused(coordinator, "chat", {"about": "x", "messages": [wrong]})
            assert found == ("messages: TypeError: Expected a dictionary with a 'type' key",)
        assert await refused(coordinator, "never", {"text": "a", "never": "b"}) == ("never: KeyError: 'b'",)
        assert await coordinator.jobs() == []


async def test_without_the_class_it_is_told_in_few_words(sqlite_url: str) -> None:
    """The service has none of them. It answers 422, with what the schema finds."""
    one_of = "one of 'human', 'ai', 'tool'"
    cases: list[tuple[str, dict[str, Any], str]] = [
        ("chat", {"messages": [{"role": "user"}]}, f"messages.0.type: Field required, {one_of}"),
        ("chat", {"messages": [{"type": "user"}]}, f"messages.0.type: 'user' is not {one_of}"),
        ("chat", {"messages": [{"type": "tool"}]}, "messages.0.content: Field required"),
        ("chat", {"messages": [{"type": "ai", "content": "", "calls": [""]}]}, "calls.0: '' is not of type 'integer'"),
        ("chat", {"messages": "word " * 1000}, "word ' is not of type 'array'"),
        ("several", {"many": "x"}, "many: 'x' is not valid under any of the given schemas"),
        ("several", {"one": {"a": 1}}, "one: fits more than one of First, Second"),
    ]
    with service_of(app, sqlite_url) as address:
        async with caller(address) as http:
            for agent, payload, told in cases:
                reply = await http.post("/jobs", json={"agent": agent, "payload": payload})
                assert reply.status_code == 422
                assert reply.json()["fields"][0].endswith(told)
                assert len(reply.text) < 1000
