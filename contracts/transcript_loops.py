"""Loops: a model's tool calls with their results behind them. A transcript is given on with whole ones only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .transcript import Message, Text, ToolResult
from .transcript_losses import Losses

UNFINISHED = "The job was stopped before this call's result was recorded: it may have taken effect or not."


def whole(messages: Sequence[Message], losses: Losses) -> list[Message]:
    """The messages with every call followed by its results, as models' providers require.

    A call without a result is closed with a failed one that says so: what it did can't be known. Results move up
    behind their call. A result without a call becomes a text. Each of these is counted.
    """
    taken: set[int] = set()
    given: list[Message] = []
    for at, message in enumerate(messages):
        if at in taken:
            continue
        if message.role == "tool":
            given += _orphans(message, losses, f"messages[{at}]")
            continue
        given.append(message)
        if message.calls:
            given += _results(messages, at, taken, losses)
    return given


def _results(messages: Sequence[Message], at: int, taken: set[int], losses: Losses) -> Iterator[Message]:
    """The tools' messages for the calls of the one at `at`, from wherever they are behind it."""
    wanted = [call.id or "" for call in messages[at].calls]
    names = {call.id or "": call.name for call in messages[at].calls}
    orphans: list[Message] = []
    adjacent = True
    for place in range(at + 1, len(messages)):
        message = messages[place]
        if not wanted or any((call.id or "") in wanted for call in message.calls):
            break
        if place in taken:
            continue
        mine, others = _divided(message, wanted)
        adjacent = adjacent and bool(mine)
        if not mine:
            continue
        taken.add(place)
        if not adjacent:
            losses.add("place of a result", f"messages[{place}]")
        yield message.model_copy(update={"parts": mine}) if others else message
        if others:
            orphans += _orphans(message.model_copy(update={"parts": others}), losses, f"messages[{place}]")
    for missing in wanted:
        losses.add("unfinished call", f"messages[{at}]")
        yield _closed(missing, names[missing])
    yield from orphans


def _divided(message: Message, wanted: list[str]) -> tuple[list[ToolResult], list[ToolResult]]:
    """The results that are wanted, which then are not any more; and the others."""
    mine: list[ToolResult] = []
    others: list[ToolResult] = []
    for result in message.results:
        if result.call_id in wanted:
            wanted.remove(result.call_id)
            mine.append(result)
        else:
            others.append(result)
    return mine, others


def _closed(call_id: str, name: str) -> Message:
    result = ToolResult(call_id=call_id, name=name, content=[Text(text=UNFINISHED)], failed=True)
    return Message(role="tool", parts=[result])


def _orphans(message: Message, losses: Losses, where: str) -> Iterator[Message]:
    for result in message.results:
        losses.add("result without a call", where)
        said = "".join(part.text for part in result.content if isinstance(part, Text))
        yield Message(role="user", author=result.name, parts=[Text(text=f"Result of a tool: {said}")])
