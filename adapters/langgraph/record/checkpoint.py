"""Record: a LangGraph checkpoint as a checkpoint of ours, and back."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NotRequired, TypedDict, cast

from langgraph.checkpoint.base import Checkpoint
from langgraph.checkpoint.serde.types import INTERRUPT, TASKS, _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from langgraph.constants import START

from ....contracts.builtin_types import class_of
from ....contracts.checkpoint import Checkpoint as Stored
from ....contracts.checkpoint import Snapshot
from ....contracts.codec import Packed, pack
from ....contracts.errors import Corrupted
from ....coordinator.parts.nodes import Base, Branch, Inline, Node, children_of
from ....coordinator.parts.nodes import value as value_of
from ..internals import is_branch, is_visible
from ..serde.copying import copy_containers
from ..serde.plain import ATOMS
from ..serde.wrapper import Wrapper
from .bookkeeping import FORMAT, NOTHING_SEEN, Bookkeeping, VersionsSeen, map_head, pack_bookkeeping, seen_of
from .changes import RememberedList, RememberedValue, changes_since, remember_all
from .compact import is_unique, large_id, large_time, large_versions
from .step_names import name_of

_named = lru_cache(pack)
# The first fields of a packed `Native`, after the number of its fields.
_BEGINS = pack("v") + pack(FORMAT) + pack("frame")
_FIELDS = frozenset({"v", "id", "ts", "channel_values", "channel_versions", "versions_seen", "updated_channels"})
Channels = dict[str, RememberedList | RememberedValue | None]


class Native(TypedDict):
    """A checkpoint's `native`: the frame, and what few checkpoints have. It is stored, so names and meanings must stay.

    `hidden` has the values of LangGraph's own channels. `dressed` names the values that hold what LangGraph's
    serializer carries. `deltas` names the channels that are snapshots of delta channels. `more` has parts of a
    checkpoint that this version of LangGraph does not know (say, what older versions sent to nodes).
    """

    v: int
    frame: list[Any]
    hidden: NotRequired[dict[str, Any]]
    dressed: NotRequired[list[str]]
    deltas: NotRequired[list[str]]
    more: NotRequired[dict[str, Any]]


@dataclass(slots=True)
class Held:
    """What is remembered of a checkpoint besides its state: its id, what is kept of its channels' values (None if
    nothing is), what each node had seen, which nodes were sent tasks, the channels' versions, which values are wrapped,
    which are snapshots of delta channels, and the branches to nodes that are next. `given` is its native part if it has
    a run's input."""

    key: str
    channels: Channels | None
    nodes: VersionsSeen
    sent: list[str]
    versions: Mapping[str, Any]
    wrapped: Collection[str]
    deltas: Collection[str]
    branches: Mapping[str, Any]
    given: bytes = b""


