"""What `as_dict` gives is plain JSON, because a web page's server has no encoder of ours."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.contracts.codec import pack
from batonpass.contracts.jsonable import jsonable

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


class Order(bp.Contract, name="asdict.order"):
    when: datetime


app = bp.App("shop", version="2.4")


@app.agent("ship", accepts=Order, returns=Order)
async def ship(order: Order, ctx: bp.Context) -> Order:
    await ctx.ask({"ship": order.when, "marks": {b"x"}}, answer=Order, timeout=60)
    return order


async def test_jobs_questions_and_schedules_are_json() -> None:
    async with bp.connect("memory://") as coordinator, app.worker(coordinator):
        job = await coordinator.submit(ship, Order(when=WHEN), deadline=3600)
        await coordinator.schedule("daily", ship, Order(when=WHEN), cron="0 9 * * *", expires=60)
        with anyio.fail_after(10):
            while not (items := await coordinator.inbox()):
                await anyio.sleep(0.01)
        [schedule] = await coordinator.schedules()
        info = (await job.info()).as_dict()
        item = items[0].as_dict()
        for about in (info, item, schedule.as_dict()):
            assert json.loads(json.dumps(about)) == about
    assert (info["state"], info["contract"], info["path"]) == ("input_required", "asdict.order@1", ["ship"])
    assert datetime.fromisoformat(info["deadline"]) > datetime.now(UTC)
    assert item["question"] == {"ship": "2026-01-02T00:00:00Z", "marks": ["eA=="]}
    assert item["answer"] == "asdict.order@1"
    assert schedule.as_dict()["payload"] == {"when": "2026-01-02T00:00:00Z"}


async def test_all_that_is_listed_is_json(store_url: str) -> None:
    async with bp.connect(store_url, app=app) as coordinator, app.worker(coordinator):
        await coordinator.save(thread="t", agent="a", state={"when": WHEN}, context={"day": "Friday"}, step="first")
        await coordinator.webhook("pager", "https://hooks.example.com/jobs", types="job.*")
        async with coordinator.consume("billing") as events:
            event = await anext(aiter(events))
        listed = [
            *(await coordinator.timeline("t")),
            await coordinator.latest(thread="t"),
            *(await coordinator.groups()),
            *(await coordinator.webhooks()),
            *(await coordinator.workers()),
            *(await coordinator.agents()),
            event,
        ]
    found = [each.as_dict() for each in listed if each]
    assert [json.loads(json.dumps(each)) for each in found] == found
    assert [each.get("state") for each in found][:2] == [None, {"when": "2026-01-02T00:00:00Z"}]
    assert {"step": "first", "context": {"day": "Friday"}}.items() <= found[0].items()


async def test_a_value_of_an_unknown_type_shows_what_it_holds() -> None:
    """As in the command line, which has nobody's classes."""
    stored: dict[str, Any] = {
        "model": {"lr": 0.1},
        "grown": [{"lr": 0.1}, ["lr"], {"more": 5}, {"_best": 1}],
        "inner": {"of": bp.UnknownValue("asdict.inner", pack(["x"]))},
        "enum": "RED",
        "four": [{}, [], "x", 1],
    }
    state = {name: bp.UnknownValue(f"asdict.{name}", pack(held)) for name, held in stored.items()}
    async with bp.connect("memory://") as coordinator:
        first = await coordinator.save(thread="t", agent="a", state={**state, "damaged": bp.UnknownValue("x", b"\xc1")})
        grown = bp.UnknownValue("asdict.grown", pack([{"lr": 0.2}, [], {"more": 5}, {"_best": 2}]))
        second = await coordinator.save(thread="t", agent="a", state={**state, "grown": grown})
        changed = (await coordinator.diff(first.id, second.id)).changed
    assert first.as_dict()["state"] == {
        "model": {"type": "asdict.model", "value": {"lr": 0.1}},
        "grown": {"type": "asdict.grown", "value": {"lr": 0.1, "more": 5}},
        "inner": {"type": "asdict.inner", "value": {"of": {"type": "asdict.inner", "value": ["x"]}}},
        "enum": {"type": "asdict.enum", "value": "RED"},
        "four": {"type": "asdict.four", "value": [{}, [], "x", 1]},
        "damaged": {"type": "x", "packed": "wQ=="},
    }
    assert [(each.path, each.new) for each in changed] == [("state['grown'].lr", 0.2), ("state['grown']._best", 2)]


class Point:
    """Nothing but its own functions knows what it holds."""

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


class Half(Point):
    """A value whose dump fails: as bad as it may be, the rest of the state is shown."""


@bp.state_type("asdict.line")
@dataclass
class Line:
    ends: list[Point]


class Share(Fraction):
    """Its text says what it holds, but a program would not know of what type."""


def _made(held: dict[str, int]) -> Any:
    return Point(held["x"], held["y"])


def _fail(half: Half) -> Any:
    raise ValueError(half.x)


bp.state_type("asdict.point", Point, dump=lambda each: {"x": each.x, "y": each.y}, load=_made)
bp.state_type("asdict.half", Half, dump=_fail, load=_made)
bp.state_type("asdict.share", Share, dump=str, load=Share)


async def test_a_value_with_its_own_functions_is_shown_as_where_its_class_is_unknown() -> None:
    unknown = bp.UnknownValue("asdict.point.", pack({"x": 1, "y": 2}))  # a name that nobody has registered
    state = {"known": [Point(1, 2)], "unknown": [unknown], "part": Share(1, 2), "line": Line([Point(3, 4)])}
    async with bp.connect("memory://") as coordinator:
        saved = await coordinator.save(thread="t", agent="a", state=state)
        shown = (await coordinator.restore(saved.id)).as_dict()["state"]
    assert shown == {
        "known": [{"type": "asdict.point", "value": {"x": 1, "y": 2}}],
        "unknown": [{"type": "asdict.point.", "value": {"x": 1, "y": 2}}],
        "part": {"type": "asdict.share", "value": "1/2"},
        "line": {"ends": [{"type": "asdict.point", "value": {"x": 3, "y": 4}}]},
    }


def test_a_dump_that_fails_hides_nothing_else() -> None:
    assert jsonable({"half": Half(1, 2), "whole": 1}) == {
        "half": {"type": "asdict.half", "value": "(ValueError: 1)"},
        "whole": 1,
    }


@pytest.fixture(params=["memory", "sqlite", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue(f"{request.param}_url"))


async def test_live_workers_are_listed(url: str) -> None:
    async with bp.connect(url, app=app) as coordinator:
        assert await coordinator.workers() == []
        async with app.worker(coordinator, agents=["ship"]) as worker:
            with anyio.fail_after(10):  # until it has asked for a job
                while not (found := await coordinator.workers()):
                    await anyio.sleep(0.01)
            [listed] = found
            assert listed.id == worker.id
            assert (listed.app, listed.version, listed.agents) == ("shop", "2.4", ("ship",))
            if not url.startswith("memory:"):
                with bp.connect(url, codec=bp.Codec(sign={"k": b"k" * 32}, plain=True)) as elsewhere:
                    assert elsewhere.workers() == [listed]
