"""A job's checkpoint: one LangGraph checkpoint as plain values, and back."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, cast

from langchain_core.messages import BaseMessage
from langgraph.checkpoint.base import Checkpoint, CheckpointMetadata
from langgraph.checkpoint.serde.types import INTERRUPT, TASKS

from ....contracts.alike import alike
from ....contracts.errors import BadSetup, Corrupted
from ....contracts.versions import Outdated
from ..internals import is_visible
from ..record.step_names import name_of
from ..serde.plain import NotPlain, messages_as_dicts, messages_from_dicts, plain, readable
from ..serde.values import Sealed, Values

FORMAT = 1


class Frame(TypedDict):
    """LangGraph's bookkeeping of one checkpoint: a checkpoint's `native`. It is stored, so names and meanings must
    stay.

    - `kept` has the sealed values of channels that can't be restored from `state`. `messages` are the channels that
      `state` shows as lists of messages.
    - `ran` names the nodes of the superstep. `empty` are the channels of the user that have no value yet.
    - `since` is set after a rollback: what the journal has of this superstep from before that is void.
    - `before` is set after an edit, until the graph goes on: see edits.py.
    - `edited` is set while the tasks of an edited superstep run.
    - `asked` is set if the graph has stopped here to wait for a person: the ids of the interrupts, none for a
      breakpoint. `by_id` has the same ids if the answer names them: there are several, or this one is what is left of
      several. `shown` has, for each interrupt, the tasks that show it, and how many answers each had used by then.
    - `passed` is set if the graph has handed its job off here: the interrupt that waits for the job to come back.
      `waiting` are the journal's records at that point, `recorded` are the steps and effects of the nodes that
      run again then.
    - `untold` is set while the graph has not seen the conversation that its job has brought along.
    """

    v: int
    id: str
    parent: str | None
    ts: str
    format: int
    versions: dict[str, Any]
    seen: dict[str, dict[str, Any]]
    updated: list[str] | None
    metadata: dict[str, Any]
    kept: dict[str, Sealed]
    messages: list[str]
    ran: list[str]
    empty: NotRequired[list[str]]
    since: NotRequired[str]
    before: NotRequired[dict[str, list[Any]]]
    edited: NotRequired[bool]
    asked: NotRequired[list[str]]
    by_id: NotRequired[list[str]]
    shown: NotRequired[dict[str, dict[str, int]]]
    passed: NotRequired[str]
    waiting: NotRequired[list[dict[str, Any]]]
    recorded: NotRequired[dict[str, Any]]
    untold: NotRequired[bool]


@dataclass(frozen=True)
class Tip:
    """A checkpoint of one namespace: its frame, and its state (empty in a subgraph's, where all is in the frame)."""

    frame: Frame
    state: dict[str, Any]

    @property
    def id(self) -> str:
        return self.frame["id"]

    @property
    def superstep(self) -> str:
        """What the journal calls the superstep that runs on it."""
        return f"{self.id} {self.frame['since']}" if "since" in self.frame else self.id

    @property
    def number(self) -> int | None:
        """How many supersteps led here, by LangGraph's count: -1 for the input."""
        return self.frame["metadata"].get("step")


def make_tip(
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    parent: str | None,
    before: Tip | None,
    values: Values,
    visible: frozenset[str],
) -> Tip:
    """A checkpoint as a tip. The values of `visible` channels go to its state. Those that it can't restore are also
    sealed."""
    known = _known(checkpoint, before) if before is not None else {}
    state, kept, messages = _channels(checkpoint["channel_values"], values, visible, known)
    if before is not None and before.id == parent:
        unknown = _unknown(checkpoint, before)
        state |= {channel: value for channel, value in before.state.items() if channel in unknown}
        kept |= {channel: sealed for channel, sealed in before.frame["kept"].items() if channel in unknown}
        messages += [channel for channel in before.frame["messages"] if channel in unknown]
    updated = checkpoint.get("updated_channels")
    frame = Frame(
        v=FORMAT,
        id=checkpoint["id"],
        parent=parent,
        ts=checkpoint["ts"],
        format=checkpoint["v"],
        versions=dict(checkpoint["channel_versions"]),
        seen={node: dict(seen) for node, seen in checkpoint["versions_seen"].items()},
        updated=None if updated is None else list(updated),
        metadata=readable(metadata),
        kept=kept,
        messages=messages,
        ran=[] if metadata.get("source") == "input" else _ran(checkpoint, before, values),  # it ends unfinished tasks
    )
    if visible:
        frame["empty"] = sorted(visible - state.keys())
    return Tip(frame, state)


def rerouted(tip: Tip, checkpoint: Checkpoint, values: Values, visible: frozenset[str]) -> Tip:
    """An edited tip with other tasks next, as `checkpoint` says. It is still the same superstep, so that tasks which
    stay keep their ids and what they have written."""
    metadata = cast("CheckpointMetadata", tip.frame["metadata"])
    made = make_tip(checkpoint, metadata, tip.id, tip, values, visible)
    old: dict[str, Any] = {**tip.frame}
    del old["before"]
    own = {name: old[name] for name in ("id", "parent", "ts", "metadata", "ran")}
    return Tip(cast("Frame", {**old, **made.frame, **own, "edited": True}), made.state)


def edited(tip: Tip) -> set[str]:
    """The channels that have another value since an edit."""
    before, state = tip.frame.get("before", {}), tip.state
    return {name for name, was in before.items() if not alike(was, [state[name]] if name in state else [])}


def unedited(tip: Tip) -> Tip:
    """An edited tip as it was before."""
    before = tip.frame.get("before", {})
    held = {name: value for name, value in tip.state.items() if name not in before}
    return Tip(tip.frame, held | {name: was[0] for name, was in before.items() if was})


def _unknown(checkpoint: Checkpoint, before: Tip) -> set[str]:
    """The channels that this graph does not know. Another release of it may know them, and continue the job."""
    given, versions = checkpoint["channel_values"], checkpoint["channel_versions"]
    return {
        channel
        for channel, version in before.frame["versions"].items()
        if channel not in given and is_visible(channel) and versions.get(channel) == version
    }


def _known(checkpoint: Checkpoint, before: Tip) -> dict[str, Sealed]:
    """What the tip before keeps of channels that nobody has written to since."""
    versions, earlier = checkpoint["channel_versions"], before.frame["versions"]
    kept = before.frame["kept"].items()
    return {channel: sealed for channel, sealed in kept if versions.get(channel) == earlier.get(channel)}


def _channels(
    given: Mapping[str, Any], values: Values, visible: frozenset[str], known: Mapping[str, Sealed]
) -> tuple[dict[str, Any], dict[str, Sealed], list[str]]:
    """What goes into a tip's state, what is kept sealed, and which channels the state shows as messages."""
    state: dict[str, Any] = {}
    kept: dict[str, Sealed] = {}
    messages: list[str] = []
    for channel, value in given.items():
        if channel in visible:
            try:
                state[channel] = plain(value)
                continue
            except NotPlain:
                told = messages_as_dicts(value)
            if told is not None:
                state[channel] = told
                messages.append(channel)
                continue
            state[channel] = readable(value)
        kept[channel] = values.seal(value, f"state[{channel!r}]", known.get(channel))
    return state, kept, messages


def load_tip(native: Any, state: Mapping[str, Any], where: str) -> Tip:
    """A stored tip. `Outdated` or `Corrupted` if this version can't read it."""
    made = cast("dict[str, Any]", native).get("v") if isinstance(native, dict) else None
    if isinstance(made, int) and made > FORMAT:
        raise Outdated(f"{where} holds a LangGraph checkpoint of format {made}: a newer Batonpass wrote it, update")
    if made != FORMAT:
        raise Corrupted(f"{where} holds no LangGraph checkpoint of format {FORMAT}")
    frame = cast("Frame", native)
    if first := state.keys() - frame["versions"].keys():
        frame = cast("Frame", {**frame, "versions": _versioned(frame["versions"], first)})
    return Tip(frame, dict(state))


def _versioned(versions: Mapping[str, Any], first: Iterable[str]) -> dict[str, Any]:
    """With a version for each channel to which an edit or a fork has given its first value. LangGraph drops values
    without one."""
    return {**dict.fromkeys(first, max(versions.values(), default=1)), **versions}


def open_tip(tip: Tip, values: Values) -> Checkpoint:
    """A tip's checkpoint, as a new copy."""
    frame = tip.frame
    channels = {channel: values.open(sealed) for channel, sealed in frame["kept"].items()}
    for channel, value in tip.state.items():
        if channel not in channels:
            channels[channel] = _recalled(channel, value) if channel in frame["messages"] else plain(value)
    return Checkpoint(
        v=frame["format"],
        id=frame["id"],
        ts=frame["ts"],
        channel_values=channels,
        channel_versions=dict(frame["versions"]),
        versions_seen={node: dict(seen) for node, seen in frame["seen"].items()},
        updated_channels=None if frame["updated"] is None else list(frame["updated"]),
    )


def _recalled(channel: str, told: Any) -> list[BaseMessage]:
    try:
        return messages_from_dicts(told)
    except (LookupError, TypeError, ValueError) as error:  # a person may have edited them
        why = f"{type(error).__name__}: {error}"
        raise BadSetup(
            f"state[{channel!r}] can't be read as messages ({why}): redrive the job with messages in the form that its "
            "checkpoints before the edit show"
        ) from None


def step_name(frame: Frame) -> str:
    """What a timeline calls the superstep that ended in this checkpoint: its nodes, or where its values came from."""
    source = str(frame["metadata"].get("source"))
    return name_of(frame["ran"]) or ("input" if source == "loop" else source)


def _ran(checkpoint: Checkpoint, before: Tip | None, values: Values) -> list[str]:
    """The superstep's nodes: those that saw new versions, and those that the checkpoint before sent tasks to. In the
    order in which LangGraph takes what they wrote."""
    if before is None:
        return []
    seen_before = before.frame["seen"]
    ran = [
        node
        for node, seen in checkpoint["versions_seen"].items()
        if node != INTERRUPT and seen != seen_before.get(node) and seen
    ]
    sent = before.frame["kept"].get(TASKS)
    return sorted(ran) + ([task.node for task in values.open(sent)] if sent else [])
