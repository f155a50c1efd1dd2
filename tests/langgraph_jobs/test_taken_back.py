"""A failed job whose thread is taken back goes on from there: its later nodes run again."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

import batonpass as bp
from batonpass.adapters.langgraph.run.checkpoint import Tip
from batonpass.adapters.langgraph.run.left import is_undone
from batonpass.testing import serving

from ..apps.kit import checkpoints, question
from ..apps.langgraph_app import Notes, Topic, Words, in_order
from ..apps.langgraph_kit import only

pytestmark = pytest.mark.capability("langgraph")
RAN: list[str] = []
DOWN: list[str] = []


def node(name: str) -> Any:
    def run(state: Any) -> Any:
        RAN.append(name)
        if name in DOWN:
            raise OSError(f"{name} is down")
        return {"notes": [f"{name} of {state['text']}"]}

    return run


def line(*names: str) -> Any:
    return in_order({name: node(name) for name in names}, Words)


@pytest.fixture(autouse=True)
def _anew() -> None:
    RAN.clear()
    DOWN[:] = ["c"]


async def fails(job: bp.Job[Any]) -> None:
    with pytest.raises(bp.JobFailed, match="is down"):
        await job.result(timeout=60)
    RAN.clear()
    DOWN.clear()


async def at(coordinator: bp.Coordinator, thread: str, step: str) -> str:
    return next(each.id for each in await coordinator.timeline(thread=thread) if each.step == step)


@pytest.mark.parametrize("step", ["input", "a", "b"])
@pytest.mark.parametrize("edited", [False, True])
async def test_later_nodes_run_again(step: str, edited: bool, store_url: str) -> None:
    """Not if it was taken back to the job's last checkpoint: that is where it is."""
    async with serving(only(lambda: line("a", "b", "c"), retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        await fails(job)
        back = await coordinator.rollback(job.id, to=await at(coordinator, job.id, step))
        assert (back.job, back.hop) == (job.id, 0)
        await coordinator.redrive(job.id, changes={"text": "snow"} if edited else None)
        done = ["a", "b"][: ["input", "a", "b"].index(step)]
        rest = ["a", "b", "c"][len(done) :]
        word = "snow" if edited else "rain"
        wanted = [f"{each} of rain" for each in done] + [f"{each} of {word}" for each in rest]
        assert (await job.result(timeout=60)).notes == wanted
        assert rest == RAN
        newest = (await checkpoints(coordinator, job))[-1]
        ancestors = [each.id for each in await coordinator.ancestors(newest.id)]
        assert (back.id in ancestors) is (step != "b")


async def test_taken_back_twice(store_url: str) -> None:
    async with serving(only(lambda: line("a", "b", "c"), retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        await fails(job)
        first = await coordinator.rollback(job.id, to=await at(coordinator, job.id, "input"))
        await coordinator.rollback(job.id, to=await at(coordinator, job.id, "b"))
        await coordinator.rollback(job.id, to=first.id)
        DOWN[:] = ["b"]
        await coordinator.redrive(job.id)
        await fails(job)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["a of rain", "b of rain", "c of rain"]
        assert RAN == ["b", "c"], "what it did since the rollback is not done again"


class Found(TypedDict, total=False):
    text: str
    notes: Annotated[list[str], operator.add]


async def test_what_had_finished_there_runs_again(store_url: str) -> None:
    """What the journal has of that superstep, from before, is void. Recorded steps are not."""
    stepped: list[str] = []

    def pair() -> Any:
        async def one(state: Any) -> Any:
            RAN.append("one")
            await bp.current().step("look", lambda: stepped.append("x"), key="look")
            return {"notes": ["one"]}

        made: Any = StateGraph(Found)
        made.add_node("one", one)
        made.add_node("two", node("c"))
        made.add_node("z", node("z"))
        made.add_edge(START, "one")
        made.add_edge(START, "two")
        made.add_edge(["one", "two"], "z")
        return made.compile().with_config(max_concurrency=1)

    async with serving(only(pair, retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        await fails(job)
        DOWN[:] = ["z"]
        await coordinator.redrive(job.id)
        await fails(job)
        await coordinator.rollback(job.id, to=await at(coordinator, job.id, "input"))
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["one", "c of rain", "z of rain"]
        assert sorted(RAN) == ["c", "one", "z"]
        assert stepped == ["x"]


@pytest.mark.parametrize("memory", ["hop", "job", "thread"])
@pytest.mark.parametrize("to", [0, 1])
async def test_so_do_those_of_a_part_that_keeps_its_state(memory: Any, to: int, store_url: str) -> None:
    """Its nodes did not run, and what they had said before was taken. In a loop, it remembered visits to come."""

    class Inner(TypedDict, total=False):
        text: str
        visits: Annotated[list[str], operator.add]
        notes: list[str]

    def look(state: Any) -> Any:
        RAN.append("look")
        return {"visits": ["v"], "notes": [f"visit {len(state.get('visits', [])) + 1}"]}

    def make() -> Any:
        inner: Any = StateGraph(Inner, output_schema=Said)
        inner.add_node("look", look)
        inner.add_edge(START, "look")
        made: Any = StateGraph(Found)
        made.add_node("part", inner.compile(checkpointer=True), input_schema=Asked)
        made.add_node("w", lambda state: node("c")(state) if len(state["notes"]) > 2 else {"notes": ["again"]})
        made.add_edge(START, "part")
        made.add_edge("part", "w")
        made.add_conditional_edges("w", lambda state: "part" if state["notes"][-1] == "again" else END, ["part", END])
        return made

    async with serving(only(make, retries=1, memory=memory), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        await fails(job)
        begins = [each.id for each in await checkpoints(coordinator, job) if each.step in ("input", "w")]
        await coordinator.rollback(job.id, to=begins[-1 if to else 0])
        await coordinator.redrive(job.id)
        visits = ["visit 1", "again", "visit 2" if memory == "thread" or not to else "visit 1", "c of rain"]
        assert (await job.result(timeout=60)).notes == visits
        assert ["look"] * (2 - to) == [each for each in RAN if each == "look"]


class Asked(TypedDict, total=False):
    text: str


class Said(TypedDict, total=False):
    notes: list[str]


async def test_a_breakpoint_asks_again(store_url: str) -> None:
    """The answer to a question that came later was taken for its own."""

    def asks(state: Any) -> Any:
        return {"notes": [str(interrupt("sure?"))]}

    def make() -> Any:
        return in_order({"a": node("a"), "b": asks, "c": node("c")}, Words).compile(interrupt_before=["a"])

    async with serving(only(make, retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        for asked in ({"paused_before": ["a"]}, "sure?"):
            assert await question(job) == asked
            await job.answer("yes")
            await gone(job)
        await fails(job)
        await coordinator.rollback(job.id, to=await at(coordinator, job.id, "before a"))
        await coordinator.redrive(job.id)
        assert await question(job) == {"paused_before": ["a"]}
        assert RAN == []


async def gone(job: bp.Job[Any]) -> None:
    """Wait until what was asked is over."""
    with anyio.fail_after(60):
        while (await job.info()).state == bp.JobState.INPUT_REQUIRED:
            await anyio.sleep(0.01)


async def test_another_hop_is_refused(store_url: str) -> None:
    def onward(result: Any, ctx: Any) -> bp.Handoff[Topic]:
        return bp.Handoff("b", Topic(text="snow"))

    app = only(lambda: line("a"), hands_to={"b": Topic}, returns=None, leave=onward)
    app.langgraph("b", accepts=Topic, returns=Notes, retries=1)(lambda: line("d", "c"))
    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"), returns=Notes)
        await fails(job)
        last = (await job.info()).checkpoint_id
        assert last
        await coordinator.rollback(job.id, to=await at(coordinator, job.id, "a"))
        for changes in (None, {"text": "hail"}):
            with pytest.raises(bp.WrongState, match="of its hop 0, and the job is at hop 1") as refused:
                await coordinator.redrive(job.id, changes=changes)
            assert last in str(refused.value)
        assert (await job.info()).state == bp.JobState.FAILED
        await coordinator.rollback(job.id, to=last)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["d of snow", "c of snow"]
        assert RAN == ["c"]


async def test_another_jobs_checkpoint_is_refused(store_url: str) -> None:
    async with serving(only(lambda: line("a", "c"), retries=1), url=store_url) as coordinator:
        DOWN.clear()
        first = await coordinator.submit("a", Topic(text="rain"), returns=Notes, thread="t")
        await first.result(timeout=60)
        before = await at(coordinator, "t", "a")
        DOWN[:] = ["c"]
        job = await coordinator.submit("a", Topic(text="snow"), returns=Notes, thread="t")
        await fails(job)
        await coordinator.rollback("t", to=before)
        with pytest.raises(bp.WrongState, match=f"job {job.id} can't go on, because that is not its own"):
            await coordinator.redrive(job.id)


async def test_what_others_did_on_the_thread_does_not_matter(store_url: str) -> None:
    """Only a rollback promises anything: another job's checkpoints, also of a node of that name, are not one."""
    app = only(lambda: line("a", "c"), retries=1)
    app.langgraph("other", accepts=Topic, returns=Notes)(lambda: line("rollback"))
    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="snow"), returns=Notes, thread="t")
        await fails(job)
        other = await coordinator.submit("other", Topic(text="hail"), returns=Notes, thread="t")
        await other.result(timeout=60)
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["a of snow", "c of snow"]
        assert RAN == ["rollback", "c"]


async def test_a_redrive_that_was_cut_off_after_its_edit(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next one finds the edit at the thread's tip, and that the thread was taken back all the same."""

    def cut_off(*args: Any, **kwargs: Any) -> Any:
        raise OSError("the client died")

    async with serving(only(lambda: line("a", "b", "c"), retries=1), url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="snow"), returns=Notes)
        await fails(job)
        await coordinator.rollback(job.id, to=await at(coordinator, job.id, "a"))
        with monkeypatch.context() as patch, pytest.raises(OSError, match="the client died"):
            patch.setattr("batonpass.coordinator.calls.dead.Redrive", cut_off)
            await coordinator.redrive(job.id, changes={"text": "hail"})
        RAN.clear()
        await coordinator.redrive(job.id)
        assert (await job.result(timeout=60)).notes == ["a of snow", "b of hail", "c of hail"]
        assert RAN == ["b", "c"]


@pytest.mark.parametrize(("number", "undone"), [(1, False), (2, True), (3, True), (None, True)])
def test_which_states_of_parts_are_undone_is_not_told_by_clocks(number: int | None, undone: bool) -> None:
    """LangGraph's ids have the time of the host that made them, and two hosts may not agree."""
    frame: Any = {"id": "made by a host that is ahead", "since": "the rollback", "metadata": {"step": 2}}
    record = {"superstep": "a host that is behind", "number": number}
    assert is_undone(record, Tip(frame, {})) is undone
    assert not is_undone({**record, "superstep": f"{frame['id']} the rollback"}, Tip(frame, {}))
