"""Thread: a chat that grows by a message or two a step, as LangGraph hands it to a saver."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, Checkpoint, CheckpointMetadata
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.harness.texts import words

Saver = BaseCheckpointSaver[Any]
_CHAT = {"thread_id": "chat", "checkpoint_ns": ""}
CONFIG: RunnableConfig = {"configurable": _CHAT}
_SIZE = 500
_START = f"{1:032}.0.5"


@dataclass(frozen=True)
class Step:
    """One superstep's checkpoint, what led to it, and the bytes that it adds once (L)."""

    checkpoint: Checkpoint
    metadata: CheckpointMetadata
    new: list[BaseMessage]
    task: str
    adds: int


class Thread:
    """The chat. Messages are the same objects in every step, in a new list, as `add_messages` makes them."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._serde = JsonPlusSerializer()
        self._version = ""
        self.steps = 0
        self.messages: list[BaseMessage] = []

    def step(self) -> Step:
        """The next superstep."""
        new: list[BaseMessage] = [HumanMessage(words(self._chance, _SIZE), id=self._id())]
        if self.steps % 2:
            new.append(AIMessage(words(self._chance, _SIZE), id=self._id()))
        self.messages = self.messages + new
        self.steps += 1
        before, self._version = self._version, f"{self.steps + 1:032}.{self._chance.random():016}"
        seen: dict[str, Any] = {"__input__": {}, "__start__": {"__start__": _START}}
        seen["chat"] = {"messages": before} if before else {}
        checkpoint = Checkpoint(
            v=4,
            id=str(uuid6(clock_seq=self.steps)),
            ts=datetime.now(UTC).isoformat(),
            channel_values={"messages": self.messages},
            channel_versions={"__start__": _START, "messages": self._version},
            versions_seen=seen,
            updated_channels=["messages"],
        )
        metadata = CheckpointMetadata(source="loop", step=self.steps, parents={})
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        adds = sum(len(self._serde.dumps_typed(each)[1]) for each in (new, rest, metadata))
        return Step(checkpoint, metadata, new, self._id(), adds)

    def _id(self) -> str:
        return str(UUID(int=self._chance.getrandbits(128), version=4))


class Writing:
    """A saver that is given the steps of a thread."""

    def __init__(self, saver: Saver) -> None:
        self._saver = saver
        self._at: RunnableConfig = CONFIG

    async def together(self, step: Step) -> None:
        """As LangGraph does it: the put follows while the writes are on their way."""
        if self._at is CONFIG:
            await self._put(step)
        else:
            await asyncio.gather(self._put_writes(step), self._put(step))
        self._to(step)

    async def one_by_one(self, step: Step) -> None:
        """The writes, and then the put."""
        await self._put_writes(step)
        await self._put(step)
        self._to(step)

    async def _put(self, step: Step) -> None:
        values = dict(step.checkpoint["channel_values"])
        checkpoint: Any = {**step.checkpoint, "channel_values": values}
        versions = {"messages": step.checkpoint["channel_versions"]["messages"]}
        await self._saver.aput(self._at, checkpoint, step.metadata, versions)

    async def _put_writes(self, step: Step) -> None:
        await self._saver.aput_writes(self._at, [("messages", step.new)], step.task, "~__pregel_pull, chat")

    def _to(self, step: Step) -> None:
        self._at = {"configurable": {**_CHAT, "checkpoint_id": step.checkpoint["id"]}}


async def grow(saver: Saver, steps: int) -> AsyncIterator[int]:
    """Put a thread step by step; what each step adds, once."""
    thread, writing = Thread(steps), Writing(saver)
    for _ in range(steps):
        step = thread.step()
        await writing.together(step)
        yield step.adds
