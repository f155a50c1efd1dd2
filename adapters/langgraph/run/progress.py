"""Progress: what a hop's graph has written so far, in memory, and which of it goes to the hop's journal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from concurrent.futures import Future
from threading import RLock
from typing import Any, NamedTuple, cast

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    PendingWrite,
    get_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

from ....contracts.checkpoint import Snapshot
from ....coordinator.marks import carried
from ....coordinator.session import Session
from ..configs import config_of
from ..internals import ERROR_SOURCE_NODE
from ..serde.values import Sealed, Values
from .checkpoint import Tip, load_tip, make_tip, open_tip, step_name
from .journal_keys import JournalKeys
from .left import is_lasting, is_undone, left_by
from .unanswered import closed_part
from .writes import Flight, Place, Writes, place_in, place_of


class Latest(NamedTuple):
    """The latest checkpoint of a namespace, and the paths of the tasks that have written on it, by the tasks' ids."""

    namespace: str
    read: CheckpointTuple
    paths: Mapping[str, str]


class Progress:
    """The latest checkpoint of each namespace, and the writes of the tasks that run on it.

    Checkpoints of the job's graph are the job's checkpoints. Everything else is in the journal: the writes of finished
    tasks, and the subgraphs' checkpoints. Such a record belongs to the superstep in which it was made, and ends with
    it.

    `left` are records that the visit before left. They must be in this visit's journal before the graph continues,
    because the checkpoints that it saves then don't have them. If the graph remembers its thread (`lasting`), each of
    its checkpoints has the states of parts that keep theirs: a job on the thread may end at any of them.
    """

    def __init__(
        self, session: Session, values: Values, visible: frozenset[str], *, has_start: bool, lasting: bool = False
    ) -> None:
        self._session = session
        self.values = values
        self.visible = visible
        self._has_start = has_start
        self._keeps = lasting
        self._lock = RLock()
        self.root: Place = (f"{session.job_id}.{session.hop}", "")
        self._nothing = {"superstep": "", "place": self.root}  # a record that is void
        self._tips: dict[Place, Tip] = {}
        self._tasks: dict[Place, dict[str, Writes]] = {}
        self._flying: list[Flight] = []
        self._keys = JournalKeys()
        self.passed: str | None = None  # the interrupt that waits for the job
        self.goes_on = False  # whether an earlier job's state does
        self._load()

    def waiting(self) -> list[dict[str, Any]]:
        """What the journal holds of the unfinished superstep, and of parts that keep their state, for a checkpoint that
        outlives the journal."""
        with self._lock:
            about = self._about()
            others = [(place, tip) for place, tip in self._tips.items() if place != self.root]
            tips = [{**about, "place": place, "frame": tip.frame} for place, tip in others]
            writes = [{**about, **each.as_record()} for tasks in self._tasks.values() for each in tasks.values()]
            return [*tips, *writes]

    @property
    def tip(self) -> Tip | None:
        """The latest checkpoint of the job's graph."""
        return self._tips.get(self.root)

    def shown(self) -> dict[str, dict[str, int]]:
        """Which tasks show an interrupt, by its id: the one that asks, and those around it. With each, how many answers
        it has used."""
        used, found = self.used(), dict[str, dict[str, int]]()
        with self._lock:
            for place, tip in self._tips.items():
                for each in self._on(place, tip):
                    for interrupt in self._written(each, INTERRUPT):
                        found.setdefault(interrupt.id, {})[each.task] = used[each.task]
        return found

    def used(self) -> dict[str, int]:
        """How many answers each task of the unfinished superstep has used."""
        with self._lock:
            tasks = [each for tasks in self._tasks.values() for each in tasks.values()]
            return {each.task: len(self._written(each, RESUME)) for each in tasks}

    def _written(self, writes: Writes, channel: str) -> list[Any]:
        entry = writes.entries.get(WRITES_IDX_MAP[channel])
        return [] if entry is None else [*self.values.open(entry[1])]

    def snapshot(self, tip: Tip) -> Snapshot:
        """A checkpoint of the job's graph as a job's checkpoint."""
        return Snapshot(step=step_name(tip.frame), state=tip.state, framework="langgraph", native=self.native(tip))

    def _parts(self) -> list[dict[str, Any]]:
        """The states of parts that keep theirs, written or on their way, as the journal holds them."""
        places = {*self._tips, *(flight.place for flight in self._flying)} - {self.root}
        about = self._about()
        tips = [(place, self._latest(place)) for place in sorted(places) if self._lasting(place)]
        return [{**about, "place": place, "frame": tip.frame} for place, tip in tips if tip is not None]

    def native(self, tip: Tip) -> dict[str, Any]:
        """A checkpoint's frame, with what is known about the whole hop."""
        native: dict[str, Any] = {**tip.frame}
        if self._session.inherited is not None and not self._session.heard:
            native["untold"] = True
        if self._keeps and (parts := self._parts()):
            native |= {"waiting": parts, "job": self._session.job_id}
        return native

    def recorded(self, tasks: Set[str]) -> dict[str, Any]:
        """The steps and effects of these tasks of the graph, and perhaps of these, and whose they are."""
        return carried(self._session.journal, tasks)

    def last_again(self) -> Snapshot | None:
        """The last checkpoint again, with the states of parts that keep theirs, for the job's next visit. None if there
        are no such parts."""
        tip, waiting = self.tip, self.waiting()
        if tip is None or not waiting:
            return None
        native = {**self.native(tip), "waiting": waiting}
        return Snapshot(step="hands off", state=tip.state, framework="langgraph", native=native)

    def replace(self, tip: Tip, is_void: Callable[[Place, str], bool]) -> dict[str, Any]:
        """Continue from another state of the latest checkpoint. `is_void` says what does not count any more: the writes
        of a task (a place and its path there), and a part of the graph (its place and ""), which begins anew. Returns
        the journal's records that say so."""
        with self._lock:
            self._tips[self.root] = tip
            parts = [place for place in self._tips if place != self.root and is_void(place, "")]
            records = dict(self._again(place) for place in parts if self._lasting(place))
            for place in parts:
                if not self._lasting(place):
                    del self._tips[place]
                    records |= self._void(("tip", *place))
            for each in [each for tasks in self._tasks.values() for each in tasks.values()]:
                if is_void(each.place, each.path):
                    del self._tasks[each.place][each.task]
                    records |= self._void(each.name)
            return records

    def _void(self, name: tuple[str, ...]) -> dict[str, Any]:
        """The record that replaces one which is void, if there is one."""
        if not self._keys.has(name):
            return {}
        key = self._keys.key(name)
        self._keys.drop(name)
        return {key: self._nothing}

    def _again(self, place: Place) -> tuple[str, dict[str, Any]]:
        """Have a part that keeps its state take its input as on a new visit. Returns the record of it."""
        frame: Any = self._tips[place].frame
        frame = {**frame, "metadata": {**frame["metadata"], "parents": {}}}
        record = closed_part({**self._about(), "place": place, "frame": frame}, self.values)
        self._tips[place] = Tip(record["frame"], {})
        return self._keys.key(("tip", *place)), record

    # Writing: a flight begins, is sent by the saver, and is committed or has failed.

    def put(self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata) -> Flight:
        """Take a checkpoint to be written."""
        place, parent = place_of(config)
        known = get_checkpoint_metadata(config, metadata)
        with self._lock:
            visible = self.visible if place == self.root else frozenset[str]()
            tip = make_tip(checkpoint, known, parent, self._tips.get(place), self.values, visible)
            flight = Flight(place, tip, behind=self._ahead(place) + self._within(place))
            # The input of a graph with a START node: nothing ran yet, and the job has the input. But if the job stops
            # there, the next one on the thread should have it, too.
            told = self._has_start and metadata.get("source") == "input" and not self._keeps
            if place == self.root and not told:
                flight.snapshot = self.snapshot(tip)
            elif place != self.root:
                record = {**self._about(), "place": place, "frame": tip.frame}
                flight.records = {self._keys.key(("tip", *place)): record}
            self._flying.append(flight)
            return flight

    def send(self, writes: Writes) -> Flight | None:
        """Take what a task wrote to be written. None if the checkpoint that contains it is there or on its way."""
        with self._lock:
            latest = self._latest(writes.place)
            if latest is not None and latest.frame["parent"] == writes.checkpoint:
                return None
            record = {**self._about(), **writes.as_record()}
            flight = Flight(writes.place, records={self._keys.key(writes.name): record})
            self._flying.append(flight)
            return flight

    def commit(self, flight: Flight) -> None:
        """A flight is written. If it is a checkpoint, what led to it is history."""
        with self._lock:
            self._flying.remove(flight)
            if flight.tip is not None:
                before = self._tips.get(flight.place)
                self._tips[flight.place] = flight.tip
                if before is not None and before.id != flight.tip.id:
                    self._forget(flight.place)
        flight.done.set_result(None)

    def fail(self, flight: Flight, error: BaseException) -> None:
        """A flight was not written."""
        with self._lock:
            self._flying.remove(flight)
        flight.done.set_exception(error)

    def note(self, config: RunnableConfig, written: Sequence[tuple[str, Any]], task: str, path: str) -> Writes | None:
        """Take what a task wrote. None if that is not kept, because its superstep is history, or the task failed.

        With its writes, LangGraph would take a failed task for finished, and would use its answers twice. But if an
        error handler runs next, they are kept.
        """
        place, checkpoint = place_of(config)
        channels = {channel for channel, _ in written}
        if ERROR in channels and ERROR_SOURCE_NODE not in channels:
            return None
        entries = {
            WRITES_IDX_MAP.get(channel, number): (channel, self._seal(channel, value))
            for number, (channel, value) in enumerate(written)
        }
        with self._lock:
            tip = self._tips.get(place)
            if tip is not None and tip.frame["parent"] == checkpoint:
                return None
            writes = self._tasks.setdefault(place, {}).get(task)
            if writes is None or writes.checkpoint != checkpoint:
                writes = self._tasks[place][task] = Writes(place, checkpoint or "", task, path)
            writes.add(entries)
            return writes

    def ahead(self, writes: Writes) -> list[Future[None]]:
        """The checkpoints on their way that must be there before a record of `writes`."""
        with self._lock:
            return self._ahead(writes.place)

    # Reading

    def read(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that a config names. Only the latest of each namespace is at hand: the job's timeline has
        the others."""
        place, wanted = place_of(config)
        with self._lock:
            tip = self._tips.get(place)
            if tip is None or wanted not in (None, tip.id):
                return None
            return self._tuple(place, tip)

    def read_all(self, config: RunnableConfig | None) -> list[CheckpointTuple]:
        """The checkpoints at hand of a config's thread (and namespace, if it names one), newest first."""
        wanted = (config or {}).get("configurable", {})
        with self._lock:
            found = [
                self._tuple((thread, namespace), tip)
                for (thread, namespace), tip in self._tips.items()
                if wanted.get("thread_id", thread) == thread
                and wanted.get("checkpoint_ns", namespace) == namespace
                and wanted.get("checkpoint_id") in (None, tip.id)
            ]
        return sorted(found, key=lambda each: each.checkpoint["id"], reverse=True)

    def kept(self) -> list[Latest]:
        """The latest checkpoint of each namespace of the job's graph."""
        with self._lock:
            return [self._kept(place, tip) for place, tip in self._tips.items() if place[0] == self.root[0]]

    def latest(self) -> Latest | None:
        """The latest checkpoint of the job's graph."""
        with self._lock:
            return None if self.tip is None else self._kept(self.root, self.tip)

    def _kept(self, place: Place, tip: Tip) -> Latest:
        return Latest(place[1], self._tuple(place, tip), {each.task: each.path for each in self._on(place, tip)})

    def _on(self, place: Place, tip: Tip) -> list[Writes]:
        return [each for each in self._tasks.get(place, {}).values() if each.checkpoint == tip.id]

    def _tuple(self, place: Place, tip: Tip) -> CheckpointTuple:
        writes = [
            (writes_sort_key(each.path, each.task, number), (each.task, channel, self.values.open(sealed)))
            for each in self._on(place, tip)
            for number, (channel, sealed) in each.entries.items()
        ]
        pending: list[PendingWrite] = [write for _, write in sorted(writes, key=lambda entry: entry[0])]
        parent = tip.frame["parent"]
        return CheckpointTuple(
            config=config_of(*place, tip.id),
            checkpoint=open_tip(tip, self.values),
            metadata=cast("CheckpointMetadata", dict(tip.frame["metadata"])),
            parent_config=config_of(*place, parent) if parent else None,
            pending_writes=pending,
        )

    # The journal

    def _load(self) -> None:
        session = self._session
        begun = session.checkpoint or session.remembered
        if begun is not None:
            self._tips[self.root] = load_tip(begun.native, begun.state, f"checkpoint {begun.id}")
        if session.checkpoint is not None:
            session.heard = "untold" not in session.checkpoint.native
        superstep = self._superstep()
        left = left_by(session, self.root, self._about(), self.values)
        self.passed, self.goes_on = left.passed, left.goes_on
        taken = [(self._take(record, place_in(record)), record) for record in left.records]
        void = dict[str, Any]()
        for key, record in session.journal.items():
            if not self._keys.owns(key):
                continue
            place = place_in(record)
            if self._lasting(place) and is_undone(record, self.tip):
                void[key] = self._nothing
            if key in void or superstep is None or (record["superstep"] != superstep and not self._lasting(place)):
                self._keys.found(key, None)
            else:
                self._keys.found(key, self._take(record, place))
        self.left = void | {self._keys.key(name): record for name, record in taken if not self._keys.has(name)}

    def _take(self, record: Mapping[str, Any], place: Place) -> tuple[str, ...]:
        """Take a record. Returns the name of its key."""
        if "frame" in record:
            self._tips[place] = load_tip(record["frame"], {}, f"the journal's checkpoint of {place[1]!r}")
            return ("tip", *place)
        writes = Writes.from_record(record)
        self._tasks.setdefault(place, {})[writes.task] = writes
        return writes.name

    def _superstep(self) -> str | None:
        """The checkpoint of the job's graph on which tasks run now. They may begin while it is on its way."""
        latest = self._latest(self.root)
        return latest.superstep if latest is not None else None

    def _about(self) -> dict[str, Any]:
        """To which superstep a record belongs that is made now: its name, and its number."""
        latest = self._latest(self.root)
        return {"superstep": latest.superstep, "number": latest.number} if latest is not None else {"superstep": None}

    def _latest(self, place: Place) -> Tip | None:
        """The latest checkpoint of a namespace, written or on its way."""
        flying = [flight.tip for flight in self._flying if flight.place == place and flight.tip is not None]
        return flying[-1] if flying else self._tips.get(place)

    def _forget(self, place: Place) -> None:
        """Free what belongs to a finished superstep: its tasks' writes and, for the job's graph, its subgraphs."""
        over = {other for other in (*self._tips, *self._tasks) if other != place and not self._lasting(other)}
        for other in over if place == self.root else ():
            self._tips.pop(other, None)
            self._keys.drop(("tip", *other))
            self._forget_tasks(other)
        self._forget_tasks(place)

    def _forget_tasks(self, place: Place) -> None:
        for writes in self._tasks.pop(place, {}).values():
            self._keys.drop(writes.name)

    def _ahead(self, place: Place) -> list[Future[None]]:
        """Checkpoints on their way without which a record of `place` would mean nothing after a crash."""
        return [
            flight.done for flight in self._flying if flight.tip is not None and self._contains(flight.place, place)
        ]

    def _within(self, place: Place) -> list[Future[None]]:
        """Writes on their way in the superstep that a checkpoint of `place` ends: their keys are used again then."""
        return [flight.done for flight in self._flying if self._contains(place, flight.place)]

    def _contains(self, outer: Place, inner: Place) -> bool:
        """Whether `inner` is `outer`, or a namespace inside it. All are inside the job's graph."""
        same_thread = outer[0] == inner[0]
        return outer == self.root or (same_thread and f"{inner[1]}|".startswith(f"{outer[1]}|"))

    def _lasting(self, place: Place) -> bool:
        return is_lasting(place, self.root)

    def _seal(self, channel: str, value: Any) -> Sealed:
        if channel == ERROR:
            return ["plain", repr(value)]
        return self.values.seal(value, f"what a node wrote to {channel!r}")
