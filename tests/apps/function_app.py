"""Plain functions with recorded steps, for the kill tests."""

from __future__ import annotations

from typing import Any

import batonpass as bp

from . import evidence


class Topic(bp.Contract, name="function_app.topic"):
    text: str


class Round(bp.Contract, name="function_app.round"):
    number: int
    notes: list[str]


class Notes(bp.Contract, name="function_app.notes"):
    notes: list[str]


app = bp.App("function-app")


def work(label: str, value: Any) -> Any:
    evidence.ran(label)
    return value


async def awork(label: str, value: Any) -> Any:
    evidence.ran(label)
    return value


@app.agent("async", accepts=Topic, returns=Notes)
async def async_steps(topic: Topic, ctx: bp.Context) -> Notes:
    notes = [await ctx.step("first", work, "async:first", "one")]
    await ctx.sleep(0.02)
    notes += [await ctx.step("more", awork, f"async:more:{n}", f"more {n}") for n in range(2)]
    return Notes(notes=[*notes, topic.text])


@app.agent("sync", accepts=Topic, returns=Notes)
def sync_steps(topic: Topic, ctx: bp.SyncContext) -> Notes:
    first = ctx.step("first", work, "sync:first", "one")
    answer = ctx.ask({"question": "go on?"})
    second = ctx.step("second", work, "sync:second", f"{answer} {topic.text}")
    return Notes(notes=[first, second])


@app.agent("pass", accepts=Topic, hands_to={"twice": Round})
async def passing(topic: Topic, ctx: bp.Context) -> bp.Handoff:
    first = await ctx.step("first", work, "pass:first", topic.text)
    return ctx.hand_off("twice", Round(number=1, notes=[first]))


@app.agent("twice", accepts=Round, returns=Notes, hands_to={"twice": Round})
async def twice(visit: Round, ctx: bp.Context) -> bp.Contract | bp.Handoff:
    note = await ctx.step("visit", work, f"twice:{visit.number}", f"visit {visit.number}")
    if visit.number < 3:
        return ctx.hand_off("twice", Round(number=visit.number + 1, notes=[*visit.notes, note]))
    return Notes(notes=[*visit.notes, note])


INPUT: dict[str, dict[str, Any]] = {name: {"text": "rain"} for name in ("async", "sync", "pass")}
ANSWERS: dict[str, Any] = {"sync": "yes"}
STEPS: dict[str, list[str]] = {
    "async": ["async:first", "async:more:0", "async:more:1"],
    "sync": ["sync:first", "sync:second"],
    "pass": ["pass:first", "twice:1", "twice:2", "twice:3"],
}
EXPECTED: dict[str, dict[str, Any]] = {
    "async": {"notes": ["one", "more 0", "more 1", "rain"]},
    "sync": {"notes": ["one", "yes rain"]},
    "pass": {"notes": ["rain", "visit 1", "visit 2", "visit 3"]},
}
