"""The page shows texts in the order in which they are written: what turns them around is an escape, as in terminals."""

from __future__ import annotations

import re
from html import unescape
from typing import Any, Literal

import batonpass as bp
from batonpass.service.page.words import in_json, shown

from ..workers.serving import reached, serving
from .service import service_of
from .visitor import visiting

TURNED = "\u202e0001$"
# Turns around, isolates, and acts on terminals.
EVIL = f"{TURNED}\u202c \u2066x\u2069 \x9b31m \x00\x1b"
HEBREW = "שלום\u200f עולם\u200e"  # with marks of direction
ESCAPED = r"\u202e0001$\u202c \u2066x\u2069 \x9b31m \x00\x1b"
FORBIDDEN = set("\x00\x1b\x9b\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class Words(bp.Contract, name="controls.words"):
    text: str


class Payment(bp.Contract, name="controls.payment"):
    amount: Literal["\u202e0001$", "nothing"]
    note: str = TURNED


app = bp.App("controls")


@app.agent(f"asks{TURNED}", accepts=Words, returns=Words)
async def asks(words: Words, ctx: bp.Context) -> Words:
    paid = await ctx.ask({"pay": words.text, "to": HEBREW}, answer=Payment, assignee=f"ann{TURNED}")
    return Words(text=f"{paid.amount} {paid.note}")


@app.agent("fails", accepts=Words, returns=Words, retries=1)
async def fails(words: Words) -> Words:
    raise ValueError(f"no {words.text}\r\nin lines")


def without_inputs(page: str) -> str:
    return re.sub("<textarea.*?</textarea>|<[^>]*>", "", page, flags=re.DOTALL)


async def test_no_page_turns_texts_around(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            asking = await coordinator.submit(f"asks{TURNED}", Words(text=EVIL), thread=f"t{EVIL}", key=f"k{EVIL}")
            failed = await coordinator.submit("fails", Words(text=EVIL))
            await reached(asking, bp.JobState.INPUT_REQUIRED)
            await reached(failed, bp.JobState.FAILED)
            await coordinator.pause_agent("fails", reason=EVIL)
            saved = await coordinator.save(thread=f"T{EVIL}", agent="fails", step=EVIL, state={EVIL: EVIL})
            await coordinator.name(saved.id, f"name{TURNED}")
            jobs = [f"jobs/{job.id}{more}" for job in (asking, failed) for more in ("", "/events")]
            for path in ("", "inbox", "jobs", "dead-letters", f"checkpoints/{saved.id}", *jobs):
                await visitor.open(f"/ui/{path}")
                assert not FORBIDDEN & set(without_inputs(visitor.page)), path
            said = await visitor.open(f"/ui/jobs/{asking.id}")
            assert ESCAPED in said
            assert rf"asks ann{TURNED.encode('unicode_escape').decode()}" in said
            assert HEBREW in said
            assert rf"no {ESCAPED}" in await visitor.open(f"/ui/jobs/{failed.id}")
            assert "\r\nin lines" in visitor.page


async def test_forms_send_what_was_written(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, visiting(address) as visitor:
            job = await coordinator.submit(f"asks{TURNED}", Words(text="x"))
            await reached(job, bp.JobState.INPUT_REQUIRED)
            assert r"\u202e0001$ nothing" in await visitor.open(f"/ui/jobs/{job.id}")  # to choose from
            [chosen] = re.findall('<option value="([^"]*0001[^"]*)"', visitor.page)
            [note] = re.findall("<textarea[^>]*>\n(.*?)</textarea>", visitor.page)
            typed: dict[str, Any] = {"choice:amount": unescape(chosen), "string=:note": unescape(note)}
            await visitor.send(f"/ui/jobs/{job.id}/answer", **typed)
            assert await job.result(timeout=30) == Words(text=f"{TURNED} {TURNED}")
            origin = await coordinator.save(thread="t", agent="fails", step="s", state={"text": "x"})
            await visitor.open(f"/ui/checkpoints/{origin.id}")
            agents = {unescape(each) for each in re.findall('<option value="([^"]*)"', visitor.page)}
            assert agents == {f"asks{TURNED}", "fails"}


def test_json_means_the_same() -> None:
    """It is shown, and begins answers."""
    assert in_json({"a": f"{TURNED}{HEBREW}"}) == f'{{\n  "a": "\\u202e0001${HEBREW}"\n}}'
    assert shown(TURNED).text == TURNED  # the page escapes it
