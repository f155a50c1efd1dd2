"""Progress: how far a team got, as stored in a checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.handoff import Answer
from ...contracts.versions import Outdated
from .folding import Dump

FORMAT = 1
# With what workers that only know the first can't read.
_NEWER = 2
_NEW = ("judged", "joined", "seen", "answered", "joins")


@dataclass
class Progress:
    """The conversation, and what the team needs to continue it.

    - `messages` is the team's thread. `pending` is what its next turn starts with (the task, or an answer). Both are
      as AutoGen dumps them.
    - `team` has the members' states, and `unsaved` what those leave out. Both are folded.
    - `checked` has the length of the thread at the last reset of the termination condition, and at each check since. So
      it ends with the length that the thread has. `turns` counts the turns since then.
    - `judged` has the user's functions in that condition that have said yes, by their place in it, and in which of
      these checks. They are not asked again about what they have seen, unless that is edited (`seen` is its digest): a
      function may ask a model.
    - `joined` tells how many messages of a check are a person's answer, by its number, where there is one.
    - `stop` says why the team ended.
    - `asks` is the open question, with those to ask after it. `answers` are those that agents in the unfinished turn
      already have, by agent, and `answered` what other members have said in it.
    - `since` is where in the thread this visit starts, if the team remembers the one before. What is pending before
      that was given to a visit that ended before the members read it.
    - `corrected` counts how often its result was sent back.
    - `joins` says that what is pending is an answer for a team that has not ended: it is counted with the next turn.
    """

    messages: list[Dump] = field(default_factory=list[Dump])
    pending: list[Dump] = field(default_factory=list[Dump])
    team: dict[str, Any] | None = None
    unsaved: list[Any] = field(default_factory=list[Any])
    checked: list[int] = field(default_factory=lambda: [0])
    turns: int = 0
    judged: dict[int, int] = field(default_factory=dict[int, int])
    joined: dict[int, int] = field(default_factory=dict[int, int])
    seen: bytes = b""
    stop: str | None = None
    asks: dict[str, Any] | None = None
    answers: dict[str, str] = field(default_factory=dict[str, str])
    answered: dict[str, Any] = field(default_factory=dict[str, Any])
    since: int = 0
    corrected: int = 0
    joins: bool = False

    def snapshot(self, step: str) -> Snapshot:
        """A checkpoint: the messages are state, the rest is native."""
        native = {
            "v": _NEWER if any(getattr(self, name) for name in _NEW) else FORMAT,
            "pending": len(self.pending),
            "team": self.team,
            "unsaved": self.unsaved,
            "checked": _runs(self.checked),
            "turns": self.turns,
            "stop": self.stop,
            "asks": self.asks,
            "answers": dict(self.answers),
        }
        native |= {name: kept for name in ("since", "corrected", *_NEW) if (kept := getattr(self, name))}
        return Snapshot(
            step=step, state={"messages": [*self.messages, *self.pending]}, framework="autogen", native=native
        )

    @classmethod
    def restored(cls, agent: str, checkpoint: Checkpoint | None) -> Progress | None:
        """The progress in a checkpoint of this agent's hop. None without one."""
        if checkpoint is None:
            return None
        native = dict(checkpoint.native)
        if native.pop("v") not in (FORMAT, _NEWER):
            raise Outdated(
                f"agent {agent!r}: checkpoint {checkpoint.id} is from a newer Batonpass: upgrade this worker"
            )
        native["checked"] = _numbers(native["checked"])
        messages = checkpoint.state["messages"]
        begun = len(messages) - native.pop("pending")
        thread = min(native["checked"][-1], begun)
        added = thread < begun
        found = cls(messages=messages[:thread], pending=messages[thread:], **native)
        # What an edit added is read in the next turn. A team that had ended goes on with it.
        return found.more(found.pending) if added and found.stop is not None else found

    def again(self, task: list[Dump]) -> Progress:
        """A new task for the team that ended here. Its limits start counting again, as in AutoGen."""
        unread = self.pending
        return replace(self.more([*unread, *task]), since=len(self.messages) + len(unread), corrected=0)

    def more(self, task: list[Dump]) -> Progress:
        """More messages in the same visit, for the team that ended here."""
        fresh: dict[str, Any] = {"checked": [len(self.messages)], "turns": 0, "judged": {}, "joined": {}}
        return replace(self, pending=task, stop=None, asks=None, answers={}, answered={}, joins=False, **fresh)

    @property
    def begins(self) -> bool:
        """Whether no turn of this visit has ended."""
        return len(self.messages) <= self.since

    @property
    def has_task(self) -> bool:
        """Whether the condition was asked about a task first, and not only after each turn."""
        return len(self.checked) - 1 > self.turns

    @property
    def unread(self) -> int:
        """How many of the pending messages are from before this visit. The team's limits don't count them."""
        return max(0, self.since - len(self.messages))

    def suspend(self, questions: list[dict[str, Any]], *, handoff: bool, ended: bool = False) -> None:
        """Wait for a person, or several, one after the other. If the team has `ended` with that, its limits start
        again, as in AutoGen."""
        self.asks = {"question": questions[0], "handoff": handoff}
        if more := questions[1:]:
            self.asks["more"] = more
        if ended:
            self.checked, self.turns, self.judged, self.joined = [len(self.messages)], 0, {}, {}
        elif handoff:
            self.joins = True

    def take(self, answer: Answer, messages: list[Dump]) -> bool:
        """Take a person's answer: after a handoff as `messages`, else as what the proxy returns. Returns whether there
        is another one to ask before the team continues."""
        assert self.asks is not None
        asks, self.asks = self.asks, None
        if asks["handoff"]:
            self.pending = [*self.pending, *messages]
        else:
            self.answers[asks["question"]["to"]] = answer_text(answer)
        if more := asks.get("more"):
            self.suspend(more, handoff=asks["handoff"], ended=asks["handoff"] and not self.joins)
        return bool(more)


def _runs(numbers: list[int]) -> list[Any]:
    """Growing numbers as the first, then pairs [step, how often]. That is short, because turns mostly add the same
    number of messages."""
    runs: list[Any] = numbers[:1]
    for before, number in pairwise(numbers):
        if len(runs) > 1 and runs[-1][0] == number - before:
            runs[-1][1] += 1
        else:
            runs.append([number - before, 1])
    return runs


def _numbers(runs: list[Any]) -> list[int]:
    numbers: list[int] = runs[:1]
    for step, times in runs[1:]:
        before = numbers[-1]
        numbers += [before + step * n for n in range(1, times + 1)]
    return numbers


def answer_text(answer: Answer) -> str:
    """An answer as the text of a message. Values that are not a text become JSON."""
    return answer.value if isinstance(answer.value, str) else json.dumps(answer.value, default=str)
