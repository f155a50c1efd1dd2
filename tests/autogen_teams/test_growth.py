"""A team's conversation is stored about once, however long it is and however many members have heard it."""

from __future__ import annotations

import os
import random
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import PIL.Image
import pytest
import redis
from autogen_agentchat.agents import SocietyOfMindAgent
from autogen_agentchat.messages import MultiModalMessage, StructuredMessage
from autogen_agentchat.teams import BaseGroupChat, RoundRobinGroupChat, Swarm
from autogen_core import FunctionCall, Image
from autogen_core.models import CreateResult, LLMMessage

import batonpass as bp
from batonpass.adapters.autogen.folding import fold, unfold
from batonpass.contracts.codec import pack
from batonpass.coordinator.commands import Record, Save
from batonpass.workers.session import LeaseSession
from tests.apps.autogen_app import Draft, Report, Score, ScriptedModel, called, hands_to, says, speaker
from tests.harness.texts import words

pytestmark = [pytest.mark.anyio, pytest.mark.capability("autogen")]
TURNS = 200


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "evidence.log"))


def kept(url: str) -> int:
    """What a store holds for its only job, events apart."""
    if url.startswith("sqlite"):
        path = url.removeprefix("sqlite:///")
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            [events] = db.execute("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'event%'").fetchone()
        return os.path.getsize(path) - int(events)
    server, _, namespace = url.partition("?namespace=")
    with closing(redis.Redis.from_url(server)) as client:
        keys: list[bytes] = [key for key in client.scan_iter(count=1000) if namespace.encode() in key]
        return sum(client.memory_usage(key, samples=0) for key in keys if not key.endswith(b":events"))  # type: ignore[misc]


def size(command: Any) -> int:
    """How many bytes of a checkpoint and of journal records are sent."""
    records = sum(map(len, command.records.values()))
    if not isinstance(command, Save):
        return records
    new = command.checkpoint
    appends = sum(len(data) for append in new.appends for data in append if isinstance(data, bytes))
    return sum(map(len, (new.header, new.state, new.native, new.spans))) + appends + records


