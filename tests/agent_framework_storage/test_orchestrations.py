"""The Agent Framework's ready-made orchestrations: what each keeps comes back as it was, and it goes on from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from agent_framework import Agent, BaseChatClient, ChatResponse, Message, Workflow
from agent_framework_orchestrations import (
    ConcurrentBuilder,
    GroupChatBuilder,
    GroupChatState,
    MagenticBuilder,
    SequentialBuilder,
)

import batonpass as bp
from batonpass.adapters.agent_framework import BatonpassCheckpointStorage

from .test_adapter import Both, plain

pytestmark = [pytest.mark.anyio, pytest.mark.capability("agent-framework")]


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATONPASS_TEST_LOG", str(tmp_path / "evidence.log"))


class Client(BaseChatClient):
    """A model that answers with what `reply` makes of the messages."""

    def __init__(self, reply: Callable[[Sequence[Message]], str]) -> None:
        super().__init__()
        self._reply = reply

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool, options: Mapping[str, Any], **_: Any
    ) -> Any:
        async def respond() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", [self._reply(messages)])], response_id="r")

        return respond()


def agent(name: str, reply: Callable[[Sequence[Message]], str] | None = None) -> Agent:
    return Agent(client=Client(reply or (lambda heard: f"{name} heard {len(heard)}")), name=name, description=name)


def members() -> list[Agent]:
    return [agent("first"), agent("second")]


def in_turn(state: GroupChatState) -> str:
    return ["first", "second"][state.current_round % 2]


def manager(heard: Sequence[Message]) -> str:
    """Lets `first` speak once, then is satisfied."""
    if "is_request_satisfied" not in heard[-1].text:
        return "a text of the manager"
    done = any(message.author_name == "first" for message in heard)
    answers = {"is_request_satisfied": done, "is_in_loop": False, "is_progress_being_made": True}
    entries = [f'"{name}": {{"reason": "r", "answer": {str(answer).lower()}}}' for name, answer in answers.items()]
    entries += ['"next_speaker": {"reason": "r", "answer": "first"}']
    entries += ['"instruction_or_question": {"reason": "r", "answer": "go on"}']
    return f"{{{', '.join(entries)}}}"


SHAPES: dict[str, Callable[[], Workflow]] = {
    "sequential": lambda: SequentialBuilder(name="w", participants=members()).build(),
    "concurrent": lambda: ConcurrentBuilder(name="w", participants=members()).build(),
    "group chat": lambda: GroupChatBuilder(
        name="w", participants=members(), selection_func=in_turn, max_rounds=3
    ).build(),
    "magentic": lambda: MagenticBuilder(
        name="w", participants=members(), manager_agent=agent("chief", manager)
    ).build(),
}


def texts(outputs: Sequence[Any]) -> list[str]:
    return [str(getattr(output, "text", output)) for output in outputs]


@pytest.mark.parametrize("shape", SHAPES)
async def test_every_checkpoint_comes_back_and_can_be_gone_on_from(shape: str) -> None:
    async with bp.connect("memory://", app=bp.App("empty")) as coordinator:
        both = Both(coordinator, "run")
        undisturbed = await both.run(SHAPES[shape](), "go")
        kept = await both.own.list_checkpoints(workflow_name="w")
        assert len(kept) > 2
        assert plain(await both.list_checkpoints(workflow_name="w")) == plain(kept)
        for number in range(len(kept)):
            thread = f"again-{number}"
            await coordinator.copy("run", to=thread)
            copied = await coordinator.timeline(thread)
            await coordinator.rollback(thread, to=copied[number].id)
            resumed = await BatonpassCheckpointStorage(coordinator, thread).run(SHAPES[shape]())
            assert texts(resumed.get_outputs()) == texts(undisturbed.get_outputs())
