"""A crew goes on with outputs of its finished tasks that a person has edited."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel, Field

import batonpass as bp
from batonpass.testing import serving

from ..apps.crewai_app import Article, Topic
from ..apps.crewai_kit import Crews, only
from ..apps.kit import checkpoints

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Score(BaseModel):
    points: int = Field(alias="score")
    why: str = "no reason"


SAID = {"score": 3}
PLACE = "tasks.score{}"
_TASKS = {"changes": ("tasks",), "append": ("tasks",), "state": ()}


class Desk:
    """A crew whose second task fails at a low score, as its first one gives it, until that is edited."""

    def __init__(self, crews: Crews, kind: str) -> None:
        self.seen: list[Any] = []
        crews.script["score"] = json.dumps(SAID)
        kinds = {"pydantic": {"output_pydantic": Score}, "json": {"output_json": Score}, "raw": {}}

        def factory() -> Any:
            first = crews.task("score", **kinds[kind])
            return crews.crew(first, crews.task("end", guardrail=lambda _: self._look(first.output), context=[first]))

        self.app = only(factory, retries=1, leave=lambda _: Article(text="done"))

    def _look(self, output: Any) -> tuple[bool, Any]:
        self.seen.append((output.raw, output.pydantic or output.json_dict))
        if output.raw == json.dumps(SAID):
            raise OSError("too low")
        return True, "fine"

    async def edited(self, *edits: dict[str, Any]) -> list[bp.Checkpoint]:
        """The checkpoints of a job that fails, and is redriven with each of these changes."""
        async with serving(self.app) as coordinator:
            job = await coordinator.submit("a", Topic(text="rain"))
            for edit in edits:
                with pytest.raises(bp.JobFailed):
                    await job.result(timeout=20)
                await coordinator.redrive(
                    job.id, changes={PLACE.format(at and f".{at}"): value for at, value in edit.items()}
                )
            await job.result(timeout=20)
            return await checkpoints(coordinator, job)


@pytest.mark.parametrize("kind", ["pydantic", "json"])
@pytest.mark.parametrize(
    ("at", "value", "raw"),
    [
        ("raw", '{"score": 8}', '{"score": 8}'),
        ("", {"raw": '{"score": 8}'}, '{"score": 8}'),
        ("{}.points", 8, '{"points": 8, "why": "no reason"}'),
        ("{}", {"points": 8, "why": "no reason"}, '{"points": 8, "why": "no reason"}'),
    ],
)
async def test_its_text_and_its_object_agree(kind: str, at: str, value: Any, raw: str, crews: Crews) -> None:
    desk = Desk(crews, kind)
    saved = await desk.edited({at.format(kind): value})
    typed: Any = Score(score=8)
    assert desk.seen[-1] == (raw, typed if kind == "pydantic" else typed.model_dump())
    assert saved[-1].state["tasks"]["score"] == {"raw": raw, kind: {"points": 8, "why": "no reason"}}


async def test_a_plain_text_is_just_that(crews: Crews) -> None:
    desk = Desk(crews, "raw")
    await desk.edited({"raw": "eight"})
    assert desk.seen[-1] == ("eight", None)


async def test_what_can_not_agree_is_refused_at_once(crews: Crews) -> None:
    desk = Desk(crews, "pydantic")
    with pytest.raises(bp.BadSetup, match=r"task 'score' has a class, so tasks.score.raw must be JSON of it"):
        await desk.edited({"raw": "eight"})
    with pytest.raises(bp.BadSetup, match=r"tasks.score.raw and tasks.score.pydantic say different things"):
        await desk.edited({"raw": '{"score": 8}', "pydantic": {"points": 9, "why": ""}})
    with pytest.raises(bp.BadSetup, match=r"tasks.score is a task's output, so it needs its text"):
        await desk.edited({"raw": 8})


@pytest.mark.parametrize("tasks", [{}, None, {"scoer": {"raw": "8"}}, {"score": {"raw": "8"}, "end": {"raw": "fine"}}])
async def test_an_edit_that_leaves_out_an_output_or_adds_one_is_refused(tasks: Any, crews: Crews) -> None:
    desk = Desk(crews, "raw")
    async with serving(desk.app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        with pytest.raises(bp.BadSetup, match=r"just the tasks that it has finished \('score'\)"):
            await coordinator.redrive(job.id, changes={"tasks": tasks})


@pytest.mark.parametrize("edit", [{"changes": {"style": "short"}}, {"append": {"notes": ["short"]}}, {"state": {}}])
async def test_an_edit_for_another_agent_need_not_name_them(edit: dict[str, Any], crews: Crews) -> None:
    desk = Desk(crews, "raw")
    got: list[bp.State] = []

    @desk.app.agent("plain", accepts=bp.State, returns=Article)
    async def plain(state: bp.State) -> Article:
        got.append(state)
        return Article(text="done")

    async with serving(desk.app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        [finished] = await checkpoints(coordinator, job)
        await (await coordinator.fork(finished.id, agent="plain", **edit)).result(timeout=20)
    assert got[0].model_dump().keys() == {*edit.get("changes", ()), *edit.get("append", ()), *_TASKS[next(iter(edit))]}


async def test_a_text_that_its_class_does_not_take_is_named_and_can_be_edited_again(crews: Crews) -> None:
    desk = Desk(crews, "pydantic")
    async with serving(desk.app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=20)
        await coordinator.redrive(job.id, changes={"tasks.score.raw": '{"score": "eight"}'})
        with pytest.raises(bp.JobFailed, match="the edited output of task 'score' is no Score") as failed:
            await job.result(timeout=20)
        assert failed.value.reason == "refused"
        await coordinator.redrive(job.id, changes={"tasks.score.raw": '{"score": 8}'})
        await job.result(timeout=20)
    assert desk.seen[-1] == ('{"score": 8}', Score(score=8))


async def test_a_new_job_begins_anew_and_is_told_the_edit(crews: Crews) -> None:
    """Its error says so, too, where it lacks a payload."""
    asked: list[str] = []

    def end(said: str) -> str:
        asked.append(said)
        return "fine"

    crews.script |= {"first": "rain is wet", "end": end}
    app = only(lambda: crews.crew(crews.task("first"), crews.task("end")))
    edit: dict[str, Any] = {"agent": "a", "changes": {"tasks.first.raw": "snow is cold"}}
    async with serving(app) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        await job.result(timeout=20)
        first = (await checkpoints(coordinator, job))[0]
        with pytest.raises(bp.ContractViolation, match="begins with it, and is told the conversation as edited") as no:
            await coordinator.fork(first.id, **edit)
        assert "To continue a failed job in the middle, redrive it with the edit" in str(no.value)
        await (await coordinator.fork(first.id, payload=Topic(text="snow"), **edit)).result(timeout=20)
    assert crews.ran == ["first", "end"] * 2
    assert "snow is cold" in asked[-1]