class Record:
    """A checkpoint of the namespace `scope` that is about to be put. `new` are the channels whose versions differ from
    those in the checkpoint before it."""

    def __init__(
        self,
        scope: str,
        checkpoint: Checkpoint,
        metadata: Mapping[str, Any],
        parent: str,
        before: Held | None,
        new: Collection[str],
    ) -> None:
        self._scope = scope
        self._checkpoint = checkpoint
        self._metadata = metadata
        self._parent = parent
        self._before = before
        self._new = new
        self._deltas: list[str] = []
        self._values: dict[str, Any] = {}
        for channel, value in checkpoint["channel_values"].items():
            if class_of(value) is _DeltaSnapshot:
                self._deltas.append(channel)
                value = value.value
            self._values[channel] = value
        self._visible = {channel: value for channel, value in self._values.items() if is_visible(channel)}
        self._more = {name: value for name, value in checkpoint.items() if name not in _FIELDS}

    def awkward(self, wrapper: Wrapper) -> set[str]:
        """The names of values that our codec can't pack. `Unserializable` if one could not come back at all."""
        return {name for name, value in self._named() if wrapper.wrap(value, name) is not value}

    @property
    def channels(self) -> Collection[str]:
        """Those that its state has."""
        return self._visible.keys()

    @property
    def has_input(self) -> bool:
        """Whether it has the input of a run that begins."""
        return START in self._values

    @property
    def keeps_deltas(self) -> bool:
        """Whether it has the whole value of a delta channel."""
        return bool(self._deltas)

    def take_same(self, wrapper: Wrapper, base: Base, held: Held) -> None:
        """Take the channels that are the same in `base` from there (see `_same`), for a snapshot that shares with
        another checkpoint."""
        kept = children_of(base.state)
        for channel in (self._same(base, held) - set(held.deltas)) & kept.keys():
            self._values[channel] = self._visible[channel] = kept_value(wrapper, held, kept, channel)

    def snapshot(
        self, wrapper: Wrapper, awkward: set[str], base: Base | None, held: Held | None
    ) -> tuple[Snapshot, Held]:
        """What to save, and what to remember once that is done. `awkward` are the names of values that our codec is
        known not to pack. `held` is what was remembered of the checkpoint `base`."""
        same = self._same(base, held)
        self._values = {name: value if name in same else copy_containers(value) for name, value in self._values.items()}
        self._visible = {channel: self._values[channel] for channel in self._visible}
        wrapped: dict[str, Any] = {}
        changed: list[str] = []
        unchanged = {_state(channel) for channel in same}
        if awkward:
            named = [(name, value) for name, value in self._named() if name in awkward and name not in unchanged]
            wrapped = {name: wrapper.wrap(value, name) for name, value in named}
            changed = [name for name, value in named if wrapped[name] is not value]
        context = self._metadata
        if changed:
            context = {key: wrapped.get(_meta(key), value) for key, value in context.items()}
        before = self._before.nodes if self._before else NOTHING_SEEN
        nodes, ran = seen_of(self._checkpoint["versions_seen"], before)
        if same and held:
            changed += [name for name in held.wrapped if name in unchanged]
        native = self._native(nodes, wrapped, changed)
        step = ": ".join([*nodes_around(self._scope), self._step(nodes, ran)])
        snapshot = Snapshot(step=step, framework="langgraph", native=native, context=context)
        seen = self._fill(snapshot, base, held, wrapper, wrapped, same)
        versions = dict(self._checkpoint["channel_versions"])
        sent, branches = _sent(self._values), _branches(self._values)
        return snapshot, Held(self._checkpoint["id"], seen, nodes, sent, versions, changed, self._deltas, branches)

    def _same(self, base: Base | None, held: Held | None) -> set[str]:
        """The channels that are the same in `base`, as their versions say. If a node or a reducer has changed such a
        value in place since, that is not part of this checkpoint: a checkpoint may be put while the graph continues,
        and a graph that resumes from it makes the change again."""
        if base is None or held is None:
            return set()
        versions, before = self._checkpoint["channel_versions"], held.versions
        return {
            channel
            for channel, value in self._visible.items()
            if class_of(value) not in ATOMS
            and channel not in self._new
            and is_unique(version := versions.get(channel))
            and before.get(channel) == version
        }

    def _fill(
        self,
        snapshot: Snapshot,
        base: Base | None,
        held: Held | None,
        wrapper: Wrapper,
        wrapped: Mapping[str, Any],
        same: set[str],
    ) -> Channels | None:
        """Give a snapshot its state, or only what is new, if the state is large enough to look for that. Returns what
        to remember of the channels."""
        grows = base is not None and not isinstance(base.state, Inline)
        before = held.channels if held else None
        kept = children_of(base.state) if base and isinstance(base.state, Branch) else {}
        if before is None and same:
            before = dict.fromkeys(kept)
        found = changes_since(before, self._visible, kept.keys() & same) if before is not None and grows else None
        if found is None or before is None:
            state = _wrapped_where_needed(self._visible, wrapped)
            snapshot.state = {**state, **_chosen(base, same)} if base and same else state
            return remember_all({}, {}, self._visible, self._visible.keys() - same) if grows else None
        changes, append = found
        seen = remember_all(before, append, self._visible, changes)
        if not (changes or append):
            changes, append = self._nothing(wrapper)
        snapshot.changes = _wrapped_where_needed(changes, wrapped)
        snapshot.append = {
            channel: wrapped.get(_state(channel), value)[len(value) - len(append[channel]) :]
            for channel, value in self._visible.items()
            if channel in append
        }
        if not (changes or append):
            snapshot.state = {}
        return seen

    def _nothing(self, wrapper: Wrapper) -> tuple[dict[str, Any], dict[str, Any]]:
        """A change that changes nothing, the smallest there is."""
        others = list[str]()
        for channel, value in self._visible.items():
            if class_of(value) is list:
                return {}, {channel: []}
            if class_of(value) in ATOMS:
                return {channel: value}, {}
            others.append(channel)
        return {channel: wrapper.wrap(self._visible[channel], _state(channel)) for channel in others[:1]}, {}

    def _named(self) -> Iterator[tuple[str, Any]]:
        for channel, value in self._values.items():
            yield _state(channel), value
        for key, value in self._metadata.items():
            yield _meta(key), value
        for name, value in self._more.items():
            yield _beside(name), value

    def _native(self, nodes: VersionsSeen, wrapped: Mapping[str, Any], changed: list[str]) -> Packed:
        """A packed `Native`. Its frame is put together from parts that are packed already."""
        own = {name: value for name, value in self._values.items() if name not in self._visible}
        hidden = _wrapped_where_needed(own, wrapped)
        more = {name: wrapped.get(_beside(name), value) for name, value in self._more.items()}
        some = {"hidden": hidden, "dressed": changed, "deltas": self._deltas, "more": more}
        rest = [_named(name) + pack(value, path=name) for name, value in some.items() if value]
        frame = pack_bookkeeping(self._checkpoint, self._parent, nodes)
        return Packed(b"".join([map_head(2 + len(rest)), _BEGINS, frame, *rest]))

    def _step(self, nodes: VersionsSeen, ran: Sequence[str]) -> str:
        """What a timeline calls the superstep that ended here: its nodes, or where its values came from."""
        source = str(self._metadata.get("source") or "")
        if self._before is None or source != "loop":
            return source
        saw = [node for node in ran if nodes.versions[node] and node != INTERRUPT]
        return name_of([*saw, *self._before.sent]) or "input"


