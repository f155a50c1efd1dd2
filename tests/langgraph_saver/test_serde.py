"""What comes back is what was put. What could not come back is refused, and nothing in a row makes code run."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import subprocess
import uuid
from collections import deque
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import ormsgpack
import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import ERROR
from langgraph.types import Command, Interrupt, Send
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.serde.wrapped import Wrapped
from batonpass.contracts.codec import pack
from batonpass.coordinator.commands import PutWrites
from batonpass.coordinator.place_writes import close_write
from batonpass.coordinator.rows import Write

pytestmark = pytest.mark.capability("langgraph")


class Colour(enum.Enum):
    RED = "red"


class Model(BaseModel):
    name: str
    parts: list[Colour] = []


@dataclasses.dataclass
class Plain:
    number: int


class Pair(NamedTuple):
    one: int
    other: str


@bp.state_type("saver_serde.known")
@dataclasses.dataclass
class Known:
    number: int


OURS: list[Any] = [
    None, True, 2**70, 1.5, "text", b"bytes", ("a", 1), {1, 2}, frozenset({"x"}), {"a": [{"b": None}]}, {1: "one"},
    Decimal("1.10"), uuid.UUID(int=5), dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.timedelta(days=2), Path("/x/y"),
    HumanMessage("hello", id="1"), AIMessage("", tool_calls=[{"name": "t", "args": {"x": 1}, "id": "c"}]),
    ToolMessage("done", tool_call_id="c", artifact={"kept": (1, 2)}),
    ToolMessage("done", tool_call_id="c", artifact=[Known(3)]),
]  # fmt: skip
THEIRS: list[Any] = [
    Send("node", {"arg": HumanMessage("x", id="2")}), Interrupt(value={"ask": 1}, id="i"), Command(goto="node"),
    deque([1, 2]), Document("text", metadata={"a": 1}), bytearray(b"x"),
    [HumanMessage("a", id="3"), Send("n", 1)], {"deep": [{"er": (Send("n", 2),)}]},
    Send("node", Known(3)), Interrupt(value=[Known(4)], id="i"),
]  # fmt: skip
DECLARED: list[Any] = [
    Colour.RED,
    Model(name="m", parts=[Colour.RED]),
    Plain(3),
    Pair(1, "x"),
    [Plain(1), "a", Model(name="n")],
]


def through(saver: BatonpassSaver, thread: str, value: Any) -> Any:
    """A value after it was put, both as a channel's and as a write."""
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    checkpoint = {**empty_checkpoint(), "channel_values": {"x": value}, "channel_versions": {"x": 1}}
    put = saver.put(config, checkpoint, {"kept": value}, {"x": 1})  # type: ignore[arg-type,typeddict-unknown-key]
    saver.put_writes(put, [("x", value)], "task")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes is not None
    [(_, _, written)] = found.pending_writes
    kept: Any = found.metadata
    for each in (written, kept["kept"]):
        assert each == found.checkpoint["channel_values"]["x"]
    return found.checkpoint["channel_values"]["x"]


@pytest.mark.parametrize("value", [*OURS, *THEIRS], ids=repr)
def test_comes_back_equal(value: Any, thread: str) -> None:
    with BatonpassSaver.from_url("memory://") as saver:
        back = through(saver, thread, value)
        assert back == value
        assert type(back) is type(value)


@pytest.mark.parametrize("value", DECLARED, ids=repr)
@pytest.mark.parametrize("way", ["allow", "with_allowlist", "serde"])
def test_types_of_the_user_come_back_if_they_are_allowed(way: str, value: Any, thread: str) -> None:
    kinds = [Colour, Model, Plain, Pair]
    if way == "allow":
        saver = BatonpassSaver.from_url("memory://", allow=kinds)
    elif way == "with_allowlist":
        saver = BatonpassSaver.from_url("memory://").with_allowlist(
            [(each.__module__, each.__name__) for each in kinds]
        )
    else:
        saver = BatonpassSaver.from_url("memory://", serde=JsonPlusSerializer(allowed_msgpack_modules=kinds))
    assert through(saver, thread, value) == value


@pytest.mark.parametrize("value", DECLARED, ids=repr)
def test_types_of_the_user_are_refused_if_they_are_not(value: Any, thread: str) -> None:
    with BatonpassSaver.from_url("memory://") as saver, pytest.raises(bp.Unserializable, match=r"state\['x'\]") as told:
        through(saver, thread, {"deep": [value]} if not isinstance(value, list) else value)
    assert told.value.path.startswith("state['x']")
    assert "BatonpassSaver(allow=[" in str(told.value)  # a schema that names it is not enough
    with BatonpassSaver.from_url("memory://") as saver:
        assert list(saver.list(None)) == []


