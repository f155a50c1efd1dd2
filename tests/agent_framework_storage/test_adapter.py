"""The Agent Framework's checkpoints on our stores: its own protocol, no pickle, and a run killed anywhere goes on."""

from __future__ import annotations

import multiprocessing
import signal
import warnings
from collections import Counter
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from agent_framework import (
    CheckpointStorage,
    InMemoryCheckpointStorage,
    WorkflowCheckpoint,
    WorkflowCheckpointException,
    step,
    workflow,
)

import batonpass as bp
from batonpass.adapters.agent_framework import BatonpassCheckpointStorage
from batonpass.adapters.agent_framework.storage import NotSaved
from tests.apps import agent_framework_app as app
from tests.apps.agent_framework_app import OUTPUT, SUPERSTEPS, View, build

pytestmark = [pytest.mark.anyio, pytest.mark.capability("agent-framework"), pytest.mark.usefixtures("log")]
WORKFLOW = "desk"


@pytest.fixture(params=["memory", "sqlite", "redis"])
async def coordinator(request: pytest.FixtureRequest) -> AsyncIterator[bp.Coordinator]:
    url = "memory://" if request.param == "memory" else request.getfixturevalue(f"{request.param}_url")
    async with bp.connect(url, app=bp.App("empty")) as opened:
        yield opened


@pytest.fixture
async def small() -> AsyncIterator[bp.Coordinator]:
    """A store for what has nothing to do with the store."""
    async with bp.connect("memory://", app=bp.App("empty")) as opened:
        yield opened


def plain(value: Any) -> Any:
    """A value as its fields, to compare values whose classes' `==` does not look at these."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value), *map(plain, value)]
    if type(value).__module__.startswith("agent_framework"):
        state = value.__getstate__() if hasattr(value, "__dict__") else {n: getattr(value, n) for n in value.__slots__}
        return type(value), {name: plain(item) for name, item in state.items() if name != "raw_representation"}
    return value


class Both(BatonpassCheckpointStorage):
    """Keeps each checkpoint in the framework's own storage too."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.own = InMemoryCheckpointStorage()

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        assert await self.own.save(checkpoint) == await super().save(checkpoint)
        return checkpoint.checkpoint_id


async def test_it_answers_as_the_frameworks_own_storage(coordinator: bp.Coordinator) -> None:
    both = Both(coordinator, "run")
    ours: CheckpointStorage = BatonpassCheckpointStorage(coordinator, "run")
    assert await ours.get_latest(workflow_name=WORKFLOW) is None
    assert (await both.run(build(), "go")).get_outputs() == [OUTPUT]

    ids = await both.own.list_checkpoint_ids(workflow_name=WORKFLOW)
    assert len(ids) == 5
    assert await ours.list_checkpoint_ids(workflow_name=WORKFLOW) == ids
    expected = await both.own.list_checkpoints(workflow_name=WORKFLOW)
    assert plain(await ours.list_checkpoints(workflow_name=WORKFLOW)) == plain(expected)
    latest = await ours.get_latest(workflow_name=WORKFLOW)
    assert plain(latest) == plain(await both.own.get_latest(workflow_name=WORKFLOW))
    assert plain(await ours.load(ids[2])) == plain(await both.own.load(ids[2]))

    assert await ours.list_checkpoint_ids(workflow_name="other") == []
    assert await ours.list_checkpoints(workflow_name="other") == []
    assert await ours.get_latest(workflow_name="other") is None
    assert await ours.delete(ids[2]) is True
    assert await ours.delete(ids[2]) is False
    with pytest.raises(WorkflowCheckpointException, match="on thread 'run'"):
        await ours.load(ids[2])
    assert await ours.list_checkpoint_ids(workflow_name=WORKFLOW) == [*ids[:2], *ids[3:]]


async def test_the_timeline_shows_the_run_and_its_chain(coordinator: bp.Coordinator) -> None:
    storage = BatonpassCheckpointStorage(coordinator, "run", ttl=3600)
    await storage.run(build(), "go")
    found = (await coordinator.timeline("run"))[::-1]
    assert [each.step for each in found] == [f"superstep {n}" for n in range(5)]
    assert {(each.agent, each.framework) for each in found} == {(WORKFLOW, "agent_framework")}
    assert [each.parent_id for each in found] == [None, *(each.id for each in found[:-1])]
    assert all(each.expires_at for each in found)
    checkpoints = await storage.list_checkpoints(workflow_name=WORKFLOW)
    assert [each.previous_checkpoint_id for each in checkpoints] == [None, *(c.checkpoint_id for c in checkpoints[:-1])]
    assert (await storage.load(found[3].id)).checkpoint_id == checkpoints[3].checkpoint_id
    state = (await coordinator.restore(found[2].id)).state
    assert state["state"]["_executor_state"]["left"] == {"seen": ["first heard 1"]}
    assert View(who="left", heard="first heard 1") in [message.data for message in state["messages"]["left"]]


class Fails(BatonpassCheckpointStorage):
    """Fails at the third save."""

    saves = 0

    async def save(self, checkpoint: WorkflowCheckpoint) -> str:
        self.saves += 1
        if self.saves == 3:
            raise NotSaved("no disk")
        return await super().save(checkpoint)


