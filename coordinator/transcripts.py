"""Transcripts of states: a checkpoint's conversation independent of its framework, and what another one loses of it."""

from __future__ import annotations

import json
from typing import Any, Protocol, cast

from ..contracts.lean import dataclass
from ..contracts.transcript import Transcript, Work
from ..contracts.transcript_losses import Losses
from .frameworks import adapter_of

INHERITED = "inherited"
"""The key in a checkpoint's `native` of the transcript that its job brought along from another agent."""


@dataclass(frozen=True)
class Saved:
    """What a transcript is made of: a checkpoint's contents, and what its job had brought along."""

    framework: str
    state: Any
    native: Any
    earlier: Transcript | None = None


class Translator(Protocol):
    """What an adapter may define beside `run`. Static, and without importing the framework."""

    @staticmethod
    def read_transcript(saved: Saved, losses: Losses) -> Transcript:
        """The whole conversation, with what the job had brought along."""
        ...

    @staticmethod
    def write_transcript(transcript: Transcript, losses: Losses) -> list[dict[str, Any]]:
        """The messages to start the framework with, as plain dicts."""
        ...


def saved_as(framework: str, state: Any, native: Any) -> Saved:
    """The contents of a stored checkpoint, separated from the transcript in it."""
    own, stored = apart(native)
    return Saved(framework, state, own, Transcript.load(stored) if stored is not None else None)


def apart(native: Any) -> tuple[Any, Any]:
    """A checkpoint's own `native`, and the stored transcript in it (None for none)."""
    held = _values(native)
    stored = held.pop(INHERITED, None)
    return (native, None) if stored is None else (held or None, stored)


def transcript_of(saved: Saved, losses: Losses, *, agent: str = "", checkpoint: str = "") -> Transcript:
    """The transcript of a checkpoint's contents. If the framework has no translator, its state becomes variables."""
    translator = _translator(saved.framework)
    made = translator.read_transcript(saved, losses) if translator else _plain(saved)
    about = {"framework": saved.framework, "agent": agent, "checkpoint": checkpoint}
    return made.model_copy(update=about)


def count_lost(kind: str, transcript: Transcript, losses: Losses) -> None:
    """Count what an agent of that kind will not get of a transcript. (A plain function gets it as it is. What is not
    installed here can't be asked.)"""
    found = adapter_of(kind)
    if hasattr(found, "write_transcript"):
        cast("Translator", found).write_transcript(transcript, losses)
    elif found is not None:
        for at, message in enumerate(transcript.messages):
            losses.add(f"{message.role} message", f"messages[{at}]")


def told(losses: Losses) -> dict[str, str]:
    """Losses as an event's data: `lost`, a JSON object of how often each occurred."""
    return {"lost": json.dumps(losses.counts)} if losses else {}


def _translator(kind: str) -> Translator | None:
    found = adapter_of(kind)
    return cast("Translator", found) if hasattr(found, "read_transcript") else None


def _plain(saved: Saved) -> Transcript:
    """The recorded steps of a plain function; of anything else, the state."""
    values = _values(saved.state)
    if "asking" in _values(saved.native):
        own = Transcript(completed=[Work(kind="step", name=name, output=result) for name, result in values.items()])
    else:
        own = Transcript(variables=values or ({} if saved.state is None else {"state": saved.state}))
    return own.after(saved.earlier)


def _values(value: object) -> dict[str, Any]:
    """A copy of a dict; {} for anything else."""
    return dict(cast("dict[str, Any]", value)) if isinstance(value, dict) else {}