async def test_a_long_conversation_is_kept_about_once(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(7)
    sent: list[int] = []
    awrite = LeaseSession.awrite

    async def watched(self: LeaseSession, command: Any) -> Any:
        if isinstance(command, Save | Record):
            sent.append(size(command))
        return await awrite(self, command)

    def team() -> BaseGroupChat:
        return RoundRobinGroupChat([speaker(name, lambda *_: words(chance, 500)) for name in "ABC"], max_turns=TURNS)

    monkeypatch.setattr(LeaseSession, "awrite", watched)
    app = bp.App("long")
    app.autogen("a", accepts=Draft, returns=Report)(team)
    async with bp.connect(store_url, app=app) as coordinator:
        empty = kept(store_url)
        async with app.worker(coordinator):
            job = await coordinator.submit("a", Draft(text="go"))
            await job.result(timeout=50)
        checkpoint = await coordinator.latest(thread=job.id)
    assert checkpoint is not None
    messages = checkpoint.state["messages"]
    assert len(messages) == TURNS + 1
    assert (kept(store_url) - empty) / sum(len(pack(message)) for message in messages) <= 3
    quarter = len(sent) // 4
    assert sum(sent[-quarter:]) <= 1.05 * sum(sent[quarter : 2 * quarter])


class Thinker(ScriptedModel):
    async def create(self, messages: Sequence[LLMMessage], **options: Any) -> CreateResult:
        result = await super().create(messages, **options)
        return result.model_copy(update={"thought": "a thought that is long enough to be worth a reference, surely"})


LONG = "a text that is said once and then repeated in the context of everybody who has heard it, {turn}"


def talking() -> BaseGroupChat:
    return RoundRobinGroupChat([speaker(name, says(LONG)) for name in "ABC"], max_turns=5)


def thinking() -> BaseGroupChat:
    members = [speaker(name, says(LONG)) for name in "AB"]
    members[0]._model_client = Thinker("A", says(LONG))
    return RoundRobinGroupChat([*members], max_turns=5)


def using_tools() -> BaseGroupChat:
    async def find(text: str) -> str:
        return LONG + text

    def script(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return [called("find", f"{turn}a"), called("find", f"{turn}b")] if turn % 2 else LONG.format(turn=turn)

    finder = speaker("A", script, tools=[find], max_tool_iterations=3)
    summing = speaker("B", lambda turn, _: [called("find", str(turn))], tools=[find])
    return RoundRobinGroupChat([finder, summing, speaker("C", says(LONG))], max_turns=6)


def handing() -> BaseGroupChat:
    def script(turn: int, messages: Sequence[LLMMessage]) -> str | list[FunctionCall]:
        return hands_to("B")

    members = [speaker("A", script, handoffs=["B"]), speaker("B", lambda *_: hands_to("A"), handoffs=["A"])]
    return Swarm([*members], max_turns=6)


def scoring() -> BaseGroupChat:
    verdict = f'{{"points":7,"reason":"{LONG}"}}'
    members = [speaker("A", lambda *_: verdict, output_content_type=Score), speaker("B", says(LONG))]
    return RoundRobinGroupChat([*members], max_turns=4, custom_message_types=[StructuredMessage[Score]])


def nesting() -> BaseGroupChat:
    inner = RoundRobinGroupChat([speaker("X", says(LONG)), speaker("Y", says(LONG))], max_turns=2, name="inner")
    society = SocietyOfMindAgent(
        "S", RoundRobinGroupChat([speaker("Z", says(LONG))], max_turns=1), ScriptedModel("S", says(LONG))
    )
    return RoundRobinGroupChat([inner, society, speaker("B", says(LONG))], max_turns=4)


def looking() -> BaseGroupChat:
    return RoundRobinGroupChat([speaker(name, says(LONG)) for name in "ABC"], max_turns=5)


@pytest.mark.parametrize("shape", [talking, thinking, using_tools, handing, scoring, nesting, looking])
async def test_what_is_folded_unfolds(shape: Callable[[], BaseGroupChat]) -> None:
    team = shape()
    picture = Image(PIL.Image.effect_noise((32, 32), 50))
    await team.run(task=MultiModalMessage(content=["look", picture], source="user") if shape is looking else "go")
    states = dict((await team.save_state())["agent_states"])
    manager = dict(states[team._group_chat_manager_name])
    thread = manager.pop("message_thread")
    states[team._group_chat_manager_name] = manager
    folded = fold(states, thread)
    assert unfold(folded, thread) == states
    assert picture.to_base64()[:40].encode() not in pack(folded)
    if shape not in (nesting, looking):
        assert LONG[:40].encode() not in pack(folded)
        assert all(type(folded[name]) is tuple for name in "AB")
    with pytest.raises(LookupError):
        unfold(folded, thread[:-3])


def test_values_that_only_look_like_a_conversation_come_back() -> None:
    thread: list[Any] = [
        {"id": "1", "content": LONG, "source": "A", "type": "TextMessage"},
        {"id": "2", "content": "short", "source": "B", "type": "TextMessage"},
    ]
    heard = [{"content": LONG, "source": "A", "type": "UserMessage"}, {"content": "else", "type": "SystemMessage"}]
    state = {
        "B": {"waits": [thread[0], thread[1]], "said": [{"content": LONG}, {"content": "short"}, {"other": LONG}]},
        "C": {"pair": ("message", LONG), "changed": {**thread[0], "source": "C"}, "messages": [{"type": "x"}, 1]},
        "D": {"messages": heard, "id": "1"},
        "E": {"type": "ChatAgentContainerState", "agent_state": {}, "message_buffer": [{"id": "3"}]},
        "F": {"messages": []},
    }
    folded = fold(state, thread)
    assert unfold(folded, thread) == state
    assert folded["B"] == {
        "waits": [("message", 0), ("message", 1)],
        "said": [{"content": ("content", 0)}, {"content": "short"}, {"other": LONG}],
    }
    assert folded["D"]["messages"] == ("heard", "", [[0, 1], heard[1]])
