"""`changes=` of a place in a model or a dataclass: nothing beside the place changes, as nobody asked for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import date
from typing import Any

import pydantic.dataclasses
import pytest
from langchain_core.messages import AIMessage
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, RootModel, field_validator, model_validator

import batonpass as bp
from batonpass.contracts.alike import alike
from batonpass.testing import serving


@bp.state_type("fields.run")
class Run(BaseModel):
    """Its lists are filled in place, and it counts what its validators are asked."""

    lr: float
    losses: list[float] = []
    times: list[date] = []
    seen: int = 0
    _best: dict[str, float] = PrivateAttr(default_factory=lambda: {"at": 0.5})

    @field_validator("seen")
    @classmethod
    def counted(cls, seen: int) -> int:
        return seen + 1

    @model_validator(mode="after")
    def noted(self) -> Run:
        self.losses.append(-1.0)
        if self.lr > 1:
            raise ValueError("lr is too large")
        return self


@bp.state_type("fields.open")
class Open(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)
    x: int = 0
    name: str = Field(default="", frozen=True)
    inner: Open | None = None


@bp.state_type("fields.rows")
class Rows(RootModel[list[int]]):
    pass


@bp.state_type("fields.fit")
@dataclass
class Fit:
    lr: float
    scale: InitVar[int] = 2
    best: float = field(init=False, default=0.0)
    steps: int = 0

    def __post_init__(self, scale: int) -> None:
        self.best = self.lr * scale
        self.steps += 1


@bp.state_type("fields.still")
@dataclass(frozen=True, slots=True)
class Still:
    x: int
    log: list[Any] = field(init=False, default_factory=list[Any])


@bp.state_type("fields.checked")
@pydantic.dataclasses.dataclass(frozen=True)
class Checked:
    x: int
    y: int = Field(default=1, frozen=True)
    log: list[int] = field(init=False, default_factory=list[int])

    def __post_init__(self) -> None:
        self.log.append(self.x)


class Noted(bp.Contract, name="fields.noted"):
    text: str
    tags: tuple[str, ...] = ()


def run() -> Run:
    made = Run(lr=0.1)
    made.losses[:] = [1, 0.5]  # the first one is an int, and stays one
    assert made.__pydantic_private__
    made.__pydantic_private__["_best"]["at"] = 0.93
    made.model_fields_set.clear()
    return made


def fit() -> Fit:
    made = Fit(0.5, 7)
    made.best = 0.93
    vars(made)["more"] = [1]
    return made


def message() -> AIMessage:
    made = AIMessage("hi", id="1")
    made.response_metadata["model"] = "m"
    return made


STATE: dict[str, Callable[[], Any]] = {
    "run": run,
    "open": lambda: Open.model_validate({"x": 1, "z": [5], "inner": Open(x=2)}),
    "rows": lambda: Rows([1, 2]),
    "fit": fit,
    "still": lambda: Still(1),
    "checked": lambda: Checked(1),
    "noted": lambda: Noted(text="a"),
    "messages": lambda: [message()],
}


@pytest.mark.parametrize(
    ("place", "value", "path"),
    [
        ("run.lr", 0.2, "state['run'].lr"),
        ("run.losses[1]", 0.4, "state['run'].losses[1]"),
        ("run._best['at']", 0.95, "state['run']._best['at']"),
        ("open.x", 7, "state['open'].x"),
        ("open.name", "n", "state['open'].name"),
        ("open.z[0]", 6, "state['open'].z[0]"),
        ("open.inner.x", 3, "state['open'].inner.x"),
        ("rows.root[0]", 9, "state['rows'].root[0]"),
        ("fit.lr", 0.2, "state['fit'].lr"),
        ("fit.best", 0.2, "state['fit'].best"),
        ("fit.more[0]", 2, "state['fit'].more[0]"),
        ("still.x", 2, "state['still'].x"),
        ("checked.x", 2, "state['checked'].x"),
        ("checked.y", 2, "state['checked'].y"),
        ("checked.log[0]", 2, "state['checked'].log[0]"),
        ("noted.text", "b", "state['noted'].text"),
        ("messages[0].content", "snow", "state['messages'][0].content"),
    ],
)
async def test_nothing_beside_it_changes(place: str, value: Any, path: str, store_url: str) -> None:
    state = {name: made() for name, made in STATE.items()}
    async with bp.connect(store_url) as coordinator:
        origin = await coordinator.save(thread="t", agent="x", state=state)
        fork = await coordinator.fork(origin.id, changes={place: value}, thread="other")
        found = await coordinator.diff(origin.id, fork.id)
        assert [(each.path, each.new) for each in found.changed] == [(path, value)]
        assert not found.added
        assert not found.removed
        assert alike((await coordinator.restore(origin.id)).state, state)


async def test_which_fields_were_set_is_kept() -> None:
    async with bp.connect("memory://") as coordinator:
        origin = await coordinator.save(thread="t", agent="x", state={"run": run(), "open": Open()})
        fork = await coordinator.fork(origin.id, changes={"run.seen": 4, "open.x": 5})
        assert (fork.state["run"].model_fields_set, fork.state["open"].model_fields_set) == ({"seen"}, {"x"})
        assert fork.state["run"].seen == 5  # the named field's own validator runs


async def test_what_is_named_becomes_what_its_field_holds() -> None:
    async with bp.connect("memory://") as coordinator:
        origin = await coordinator.save(thread="t", agent="x", state={"run": run()})
        fork = await coordinator.fork(origin.id, changes={"run.lr": "0.5", "run.times[0]": "2031-05-01"})
        assert (fork.state["run"].lr, fork.state["run"].times) == (0.5, [date(2031, 5, 1)])


@pytest.mark.parametrize(
    ("place", "value", "complaint"),
    [
        ("run.lr", "fast", "'run.lr' can't be that in a Run: Input should be a valid number"),
        ("run.lr", 2, "'run.lr' can't be that in a Run: lr is too large"),
        ("run.losses[0]", "x", r"'run.losses\[0\]' can't be that in a Run: Input should be a valid number"),
        ("open.inner.x", "a", "'open.inner.x' can't be that in a Open: Input should be a valid integer"),
        ("open.name", 5, "'open.name' can't be that in a Open: Input should be a valid string"),
        ("checked.x", "a", "'checked.x' can't be that in a Checked: Input should be a valid integer"),
        ("checked.y", "a", "'checked.y' can't be that in a Checked: Input should be a valid integer"),
        ("fit.nosuch", 1, "a Fit has lr, best, steps, more, not 'nosuch'"),
    ],
)
async def test_what_the_class_refuses(place: str, value: Any, complaint: str, store_url: str) -> None:
    state = {name: made() for name, made in STATE.items()}
    async with bp.connect(store_url) as coordinator:
        origin = await coordinator.save(thread="t", agent="x", state=state)
        with pytest.raises(bp.BadSetup, match=complaint):
            await coordinator.fork(origin.id, changes={place: value})
        assert len(await coordinator.timeline("t")) == 1


class Losses(bp.Contract, name="fields.losses"):
    losses: list[float]


async def test_a_redriven_job_goes_on_with_what_its_step_had_filled_in(store_url: str) -> None:
    app = bp.App("fields")

    @app.agent("train", accepts=bp.State, returns=Losses, retries=bp.Retry(attempts=1))
    def train(state: bp.State, ctx: bp.SyncContext) -> Losses:
        made = ctx.step("fit", run)
        if made.lr < 0.2:
            raise ValueError("lr is too small")
        return Losses(losses=made.losses)

    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit(train, bp.State())
        with pytest.raises(bp.JobFailed, match="lr is too small"):
            await job.result(timeout=60)
        await coordinator.redrive(job.id, changes={"fit.lr": 0.3})
        assert (await job.result(timeout=60)).losses == [1, 0.5]
