"""Rule 2, at the worker: however an agent's delivery ends, the end and its last checkpoint are one command. So are a
step's checkpoint and its record."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.outcome import Asleep, Finished, Outcome, Suspended
from batonpass.coordinator import commands as c
from batonpass.testing.serving import claimed
from batonpass.workers.context.context import Context
from batonpass.workers.running import Runner
from batonpass.workers.session import LeaseSession


class Task(bp.Contract, name="one-commit.task"):
    text: str = ""


app = bp.App("one-commit")


@app.agent("a", accepts=Task, returns=Task, hands_to={"a": Task})
def agent(task: Task) -> Task:
    raise AssertionError("the adapter runs it")


LAST = Snapshot(step="last", state={"words": ["x"]})
OUTCOMES: dict[type[c.Command[Any]], Outcome] = {
    c.HandOff: Finished(bp.Handoff("a", Task(text="onward")), LAST),
    c.Complete: Finished(Task(), LAST),
    c.Suspend: Suspended("sure?", LAST),
    c.Sleep: Asleep(1, LAST),
}


class Ending:
    """An adapter whose agents end at once."""

    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome

    async def run(self, agent: Any, payload: Any, session: Any, context: Any) -> Outcome:
        return self._outcome


@contextmanager
def written(store: Any) -> Iterator[list[Any]]:
    """The commands that a store gets meanwhile, except those that read."""
    found, asks = list[Any](), {name: getattr(store, name) for name in ("call", "acall")}

    def heard(name: str) -> Any:
        def ask(command: c.Command[Any]) -> Any:
            if type(command) not in c.READING and command not in found:  # one side may ask the other
                found.append(command)
            return asks[name](command)

        return ask

    with pytest.MonkeyPatch.context() as patched:
        for name in asks:
            patched.setattr(store, name, heard(name))
        yield found


@pytest.mark.parametrize("by", OUTCOMES, ids=lambda by: by.__name__)
async def test_an_end_and_its_last_checkpoint_are_one_command(by: type[c.Command[Any]]) -> None:
    async with bp.connect("memory://", app=app) as coordinator:
        job = await coordinator.submit("a", Task())
        delivery, store = await claimed(coordinator, agent), coordinator.store
        runner = Runner(app, store, coordinator.book, None, {"function": Ending(OUTCOMES[by])}, None)
        with written(store) as commands:
            await runner.run(delivery)
        assert [(type(command), command.checkpoint is not None) for command in commands] == [(by, True)]
        assert (await coordinator.restore((await job.info()).checkpoint_id or "")).state == LAST.state


async def test_a_step_is_one_command() -> None:
    async with bp.connect("memory://", app=app) as coordinator:
        await coordinator.submit("a", Task())
        session = LeaseSession(coordinator.store, await claimed(coordinator, agent), app)
        ctx = Context(session, agent, Task(), None)
        with written(coordinator.store) as commands:
            await ctx.step("one", str, 1)
            await anyio.to_thread.run_sync(ctx.sync.step, "two", str, 2)
        assert [(type(command), list(command.records)) for command in commands] == [
            (c.Save, ["step/one"]),
            (c.Save, ["step/two"]),
        ]