def checkpoint_of(key: str, stored: Stored, wrapper: Wrapper) -> tuple[Checkpoint, dict[str, Any], str]:
    """LangGraph's checkpoint, its metadata, and its parent's key. `Corrupted` if this version can't read it."""
    native, frame = opened(stored.native, stored.id)
    wrapped = set(native.get("dressed", ()))
    values: dict[str, Any] = {**stored.state, **native.get("hidden", {})}
    for channel in values if wrapped else ():
        if _state(channel) in wrapped:
            values[channel] = wrapper.unwrap(values[channel])
    more = {
        name: wrapper.unwrap(each) if _beside(name) in wrapped else each
        for name, each in native.get("more", {}).items()
    }
    for channel in native.get("deltas", ()):
        values[channel] = _DeltaSnapshot(values[channel])
    checkpoint: dict[str, Any] = {
        "v": frame.format,
        "id": key,
        "ts": large_time(frame.ts),
        "channel_values": values,
        "channel_versions": large_versions(frame.versions),
        "versions_seen": {node: large_versions(seen) for node, seen in frame.seen.items()},
        "updated_channels": frame.updated,
        **more,
    }
    metadata = {name: wrapper.unwrap(value) for name, value in stored.context.items()}
    return cast("Checkpoint", checkpoint), metadata, large_id(frame.parent)


def opened(native: Any, checkpoint_id: str) -> tuple[Native, Bookkeeping]:
    """A stored checkpoint's native part. `Corrupted` if this version can't read it."""
    if not isinstance(native, dict) or cast("dict[str, Any]", native).get("v") != FORMAT:
        raise Corrupted(
            f"checkpoint {checkpoint_id} holds no LangGraph checkpoint of format {FORMAT}: a newer Batonpass wrote it, "
            "update"
        )
    read = cast("Native", native)
    return read, Bookkeeping(*read["frame"][: len(Bookkeeping._fields)])


def held_of(checkpoint: Checkpoint, native: Any) -> Held:
    """What to remember of a checkpoint that was read. `native` is its native part."""
    nodes = VersionsSeen({node: dict(versions) for node, versions in checkpoint["versions_seen"].items()}, {})
    versions, values = dict(checkpoint["channel_versions"]), checkpoint["channel_values"]
    wrapped, deltas = native.get("dressed", []), native.get("deltas", [])
    return Held(checkpoint["id"], None, nodes, _sent(values), versions, wrapped, deltas, _branches(values))


def kept_value(wrapper: Wrapper, held: Held, kept: Mapping[str, Node], channel: str) -> Any:
    """A channel's value from the nodes of a checkpoint's state."""
    value = value_of(kept[channel])
    return wrapper.unwrap(value) if _state(channel) in held.wrapped else value


def _chosen(base: Base, channels: Collection[str]) -> dict[str, Any]:
    """The values of some of a checkpoint's channels."""
    if isinstance(base.state, Branch):
        return {channel: value_of(node) for channel, node in base.state.children.items() if channel in channels}
    state: dict[str, Any] = value_of(base.state)
    return {channel: state[channel] for channel in channels if channel in state}


def nodes_around(scope: str) -> list[str]:
    """The nodes in which a subgraph runs, from its namespace, like "node:id|node:id"."""
    names = [part.partition(":")[0] for part in scope.split("|")]
    return [name for name in names if name and not name.isdecimal()]  # a number tells a node's subgraphs apart


def _sent(values: Mapping[str, Any]) -> list[str]:
    return [str(getattr(task, "node", "")) for task in values.get(TASKS) or ()]


def _branches(values: Mapping[str, Any]) -> dict[str, Any]:
    """The channels with which a StateGraph says that a node is next, and their values, which are mostly None."""
    return {channel: value for channel, value in values.items() if is_branch(channel) and class_of(value) in ATOMS}


def _wrapped_where_needed(values: Mapping[str, Any], wrapped: Mapping[str, Any]) -> dict[str, Any]:
    """Channels' values, wrapped where they have to be."""
    if not wrapped:  # nearly always, and naming each channel takes longer
        return dict(values)
    return {channel: wrapped.get(_state(channel), value) for channel, value in values.items()}


def _state(channel: str) -> str:
    return f"state[{channel!r}]"


def _meta(key: str) -> str:
    return f"metadata[{key!r}]"


def _beside(name: str) -> str:
    return f"checkpoint[{name!r}]"
