"""Names have a bound: one of megabytes, from a stranger's request, was stored with everything that it was about."""

from __future__ import annotations

import re
from typing import Any

import pytest

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver, BatonpassStore
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls.inputs import LONGEST_NAME
from tests.cli.commandline import kept
from tests.harness.bench import new_checkpoint

LONG, FITS = "x" * (LONGEST_NAME + 1), "é" * LONGEST_NAME


class Topic(bp.Contract, name="long.topic"):
    text: str = ""


app = bp.App("desk")


@app.agent("research", accepts=Topic, returns=Topic)
def research(topic: Topic) -> Topic:
    return topic


def _refusal(what: str) -> str:
    return re.escape(f"the {what} '{'x' * 20}'... has 1,025 characters: a name may have 1,024")


def test_a_longer_one_is_refused_before_anything_is_written(store_url: str) -> None:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        cp = coordinator.save(thread="t", agent="a", state={})
        before = kept(store_url)
        asked: list[tuple[str, Any]] = [
            ("thread", lambda: coordinator.submit("research", Topic(), thread=LONG)),
            ("key", lambda: coordinator.submit("research", Topic(), key=LONG)),
            ("thread", lambda: coordinator.save(thread=LONG, agent="a", state={})),
            ("agent", lambda: coordinator.save(thread="t", agent=LONG, state={})),
            ("step", lambda: coordinator.save(thread="t", agent="a", step=LONG, state={})),
            ("thread", lambda: coordinator.fork(cp.id, thread=LONG)),
            ("thread", lambda: coordinator.copy("t", to=LONG)),
            ("name", lambda: coordinator.schedule(LONG, "research", Topic(), cron="* * * * *")),
            ("name", lambda: coordinator.webhook(LONG, "https://hooks.example.com/x")),
        ]
        for what, ask in asked:
            with pytest.raises(bp.BadSetup, match=_refusal(what)):
                ask()
    assert kept(store_url) == before


def test_as_long_as_that_they_work(store_url: str) -> None:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        job = coordinator.submit("research", Topic(), thread=FITS, key=FITS)
        assert coordinator.submit("research", Topic(), thread=FITS, key=FITS).id == job.id
        assert [each.id for each in coordinator.jobs(thread=FITS)] == [job.id]


def test_a_longer_one_that_was_stored_before_can_be_read_and_deleted(store_url: str) -> None:
    with bp.connect(store_url) as coordinator:
        coordinator.store.call(c.Save(LONG, new_checkpoint("kept", thread=LONG)))
        latest = coordinator.latest(thread=LONG)
        assert latest is not None
        assert [each.id for each in coordinator.timeline(thread=LONG)] == [latest.id]
        assert coordinator.copy(LONG, to="short") == 1
        assert coordinator.delete(LONG) == 1


@pytest.mark.capability("langgraph")
def test_in_langgraph(store_url: str) -> None:
    from langgraph.graph import START, StateGraph

    graph: Any = StateGraph(dict)
    graph.add_node("say", lambda _: {})
    graph.add_edge(START, "say")
    with BatonpassSaver.from_url(store_url) as saver:
        made = graph.compile(checkpointer=saver)
        with pytest.raises(bp.BadSetup, match=_refusal("thread_id")):
            made.invoke({}, {"configurable": {"thread_id": LONG}})
        made.invoke({}, {"configurable": {"thread_id": FITS}})
    with BatonpassStore.from_url(store_url) as memory:
        with pytest.raises(bp.BadSetup, match=_refusal("key")):
            memory.put(("notes",), LONG, {})
        with pytest.raises(bp.BadSetup, match=_refusal("namespace label")):
            memory.put((LONG,), "key", {})
        assert memory.get((LONG,), LONG) is None
        memory.put((FITS,), FITS, {})
