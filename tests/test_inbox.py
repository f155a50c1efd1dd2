"""People have one inbox: what any framework asks is listed and answered on the command line."""

from __future__ import annotations

import asyncio
import sys
from asyncio.subprocess import PIPE
from typing import Any, TypedDict

import anyio
import pytest
from pydantic import BaseModel

import batonpass as bp

from .cli.commandline import Ran


class Start(bp.Contract, name="inbox.start"):
    text: str = ""


class End(bp.Contract, name="inbox.end"):
    said: str


class Said(TypedDict, total=False):
    text: str
    said: str


class Yes(BaseModel):
    yes: bool


async def ran(url: str, *arguments: str) -> Ran:
    """A command, in a process of its own."""
    command = [sys.executable, "-m", "batonpass", *arguments, "--store", url]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    out, err = await process.communicate()
    return Ran(process.returncode or 0, out.decode(), err.decode())


async def listed(coordinator: bp.Coordinator, url: str) -> dict[str, Any]:
    """The one item of the inbox, once somebody asks."""
    with anyio.fail_after(30):
        while not await coordinator.inbox():
            await anyio.sleep(0.02)
    [item] = (await ran(url, "inbox", "--json")).json
    return dict(item)


@pytest.mark.capability("langgraph")
async def test_langgraph(sqlite_url: str) -> None:
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    app = bp.App("one")

    @app.langgraph("a", accepts=Start, returns=End)
    def factory() -> Any:
        def person(state: Any) -> Any:
            return {"said": repr(interrupt({"question": "go?", "options": ["now", "later"]}, response_schema=Yes))}

        made = StateGraph[Any, None, Any, Any](Said)
        made.add_node("person", person)
        made.add_edge(START, "person")
        return made

    async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("a", Start(text="rain"), returns=End)
        item = await listed(coordinator, sqlite_url)
        assert (item["kind"], item["question"]["question"], item["options"]) == ("langgraph", "go?", ["now", "later"])
        assert item["schema"]["required"] == ["yes"]
        refused = (await ran(sqlite_url, "answer", item["id"], '{"yes": "so"}')).complaint
        assert "yes: 'so' is not of type 'boolean'" in refused
        assert (await ran(sqlite_url, "answer", item["id"], '{"yes": true}')).code == 0
        assert (await job.result(timeout=30)).said == "Yes(yes=True)"
    assert (
        await ran(sqlite_url, "answer", job.id, '{"yes": true}', "--question", item["id"])
    ).code == 0  # a lost reply


@pytest.mark.capability("crewai")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_crewai(sqlite_url: str, crews: Any) -> None:
    from crewai import Flow
    from crewai.flow import human_feedback, listen, start

    from batonpass.testing import serving

    from .apps.crewai_app import Small, Topic
    from .apps.crewai_kit import only

    crews.script["collapse"] = lambda said: "good"

    class Review(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        @human_feedback(message="good?", emit=["revise", "good"], llm=crews.model())
        def draft(self) -> str:
            return "v1"

        @listen("good")
        def end(self, said: Any) -> str:
            return f"{said.output} {said.feedback} {said.outcome}"

    async with serving(only(Review), sqlite_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        item = await listed(coordinator, sqlite_url)
        assert (item["kind"], item["question"]["message"], item["options"]) == ("crewai", "good?", ["revise", "good"])
        assert (await ran(sqlite_url, "answer", item["id"], "great")).code == 0
        assert (await job.result(timeout=30)).text == "v1 great good"


@pytest.mark.capability("autogen")
@pytest.mark.usefixtures("log")
async def test_autogen(sqlite_url: str) -> None:
    from .apps.autogen_app import EXPECTED, INPUT, app

    async with bp.connect(sqlite_url, app=app) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("refund", INPUT["refund"])
        item = await listed(coordinator, sqlite_url)
        assert (item["kind"], item["agent"], item["assignee"]) == ("autogen", "refund", "user")
        assert (await ran(sqlite_url, "inbox", "--assignee", "nobody", "--json")).json == []
        assert item["id"] in (await ran(sqlite_url, "inbox", "--assignee", "user")).out
        assert (await ran(sqlite_url, "answer", item["id"], "granted")).code == 0
        assert (await job.result(timeout=30)).model_dump() == EXPECTED["refund"]


async def test_who_answers_is_a_name(sqlite_url: str) -> None:
    async with bp.connect(sqlite_url) as coordinator:
        with pytest.raises(bp.BadSetup, match="by= has 201 characters, but at most 200 are kept"):
            await coordinator.answer("j" * 24, "yes", by="x" * 201)
        with pytest.raises(bp.BadSetup, match="the by None is not text"):
            await coordinator.answer("j" * 24, "yes", by=None)  # type: ignore[arg-type]
