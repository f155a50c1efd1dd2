"""A thread grows by what is new in it, too, where a node writes the whole of a value, or is a subgraph that is given
it."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from tests.harness.texts import words

from .test_growth import size

pytestmark = pytest.mark.capability("langgraph")
KEY = {"2026-11": b"k" * 32}


class Whole(TypedDict, total=False):
    asked: str
    turns: int
    lines: list[str]
    notes: dict[str, str]
    text: str


def _text(state: Any) -> str:
    return words(random.Random(state.get("turns", 0)), 700)


def _list(state: Any) -> Any:
    return {"lines": [*state.get("lines", []), _text(state)], "turns": state.get("turns", 0) + 1}


def _dict(state: Any) -> Any:
    """One large dict, of which one value grows each time."""
    turns, notes = state.get("turns", 0), dict(state.get("notes", {}))
    name = f"note {turns % 3}"
    return {"notes": {**notes, name: notes.get(name, "") + _text(state)}, "turns": turns + 1}


def _merged(before: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    return {**before, **written}


class Files(TypedDict, total=False):
    asked: str
    turns: int
    files: Annotated[dict[str, Any], _merged]


def _files(state: Any) -> Any:
    """A few of many files, of which one grows each time. A small one and one that is new are written beside it."""
    turns, files = state.get("turns", 0), state.get("files", {})
    grown = {"a.py": files.get("a.py", "") + _text(state), f"{turns % 9}.py": "small", "b": {"c": [_text(state)]}}
    return {"files": dict(sorted(grown.items(), reverse=turns % 2 == 0)), "turns": turns + 1}


def _str(state: Any) -> Any:
    return {"text": state.get("text", "") + _text(state), "turns": state.get("turns", 0) + 1}


def _node(fn: Any, state: Any = Whole) -> StateGraph[Any, Any, Any, Any]:
    graph = StateGraph(state)
    graph.add_node("node", fn)
    graph.add_edge(START, "node")
    return graph


class _Agents(MessagesState):
    turns: int


def _subgraph(keeps: bool | None = None) -> StateGraph[Any, Any, Any, Any]:
    """As an agent of LangGraph's own is one: it is given all messages, and returns all messages. It may keep a state of
    its own between runs."""

    def model(state: Any) -> Any:
        number = len(state["messages"])
        return {"messages": [AIMessage(words(random.Random(number), 700), id=str(number))]}

    inner = StateGraph(MessagesState)
    inner.add_node("model", model)
    inner.add_edge(START, "model")
    graph = StateGraph(_Agents)
    graph.add_node("agent", inner.compile(checkpointer=keeps))
    graph.add_edge(START, "agent")
    return graph


def _asked(number: int) -> Any:
    return {"asked": str(number)}


def _said(number: int) -> Any:
    return {"messages": [HumanMessage(f"question {number}", id=f"q{number}")]}


GRAPHS: dict[str, tuple[Callable[[], StateGraph[Any, Any, Any, Any]], Callable[[int], Any]]] = {
    "list": (lambda: _node(_list), _asked),
    "dict": (lambda: _node(_dict), _asked),
    "files": (lambda: _node(_files, Files), _asked),
    "str": (lambda: _node(_str), _asked),
    "subgraph": (_subgraph, _said),
    "lasting subgraph": (lambda: _subgraph(keeps=True), _said),
}


def play(saver: Any, kind: str, thread: str, turns: range) -> None:
    """Turns of a conversation with a graph, on one thread."""
    make, given = GRAPHS[kind]
    graph: Any = make().compile(checkpointer=saver)
    for turn in turns:
        graph.invoke(given(turn), {"configurable": {"thread_id": thread}})


def _told(found: CheckpointTuple) -> Any:
    written = [(channel, value) for _, channel, value in found.pending_writes or ()]
    values = sorted(found.checkpoint["channel_values"].items())
    return found.metadata.get("step"), values, sorted(written, key=repr)


def history(saver: Any, thread: str) -> list[Any]:
    """Of each checkpoint, also of subgraphs, its values and what was written on it."""
    config: Any = {"configurable": {"thread_id": thread}}
    return sorted((_told(found) for found in saver.list(config)), key=repr)


@pytest.mark.parametrize("codec", [None, bp.Codec(encrypt=KEY)], ids=["plain", "encrypted"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_each_turn_costs_what_is_new(kind: str, codec: bp.Codec | None, tmp_path: Path, thread: str) -> None:
    path, sizes = tmp_path / "store.db", [0]
    with BatonpassSaver.from_url(f"sqlite:///{path}", codec=codec) as saver:
        for part in range(3):
            play(saver, kind, thread, range(part * 20, part * 20 + 20))
            sizes.append(size(path))
    # 28,000 bytes a turn or more, if each was kept whole. (Pages of the file make it uneven.)
    assert sizes[3] - sizes[2] < 20 * 18_000


@pytest.mark.parametrize("codec", [None, bp.Codec(encrypt=KEY)], ids=["plain", "encrypted"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_and_all_of_it_comes_back(kind: str, codec: bp.Codec | None, url: str, thread: str) -> None:
    """As from LangGraph's own saver: by another process as well, and after others were pruned or copied."""
    theirs = InMemorySaver()
    play(theirs, kind, thread, range(12))
    with BatonpassSaver.from_url(url, codec=codec) as saver:
        play(saver, kind, thread, range(12))
        expected = history(theirs, thread)
        assert history(saver, thread) == expected
        saver.copy_thread(thread, f"{thread} copy")
        if not url.startswith("memory:"):
            with BatonpassSaver.from_url(url, codec=codec) as other:
                assert history(other, thread) == expected
        saver.prune([thread], strategy="keep_latest")
        play(saver, kind, thread, range(12, 15))
        play(theirs, kind, thread, range(12, 15))
        kept = theirs.get_tuple({"configurable": {"thread_id": thread}})
        found = saver.get_tuple({"configurable": {"thread_id": thread}})
        assert found is not None
        assert kept is not None
        assert found.checkpoint["channel_values"] == kept.checkpoint["channel_values"]
        saver.delete_thread(thread)
        assert history(saver, f"{thread} copy") == expected


@pytest.mark.parametrize("codec", [None, bp.Codec(encrypt=KEY)], ids=["plain", "encrypted"])
@pytest.mark.parametrize("kind", GRAPHS)
def test_a_bundle_has_all_of_it(
    kind: str, codec: bp.Codec | None, shared_url: str, thread: str, tmp_path: Path
) -> None:
    file = tmp_path / "thread.bundle"
    with BatonpassSaver.from_url(shared_url, codec=codec) as saver, bp.connect(shared_url, codec=codec) as coordinator:
        play(saver, kind, thread, range(12))
        expected = history(saver, thread)
        coordinator.export_bundle(thread, file)
        saver.delete_thread(thread)
        coordinator.import_bundle(file)
        assert history(saver, thread) == expected
