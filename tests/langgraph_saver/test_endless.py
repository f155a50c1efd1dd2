"""A value that contains itself is refused at once. To look for what could be wrapped in it would take for ever."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.serde.values import Values

pytestmark = [pytest.mark.capability("langgraph"), pytest.mark.timeout(30)]
_WHY = "can't be saved: it contains itself, or has too many layers"


@bp.state_type("saver_endless.node")
@dataclasses.dataclass
class Node:
    parts: list[Any]


def _list() -> Any:
    made: list[Any] = []
    made.append((made,))
    return made


def _messages() -> Any:
    made: list[Any] = [HumanMessage("x")]
    made.append(made)
    return made


def _tree() -> Any:
    made: dict[str, Any] = {}
    made["parts"] = [{"number": number, "parent": made} for number in range(50)]
    return made


def _object() -> Any:
    made = Node([])
    made.parts.append(made)
    return made


def _deep() -> Any:
    made: list[Any] = []
    for _ in range(3000):
        made = [made]
    return made


endless = pytest.mark.parametrize("make", [_list, _messages, _tree, _object, _deep])


@endless
def test_a_saver_refuses_it(make: Callable[[], Any], saver: BatonpassSaver, thread: str) -> None:
    names: Any = {"thread_id": thread, "checkpoint_ns": ""}
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"x": make()}, "channel_versions": {"x": 1}}
    with pytest.raises(bp.Unserializable, match=_WHY):
        saver.put({"configurable": names}, checkpoint, {}, {"x": 1})
    with pytest.raises(bp.Unserializable, match=_WHY):
        saver.put_writes({"configurable": {**names, "checkpoint_id": "1"}}, [("x", make())], "t")
    assert saver.get_tuple({"configurable": names}) is None


@pytest.mark.parametrize("wrap", [lambda held: [held], lambda held: {"k": held}, lambda held: (held,)])
def test_a_saver_refuses_many_layers_around_what_it_wraps(
    wrap: Callable[[Any], Any], saver: BatonpassSaver, thread: str
) -> None:
    made: Any = re.compile("x")
    for _ in range(400):
        made = wrap(made)
    names: Any = {"thread_id": thread, "checkpoint_ns": "", "checkpoint_id": "1"}
    with pytest.raises(bp.Unserializable, match=_WHY):
        saver.put_writes({"configurable": names}, [("x", made)], "t")


@endless
def test_so_does_a_job(make: Callable[[], Any]) -> None:
    with pytest.raises(bp.Unserializable, match=_WHY):
        Values(()).seal(make(), "state")