async def test_a_workflow_without_a_name_goes_on(coordinator: bp.Coordinator) -> None:
    """The framework gives it a new one whenever it is built."""
    with pytest.raises(NotSaved, match="no disk"):
        await Fails(coordinator, "run").run(build(None), "go")
    result = await BatonpassCheckpointStorage(coordinator, "run").run(build(None), "go")
    assert result.get_outputs() == [OUTPUT]
    steps = [each.step for each in (await coordinator.timeline("run"))[::-1]]
    assert steps == [f"superstep {n}" for n in range(5)]


RAN = Counter[str]()

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # the framework may still change them, it warns

    @step
    async def fetch(word: str) -> str:
        RAN["fetch"] += 1
        return word.upper()

    @step
    async def count(word: str) -> int:
        RAN["count"] += 1
        if RAN["count"] == 1:
            raise ConnectionError("not now")
        return len(word)

    @workflow(name="counting")
    async def counting(word: str) -> str:
        return f"{await fetch(word)} {await count(word)}"


@pytest.mark.parametrize("flow", [counting, counting.build()])
async def test_a_function_goes_on_after_its_finished_steps(flow: Any, small: bp.Coordinator) -> None:
    RAN.clear()
    with pytest.raises(ConnectionError):
        await BatonpassCheckpointStorage(small, "run").run(flow, "rain")
    for _ in range(2):
        result = await BatonpassCheckpointStorage(small, "run").run(flow, "rain")
        assert result.get_outputs() == ["RAIN 4"]
    assert RAN == {"fetch": 1, "count": 2}


async def test_a_run_goes_on_when_its_checkpoints_have_expired(coordinator: bp.Coordinator) -> None:
    """A superstep may take longer than their ttl."""
    storage = BatonpassCheckpointStorage(coordinator, "run", ttl=60)
    first, second = (WorkflowCheckpoint(WORKFLOW, "signature", checkpoint_id=f"id-{n}") for n in (1, 2))
    second.previous_checkpoint_id = first.checkpoint_id
    await storage.save(first)
    await coordinator.expire((await coordinator.timeline("run"))[0].id)
    await storage.save(second)
    assert await storage.list_checkpoint_ids(workflow_name=WORKFLOW) == [second.checkpoint_id]


async def test_two_runs_of_a_workflow_do_not_see_each_other(coordinator: bp.Coordinator) -> None:
    first, second = (BatonpassCheckpointStorage(coordinator, thread) for thread in ("one", "two"))
    await first.run(build(), "go")
    assert await second.get_latest(workflow_name=WORKFLOW) is None
    [*_, tip] = [each.id for each in await coordinator.timeline("one")]
    with pytest.raises(WorkflowCheckpointException):
        await second.load(tip)


def killed_at(point: str, url: str, folder: Path) -> str | None:
    """Run the workflow in a process that dies there, and the rest in another. Returns what went wrong, if anything."""
    context = multiprocessing.get_context("forkserver")
    log = folder / f"{point.replace(':', '-')}.log"
    process = context.Process(target=app.run, args=(url, str(log), point))
    process.start()
    process.join(30)
    if process.exitcode != -signal.SIGKILL:
        return f"{point}: it was not killed there: {process.exitcode}"
    lines = [line.partition(" ")[2] for line in log.read_text().splitlines()] if log.exists() else []
    acknowledged = sum(line.startswith("ack") for line in lines)
    process = context.Process(target=app.run, args=(url, str(log), ""))
    process.start()
    process.join(30)
    lines = [line.partition(" ")[2] for line in log.read_text().splitlines()]
    counts = Counter(lines)
    if counts[f"output ['{OUTPUT}']"] != 1:
        return f"{point}: another output: {lines}"
    # The first save is before the first superstep.
    finished = [label for superstep in SUPERSTEPS[: max(acknowledged - 1, 0)] for label in superstep]
    running = [label for superstep in SUPERSTEPS for label in superstep if label not in finished]
    wrong = [label for label in finished if counts[label] != 1] + [label for label in running if counts[label] > 2]
    return f"{point}: ran again though finished: {wrong} {lines}" if wrong else None


def points() -> list[str]:
    labels = [f"in:{label}" for superstep in SUPERSTEPS for label in superstep]
    return labels + [f"{when}:{n}" for n in range(1, len(SUPERSTEPS) + 2) for when in ("before", "after")]


@pytest.mark.timeout(240)
@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_a_run_killed_anywhere_goes_on_in_another_process(
    store: str, redis_server: str, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """Points take turns on the two stores. With --all-variants each point runs on both."""
    chosen = points() if pytestconfig.getoption("all_variants") else points()[("sqlite", "redis").index(store) :: 2]
    multiprocessing.get_context("forkserver").set_forkserver_preload([app.__name__])

    def kill_at(point: str) -> str | None:
        name = f"{tmp_path.name}-{point.replace(':', '-')}"
        url = f"sqlite:///{tmp_path / name}.db" if store == "sqlite" else f"{redis_server}?namespace={name}"
        return killed_at(point, url, tmp_path)

    with ThreadPoolExecutor(3) as pool:
        problems = [problem for problem in pool.map(kill_at, chosen) if problem]
    assert not problems, "\n".join(problems)
