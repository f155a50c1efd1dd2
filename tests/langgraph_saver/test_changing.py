"""A node changes its state while that is put, which LangGraph allows unless durability is "sync". What is stored is a
state that existed."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Iterator
from threading import Semaphore, Thread
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.types import Send

from batonpass.adapters.langgraph import BatonpassSaver

pytestmark = pytest.mark.capability("langgraph")

_PUTS = 9
_EACH = 200


class Node(Thread):
    """Appends while each put goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Any] = []
        self.box: dict[Any, Any] = {"deep": []}
        self.message = AIMessage("it is changed, too")
        self.within: dict[str, Any] = self.message.additional_kwargs
        self.within |= {str(number): dt.date(2026, 1, 1) for number in range(1000)}
        self.more = Semaphore(0)

    def held(self) -> dict[str, Any]:
        return {"lines": self.lines, "box": self.box, "more": [self.message]}

    def run(self) -> None:
        for number in range(_PUTS * _EACH):
            self.more.acquire()
            self.lines.append(AIMessage(f"{number} " * 20, id=str(number)))
            self.within[str(len(self.within))] = dt.date(2026, 1, 1)
            self.box["deep"].append(AIMessage(f"{number}", id=str(number)))
            self.box[number] = AIMessage(f"{number}", id=str(number))


@pytest.fixture
def node() -> Iterator[Node]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    made = Node()
    made.start()
    try:
        yield made
    finally:
        made.more.release(_PUTS * _EACH)
        made.join()
        sys.setswitchinterval(before)


def check(held: dict[str, Any]) -> list[int]:
    """How many were there of each, in order and without a gap."""
    box = dict(held["box"])
    within = held["more"][0].additional_kwargs
    all_of = [[*within], [each.id for each in held["lines"]], [each.id for each in box.pop("deep")], [*map(str, box)]]
    for ids in all_of:
        assert ids == [str(number) for number in range(len(ids))]
    return [len(ids) for ids in all_of]


def test_a_checkpoint_holds_what_there_was(node: Node, saver: BatonpassSaver, thread: str) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    held = node.held()
    before = [0, 0, 0, 0]
    for number in range(_PUTS):
        node.more.release(_EACH)
        if number == _PUTS - 1:
            node.join()
        checkpoint: Any = {**empty_checkpoint(), "channel_values": held, "channel_versions": dict.fromkeys(held, 1)}
        config = saver.put(config, checkpoint, {"source": "loop"}, {})
        if number % 3 == 2:
            saver._shared.renew()
        found = saver.get_tuple(config)
        assert found is not None
        now = check(found.checkpoint["channel_values"])
        assert all(old <= new for old, new in zip(before, now, strict=True))
        before = now
    assert before == [len(node.within), len(node.lines), len(node.box["deep"]), len(node.box) - 1]


def test_what_a_task_wrote_is_what_there_was(node: Node, saver: BatonpassSaver, thread: str) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    config = saver.put(config, empty_checkpoint(), {"source": "loop"}, {})
    held = node.held()
    for number in range(_PUTS):
        node.more.release(_EACH)
        writes = [*held.items(), ("sent", Send("next", held))]
        saver.put_writes(config, writes, f"task {number}")
    found = saver.get_tuple(config)
    assert found is not None
    written: dict[str, dict[str, Any]] = {}
    for task, channel, value in found.pending_writes or ():
        written.setdefault(task, {})[channel] = value
    assert len(written) == _PUTS
    for each in written.values():
        check(each)
        check(each["sent"].arg)
