"""AdapterCases: what every adapter must do, as a pytest class to inherit from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, ClassVar

import pytest

from batonpass.adapters.adapter import Adapter
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import Contract
from batonpass.contracts.errors import JobCanceled
from batonpass.contracts.job import JobState
from batonpass.testing.run import Run
from batonpass.testing.work import WROTE, Work


class Given(Contract, name="batonpass.testing.given"):
    """What the tested agent is given."""

    text: str = "begin"


class Told(Contract, name="batonpass.testing.told"):
    """What it returns."""

    text: str


class AdapterCases:
    """Test cases for an adapter. Inherit from this class and say what to test:

        class TestMine(batonpass.testing.AdapterCases):
            adapter = MyAdapter         # what the entry point names
            steps = ("one", "two")      # the steps of the agent below, in order
            expected = "the end"        # the text of its result

            def factory(self, work):    # the user's factory of an agent
                return lambda: my_framework.Pipeline(...)

    The agent must call `work(step)` in each of its steps (in a tool, a task, a scripted model). Each case has its own
    SQLite file. Processes are forked and killed, so the cases run on Linux and macOS.
    """

    adapter: ClassVar[type[Adapter]]
    steps: ClassVar[Sequence[str]]
    expected: ClassVar[str]
    options: ClassVar[Mapping[str, Any]] = {}
    """More options of the agent: `leave=`, `state_version=` ..."""

    def factory(self, work: Work) -> Callable[..., Any]:
        """The agent's factory. Override this."""
        raise NotImplementedError("the cases of an adapter need a factory(work)")

    def start(self, folder: Path, killed_at: str = "", **options: Any) -> Run:
        """Submit a job to the tested agent, without running it."""
        folder.mkdir(exist_ok=True)
        work = Work(folder / "evidence.log", killed_at)
        told: dict[str, Any] = {"returns": Told, **self.options, **options}
        agent = Agent(name="tested", kind="tested", fn=self.factory(work), accepts=Given, **told)
        return Run(folder, self.adapter, agent, work)

    def test_runs_to_its_result_and_writes_each_step(self, tmp_path: Path) -> None:
        """Each step runs once, in its order, and is written before the next one begins."""
        run = self.start(tmp_path)
        run.deliver()
        assert run.result() == Told(text=self.expected)
        lines = run.work.lines()
        assert run.work.steps() == list(self.steps)
        for line, after in pairwise(lines):
            assert WROTE in (line, after), f"{after!r} began, and {line!r} was not written"

    def test_killed_at_any_moment_it_goes_on_where_it_was(self, tmp_path: Path) -> None:
        """SIGKILL in each step, and before and after each write: a step that was written is not done again."""
        calm = self.start(tmp_path / "calm")
        assert not calm.deliver_apart()
        writes = calm.work.lines().count(WROTE)
        points = [f"in:{step}" for step in self.steps]
        points += [f"{when}:{number}" for number in range(1, writes + 1) for when in ("before", "after")]
        for number, point in enumerate(points):
            run = self.start(tmp_path / str(number), point)
            assert run.deliver_apart(), f"it was not killed {point}"
            _goes_on(run, point, self.steps)
            assert run.result() == Told(text=self.expected), f"another result when killed {point}"

    def test_stops_when_its_job_is_canceled(self, tmp_path: Path) -> None:
        """The adapter lets the refusal of a write out, and begins no step after it."""
        run = self.start(tmp_path)
        run.work.during = lambda step: run.cancel()
        run.deliver()
        assert run.work.steps() == list(self.steps[:1])
        with pytest.raises(JobCanceled):
            run.result()

    def test_an_error_of_the_agent_fails_the_attempt_alone(self, tmp_path: Path) -> None:
        """The job says what the agent raised, and is tried again."""
        run = self.start(tmp_path)

        def fail(step: str) -> None:
            raise RuntimeError("raised by the agent")

        run.work.during = fail
        run.deliver()
        info = run.info()
        assert (info.state, info.reason, info.attempt) == (JobState.SUBMITTED, "retry_at", 2)
        assert "raised by the agent" in str(info.error)

    def test_its_checkpoints_hold_plain_values(self, tmp_path: Path) -> None:
        """Each says its framework, and keeps the user's values by name."""
        run = self.start(tmp_path)
        run.deliver()
        checkpoints = run.checkpoints()
        assert checkpoints, "the adapter saved no checkpoint"
        for checkpoint in checkpoints:
            assert isinstance(checkpoint.state, dict)
            assert checkpoint.framework not in ("", "python")
            assert checkpoint.step

    def test_enter_and_leave_are_asked(self, tmp_path: Path) -> None:
        """The user's `enter` and `leave` replace the adapter's own."""
        seen: list[str] = []

        def enter(payload: Given, context: Any) -> Any:
            seen.append("enter")
            return self.options["enter"](payload, context) if "enter" in self.options else payload.text

        def leave(result: object, context: Any) -> Told:
            seen.append("leave")
            return Told(text=f"left {context.payload.text}")

        run = self.start(tmp_path, enter=enter, leave=leave)
        run.deliver()
        assert run.result() == Told(text="left begin")
        assert seen == ["enter", "leave"]


def _goes_on(run: Run, point: str, steps: Sequence[str]) -> None:
    """Run a killed job to its end. What was written before must not run again."""
    before = run.work.lines()
    run.work.killed_at = ""
    if not run.info().state.ended:
        run.deliver_apart()
    counts = Counter(run.work.lines())
    for step in steps:
        written = step in before and WROTE in before[before.index(step) :]
        cut_off = step in before and not written
        assert counts[step] == 1 + cut_off, f"killed {point}: step {step!r} ran {counts[step]} times"
