"""Lists: filters of any kind, bounds and limits, all threads, and names that are meant to break something."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from batonpass.adapters.langgraph import BatonpassSaver

pytestmark = pytest.mark.capability("langgraph")

HOSTILE = [
    "'",
    '"',
    "x' OR '1'='1",
    "a.b",
    "a[0]",
    "$",
    "%",
    "*",
    "{}",
    "\\",
    "\n",
    "\x00",
    "é",
    "a) OR 1=1 --",
    "",
    ":",
    "|",
    "-1",
]


def put(saver: BatonpassSaver, thread: str, metadata: dict[str, Any], scope: str = "", parent: str = "") -> str:
    names = {"thread_id": thread, "checkpoint_ns": scope, **({"checkpoint_id": parent} if parent else {})}
    checkpoint = {**empty_checkpoint(), "id": str(uuid6())}
    saver.put({"configurable": names}, checkpoint, metadata, {})  # type: ignore[arg-type]
    return str(checkpoint["id"])


def ids(saver: BatonpassSaver, thread: str | None, **more: Any) -> list[str]:
    names = {"thread_id": thread, **more.pop("names", {})}
    found = saver.list({"configurable": names} if thread else None, **more)
    return [each.checkpoint["id"] for each in found]


VALUES: list[Any] = [
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    "",
    "text",
    "'",
    [1, [2]],
    {"a": {"b": [None]}},
    ("a",),
    "\x00",
    "é",
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_any_value_can_be_asked_for(value: Any, saver: BatonpassSaver, thread: str) -> None:
    made = put(saver, thread, {"key": value, "other": 1})
    put(saver, thread, {"key": "something else", "other": 1})
    kept = "" if value == "\x00" else value  # LangGraph takes it out of texts
    assert ids(saver, thread, filter={"key": kept}) == [made]
    assert ids(saver, thread, filter={"key": kept, "other": 1}) == [made]
    assert ids(saver, thread, filter={"key": kept, "other": 2}) == []


@pytest.mark.parametrize("name", HOSTILE, ids=repr)
def test_no_name_means_more_than_itself(name: str, saver: BatonpassSaver, thread: str) -> None:
    """CVE-2025-67644, CVE-2026-27022: keys and values of filters, threads and namespaces are no query."""
    mine = put(saver, f"{thread}{name}", {f"k{name}": f"v{name}"}, scope=f"s{name}")
    put(saver, thread, {"k": "v"}, scope="s")
    wanted = {f"k{name}": f"v{name}".replace("\0", "")}  # LangGraph takes it out of texts
    assert ids(saver, f"{thread}{name}", filter=wanted)[-1:] == [mine]
    assert ids(saver, f"{thread}{name}", names={"checkpoint_ns": f"s{name}"})[-1:] == [mine]
    if name:
        assert ids(saver, f"{thread}{name}") == [mine]
        assert ids(saver, thread, filter=wanted) == []
        assert ids(saver, thread, names={"checkpoint_ns": f"s{name}"}) == []
    assert mine not in ids(saver, f"{thread}x")


def test_bounds_and_limits(saver: BatonpassSaver, thread: str) -> None:
    made: list[str] = []
    for number in range(120):  # more than a page
        made.append(put(saver, thread, {"even": number % 2 == 0}, parent=made[-1] if made else ""))
    newest = made[::-1]
    assert ids(saver, thread) == newest
    assert ids(saver, thread, limit=0) == []
    assert ids(saver, thread, limit=3) == newest[:3]
    assert ids(saver, thread, limit=70, filter={"even": True})[-1] == made[0]
    before: Any = {"configurable": {"thread_id": thread, "checkpoint_id": made[60]}}
    assert ids(saver, thread, before=before) == newest[60:]
    assert ids(saver, thread, before=before, limit=2, filter={"even": True}) == [made[58], made[56]]
    assert ids(saver, thread, names={"checkpoint_id": made[5]}) == [made[5]]
    assert ids(saver, thread, names={"checkpoint_id": made[5], "checkpoint_ns": ""}) == [made[5]]
    assert ids(saver, thread, names={"checkpoint_id": "none", "checkpoint_ns": ""}) == []


def test_namespaces_and_threads(saver: BatonpassSaver, thread: str) -> None:
    root, inner, other = put(saver, thread, {}), put(saver, thread, {}, scope="a:1"), put(saver, f"{thread} two", {})
    assert ids(saver, thread) == [inner, root]
    assert ids(saver, thread, names={"checkpoint_ns": ""}) == [root]
    assert ids(saver, thread, names={"checkpoint_ns": "a:1"}) == [inner]
    assert sorted(ids(saver, None)) == sorted([root, inner, other])
    assert len(ids(saver, None, limit=2)) == 2
    assert ids(saver, "unknown") == []
