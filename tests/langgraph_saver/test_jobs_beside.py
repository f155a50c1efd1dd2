"""A saver and jobs on threads of one name: neither takes anything from the other."""

from __future__ import annotations

from typing import Any

import pytest

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.testing import serving

from .graphs import Runner, ask, chat, say

pytestmark = pytest.mark.capability("langgraph")


class Note(bp.Contract, name="jobs_beside.note"):
    text: str = ""


def _delete(saver: BatonpassSaver, thread: str) -> None:
    saver.delete_thread(thread)


def _prune(saver: BatonpassSaver, thread: str) -> None:
    saver.prune([thread], strategy="delete")


@pytest.mark.parametrize("delete", [_delete, _prune])
async def test_a_saver_deletes_nothing_of_the_jobs(delete: Any, store_url: str, thread: str) -> None:
    """The next request with the job's key used to run the agent again."""
    app, ran = bp.App("jobs-beside"), list[str]()

    @app.agent("charge", accepts=Note, returns=Note)
    async def charge(note: Note, ctx: bp.Context) -> Note:
        ran.append(note.text)
        return Note(text=await ctx.step("charge", str, "charged"))

    async with serving(app, store_url) as coordinator:

        async def charged() -> bp.Job[Note]:
            job = await coordinator.submit("charge", Note(text="one"), thread=thread, key="order", returns=Note)
            assert (await job.result(timeout=20)).text == "charged"
            return job

        job = await charged()
        before = await coordinator.timeline(thread)
        with BatonpassSaver.from_url(store_url) as saver:
            graph = chat(saver)
            await graph.ainvoke(say("hello"), {"configurable": {"thread_id": thread}})
            await coordinator.name((await coordinator.timeline(thread))[0].id, "said")
            await ask(saver).ainvoke({"trace": []}, {"configurable": {"thread_id": thread, "checkpoint_ns": "other"}})
            delete(saver, thread)
            assert (await graph.aget_state({"configurable": {"thread_id": thread}})).values == {}
        assert [each.id for each in await coordinator.timeline(thread)] == [each.id for each in before]
        assert (await charged()).id == job.id
    assert ran == ["one"]


def test_a_save_by_hand_stays_too(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        saved = coordinator.save(thread=thread, agent="notes", state={"kept": 1})
        Runner(chat(saver), thread, "sync").run(say("hello"))
        saver.delete_thread(thread)
        assert [each.id for each in coordinator.timeline(thread)] == [saved.id]


@pytest.mark.parametrize("owned", [False, True])
def test_nothing_is_left_of_a_thread_that_only_a_saver_has_used(owned: bool, store_url: str, thread: str) -> None:
    """Not even of an owner that somebody has canceled."""
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        runner = Runner(ask(saver), thread, "sync")
        runner.run({"trace": ["in"]})
        if owned:
            with pytest.raises(bp.Fenced), saver.own(thread):
                [job] = coordinator.jobs(thread=thread)
                coordinator.job(job.id).cancel()
        saver.delete_thread(thread)
        assert (coordinator.threads(), coordinator.jobs(thread=thread)) == ([], [])


def test_a_thread_that_is_owned_is_not_deleted(saver: BatonpassSaver, thread: str) -> None:
    runner = Runner(chat(saver), thread, "sync")
    runner.run(say("hello"))
    with saver.own(thread), pytest.raises(bp.ThreadBusy, match="before you delete the thread"):
        saver.delete_thread(thread)
    assert runner.state().values["turns"] == 1
