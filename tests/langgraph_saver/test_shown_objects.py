"""Objects of one's own classes in a saver's thread: shown and compared by their fields, without the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from tests.cli.commandline import CommandLine

pytestmark = pytest.mark.capability("langgraph")


class Fit(BaseModel):
    lr: float
    losses: list[float] = []


@dataclass
class Seen:
    at: int


@bp.state_type("saver_shown.run")
class Run(BaseModel):
    lr: float
    losses: list[float] = []


class State(TypedDict, total=False):
    fit: Fit
    seen: list[Seen]
    run: Run


def step(state: State) -> State:
    lr = state["fit"].lr + 1 if "fit" in state else 1.0
    return {"fit": Fit(lr=lr, losses=[lr]), "seen": [Seen(int(lr))], "run": Run(lr=lr)}


def test_they_are_shown_compared_and_not_changed(
    store_url: str, thread: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with BatonpassSaver.from_url(store_url, allow=[Fit, Seen]) as saver:
        builder: Any = StateGraph(State).add_node("step", step).add_edge(START, "step")
        graph = builder.compile(checkpointer=saver)
        for _ in range(2):
            graph.invoke({}, {"configurable": {"thread_id": thread}})
        run = CommandLine(store_url, capsys, monkeypatch)
        last, old = (each["id"] for each in run("timeline", thread, "--step", "step", "--json").json)
        assert run("restore", last).json == {
            "fit": {"type": f"{__name__}.Fit", "value": {"lr": 2.0, "losses": [2.0]}},
            "seen": [{"type": f"{__name__}.Seen", "value": {"at": 2}}],
            "run": {"lr": 2.0, "losses": []},
        }
        assert run("diff", old, last).out.splitlines() == [
            "~ state['fit'].lr: 1.0 -> 2.0",
            "~ state['fit'].losses[0]: 1.0 -> 2.0",
            "~ state['seen'][0].at: 1 -> 2",
            "~ state['run'].lr: 1.0 -> 2.0",
        ]
        refused = run("fork", last, "--set", "fit.lr=5").complaint
        assert "'fit.lr' can't be changed: it is in a" in refused
        assert "register the class with @bp.state_type" in refused
        assert run("fork", last, "--set", "run.lr=5", "--thread", f"{thread} 2").code == 0
        found = graph.get_state({"configurable": {"thread_id": f"{thread} 2"}}).values
        assert (found["run"], found["fit"]) == (Run(lr=5), Fit(lr=2, losses=[2]))
