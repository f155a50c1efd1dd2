"""Questions of LangGraph on the page: the decisions of LangChain's middleware, and several questions at once."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt

import batonpass as bp

from ..apps.kit import question
from ..apps.langgraph_app import Topic, Words
from ..apps.langgraph_kit import graph, only
from ..workers.serving import DEADLINE, serving
from .service import service_of
from .visitor import Visitor, visiting

pytestmark = pytest.mark.capability("langgraph")

KINDS = ["approve", "edit", "reject", "respond"]
CALL = {"name": "pay", "args": {"n": 7}}
REVIEW = {"action_requests": [CALL], "review_configs": [{"action_name": "pay", "allowed_decisions": KINDS}]}


def decided() -> Any:
    def person(state: Any) -> Any:
        return {"notes": [repr(interrupt(REVIEW)["decisions"])]}

    return graph(person)


def several() -> Any:
    """A graph with four questions at once."""
    made = StateGraph(Words)
    asks: dict[str, Any] = {"free": "why?", "parts": {"to": ["Ada"]}, "sure": "sure?", "pay": REVIEW}
    for name, asked in asks.items():
        schema: Any = {"response_schema": {"type": "boolean"}} if name == "sure" else {}

        def node(state: Any, name: str = name, asked: Any = asked, schema: Any = schema) -> Any:
            return {"notes": [f"{name} {interrupt(asked, **schema)}"]}

        made.add_node(name, node)
        made.add_edge(START, name)
    return made


def begun(page: str) -> dict[str, Any]:
    """What the page's forms of options begin with, by their options."""
    found = re.findall(r'aria-label="(\w+), as JSON" spellcheck="false">\n(.*?)</textarea>', page, re.DOTALL)
    return {name: json.loads(unescape(text)) for name, text in found}


async def test_what_the_page_offers_is_an_answer(sqlite_url: str) -> None:
    """Its buttons, and what the forms of options that need more than their word begin with."""
    app = only(decided)
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("a", Topic(text="rain"))
            await question(job)
            await visitor.open("/ui/inbox")
            buttons = re.findall(r'name="json" value="(.*?)">(\w+)</button>', visitor.page)
            forms = begun(visitor.page)
            assert [name for _, name in buttons] == ["approve", "reject"]
            assert forms == {
                "edit": {"decisions": [{"type": "edit", "edited_action": CALL}]},
                "respond": {"decisions": [{"type": "respond", "message": ""}]},
            }
            offered = [unescape(value) for value, _ in buttons] + [json.dumps(each) for each in forms.values()]
            for answer in offered:
                job = await coordinator.submit("a", Topic(text="rain"))
                await question(job)
                await visitor.open(f"/ui/jobs/{job.id}")
                await visitor.send(f"/ui/jobs/{job.id}/answer", json=answer)
                assert (await job.result(timeout=DEADLINE)).notes[0].startswith("[{'type':")


async def test_a_word_that_needs_more_is_refused_with_the_rest(sqlite_url: str) -> None:
    async with serving(only(decided), sqlite_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await question(job)
        with pytest.raises(bp.ContractViolation) as told:
            await job.answer("edit")
        whole = json.loads(str(told.value).partition("A whole answer for 'edit': ")[2])
        await job.answer(whole)
        assert "'n': 7" in (await job.result(timeout=DEADLINE)).notes[0]


def field_of(visitor: Visitor, asks: str) -> str:
    """The name of the page's field under a question with these words."""
    blocks = re.findall(r'<div class="field">(.*?)<label.*?name="(.*?)"', visitor.page, re.DOTALL)
    [name] = [unescape(name) for asked, name in blocks if asks in asked]
    return name


async def test_each_of_several_questions_has_a_field(sqlite_url: str) -> None:
    app = only(several)
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit("a", Topic(text="rain"))
            at_first = await question(job)
            path = f"/ui/jobs/{job.id}"
            assert "4 questions at once" in await visitor.open(path)
            free, parts, sure, pay = [field_of(visitor, asks) for asks in ("why?", "Ada", "sure?", "approve")]
            assert sure.startswith("boolean?:")

            async def send(typed: dict[str, Any], status: int = 200) -> str:
                return await visitor.send(f"{path}/answer", status, **typed)

            assert "begins like JSON" in await send({free: "as is", parts: "{"}, 422)
            assert "as is</textarea>" in visitor.page
            assert "'edit' is not one of" in await send({pay: "edit"}, 422)
            await send({free: "as is", parts: '{"a": 1}', sure: "true", pay: ""})
            assert list((await question(job, at_first)).values()) == [REVIEW]
            await visitor.open(path)
            await send({field_of(visitor, "approve"): "reject"})
            notes = (await job.result(timeout=DEADLINE)).notes
            assert sorted(notes)[::2] == ["free as is", "pay {'decisions': [{'type': 'reject'}]}"]
            assert sorted(notes)[1::2] == ["parts {'a': 1}", "sure True"]