def test_what_was_put_by_one_who_may_is_not_made_by_one_who_may_not(sqlite_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(sqlite_url, allow=[Plain]) as saver:
        through(saver, thread, Plain(1))
    with BatonpassSaver.from_url(sqlite_url) as saver, pytest.raises(bp.BadSetup, match=r"Plain.*allow="):
        saver.get_tuple({"configurable": {"thread_id": thread}})


def test_objects_without_a_form_are_refused(saver: BatonpassSaver, thread: str) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    with pytest.raises(bp.Unserializable, match="channel"):
        saver.put_writes(
            {"configurable": {**config["configurable"], "checkpoint_id": "1"}}, [("channel", object())], "t"
        )
    with pytest.raises(bp.Unserializable):
        through(saver, thread, object())
    assert saver.get_tuple(config) is None


def test_a_nodes_error_is_kept_as_its_text(saver: BatonpassSaver, thread: str) -> None:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    put = saver.put(config, empty_checkpoint(), {}, {})
    saver.put_writes(put, [(ERROR, ValueError("no"))], "task")
    found = saver.get_tuple(config)
    assert found is not None
    assert found.pending_writes == [("task", ERROR, "ValueError('no')")]


def test_a_clone_may_more_and_shares_the_rest(saver: BatonpassSaver, thread: str) -> None:
    clone = saver.with_allowlist([(Plain.__module__, "Plain")])
    assert through(clone, thread, Plain(2)) == Plain(2)
    assert clone.with_allowlist([(Plain.__module__, "Plain")]) is clone
    assert clone._shared is saver._shared
    with pytest.raises(bp.Unserializable):
        through(saver, thread, Plain(2))


def test_an_encrypting_serializer_is_refused_for_a_codec() -> None:
    with pytest.raises(bp.BadSetup, match="codec="):
        BatonpassSaver.from_url("memory://", serde=EncryptedSerializer(None))  # type: ignore[arg-type]


def test_a_codec_leaves_nothing_readable(tmp_path: Path, thread: str) -> None:
    secret = "a very secret thing " * 800
    codec = bp.Codec(encrypt={"a": b"0" * 32})
    file = tmp_path / "coded.db"
    with BatonpassSaver.from_url(f"sqlite:///{file}", codec=codec) as saver:
        assert through(saver, thread, [secret, "more"]) == [secret, "more"]
        [listed] = saver.list({"configurable": {"thread_id": thread}})
        assert listed.checkpoint["channel_values"]["x"] == [secret, "more"]
    assert b"secret" not in b"".join(each.read_bytes() for each in tmp_path.iterdir())
    with BatonpassSaver.from_url(f"sqlite:///{file}") as saver, pytest.raises(bp.BadSetup, match="codec"):
        saver.get_tuple({"configurable": {"thread_id": thread}})


def hostile() -> list[bytes]:
    """Rows that make LangGraph's own default run a command (CVE-2025-64439, CVE-2026-28277)."""
    run = ("subprocess", "call", ["touch", "hacked"])
    rows = [
        ormsgpack.Ext(0, ormsgpack.packb(("os", "system", "touch hacked"))),
        ormsgpack.Ext(1, ormsgpack.packb(("subprocess", "call", (["touch", "hacked"],)))),
        ormsgpack.Ext(2, ormsgpack.packb(("subprocess", "run", {"args": ["touch", "hacked"]}))),
        ormsgpack.Ext(3, ormsgpack.packb((*run, "__call__"))),
        ormsgpack.Ext(5, ormsgpack.packb(("subprocess", "run", {"args": ["touch", "hacked"]}, "x"))),
    ]
    return [ormsgpack.packb(row) for row in rows]


_JSON = b'{"lc": 2, "type": "constructor", "id": ["os", "system"], "args": ["touch hacked"]}'
_ROWS = [*(("msgpack", row) for row in hostile()), ("json", _JSON), ("pickle", b"cos\nsystem\n(S'touch hacked'\ntR.")]


@pytest.mark.parametrize(("kind", "row"), _ROWS)
def test_nothing_runs_on_load(
    kind: str, row: bytes, saver: BatonpassSaver, thread: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(subprocess, "call", _ran)
    monkeypatch.setattr("os.system", _ran)
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    put: Any = saver.put(config, empty_checkpoint(), {}, {})
    key = put["configurable"]["checkpoint_id"]
    data = close_write(["", "x", True, pack(Wrapped(kind, row))])
    saver._shared.handles.store().call(PutWrites(thread, "", key, [Write("0 task", data)]))
    try:
        found = saver.get_tuple(config)
    except bp.Corrupted:
        assert kind != "msgpack"
    else:
        assert found is not None
        assert kind == "msgpack"
    assert not (tmp_path / "hacked").exists()


def _ran(*args: Any, **more: Any) -> None:
    raise AssertionError("a stored row made something run")


def test_what_looks_like_a_marker_is_a_users_value(saver: BatonpassSaver, thread: str) -> None:
    """CVE-2025-68664: dicts of the user's that look like those that LangChain revives."""
    value = {"lc": 1, "type": "secret", "id": ["HOME"], "kind": "msgpack", "data": hostile()[0]}
    assert through(saver, thread, value) == value
