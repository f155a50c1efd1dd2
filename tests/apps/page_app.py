"""What people see in the page: agents that ask them, fail, and say what a browser must not run."""

from __future__ import annotations

from enum import Enum
from typing import Any, Literal

import batonpass as bp

EVIL = "</pre><script>console.log('ran')</script><img src=x onerror=alert(1)>"


class Draft(bp.Contract, name="page.draft"):
    text: str = ""
    number: int = 0


class Tone(Enum):
    WARM = "warm"
    PLAIN = "plain"


class Verdict(bp.Contract, name="page.verdict"):
    approve: bool
    amount: int
    share: float | None = None
    tone: Tone = Tone.PLAIN
    size: Literal[1, 2] = 1
    note: str = ""


class Places(bp.Contract, name="page.places"):
    places: list[str]


app = bp.App("page")


@app.agent("research", accepts=Draft, hands_to={"review": Draft})
async def research(draft: Draft, ctx: bp.Context) -> bp.Handoff:
    await ctx.step("look", lambda: {EVIL: EVIL})
    await ctx.step("read", lambda: ["漢字", draft.text])
    return ctx.hand_off("review", draft)


@app.agent("review", accepts=Draft, returns=Draft)
async def review(draft: Draft, ctx: bp.Context) -> Draft:
    verdict = await ctx.ask(
        {"question": "May it be published?", "draft": draft.text}, answer=Verdict, assignee="ann", timeout=7000
    )
    return Draft(text=f"{verdict.note}: {verdict.tone.value}, {verdict.amount}")


@app.agent("nested", accepts=Draft, returns=Draft)
async def nested(draft: Draft, ctx: bp.Context) -> Draft:
    return Draft(text=repr(await ctx.ask("Where to?", answer=Places)))


@app.agent("free", accepts=Draft, returns=Draft)
async def free(draft: Draft, ctx: bp.Context) -> Draft:
    return Draft(text=repr(await ctx.ask({"what": ["is", draft.text]})))


@app.agent("fragile", accepts=Draft, returns=Draft, retries=1)
async def fragile(draft: Draft, ctx: bp.Context) -> Draft:
    await ctx.step(EVIL, lambda: EVIL)
    if not draft.number:
        raise ValueError(f"{EVIL}\n{draft.text}")
    return Draft(text="done")


@app.agent("steps", accepts=Draft, returns=Draft)
async def steps(draft: Draft, ctx: bp.Context) -> Draft:
    for number in range(draft.number):
        await ctx.step(f"s{number}", lambda: None)
    return draft


@app.agent("state", accepts=bp.State, returns=bp.State)
async def state(given: bp.State, ctx: bp.Context) -> bp.State:
    values: dict[str, Any] = dict(given)
    return bp.State(**values)
