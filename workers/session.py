"""LeaseSession: one delivery, held under a lease. Every write of an agent goes through here and carries its token."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio

from ..contracts.app import App
from ..contracts.checkpoint import Checkpoint, Snapshot
from ..contracts.errors import BatonpassError, Canceled, Fenced, OverBudget, Unavailable
from ..contracts.handoff import Envelope
from ..contracts.job import Lease
from ..contracts.names import mint, partition_of
from ..contracts.transcript_losses import Losses
from ..coordinator.blobs import open_blob, seal_blob
from ..coordinator.book import Book
from ..coordinator.calls.again import as_drafted
from ..coordinator.commands import Command, Emit, NewCheckpoint, Record, Save, Saving
from ..coordinator.loops import running_loop
from ..coordinator.parts.nodes import Base
from ..coordinator.parts.writer import Sharing
from ..coordinator.refusals import Ungrounded
from ..coordinator.rows import CheckpointRow, CommitLine, Delivery
from ..coordinator.session import Parts
from ..coordinator.snapshots import Draft, draft, from_ms, open_row, saved
from ..coordinator.store import Store
from ..coordinator.transcripts import INHERITED, apart, saved_as, transcript_of
from .answered import answer_of, question_of
from .budget import Budget
from .journal import packed
from .parts import with_marks
from .pauses import pauses
from .trouble import Troubles

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Tracer

    from ..contracts.transcript import Transcript
    from .caught import Told
    from .threads import Place

R = TypeVar("R")


class Drained(Fenced):
    """The worker is stopping: give the delivery back at this checkpoint."""


class LeaseSession:
    """The `Session` of a worker, safe to use from any thread and any event loop (CrewAI gives an async tool its own).

    The store's async side belongs to the worker's loop. In other loops the sync side writes.
    """

    # What most deliveries never set. (An instance with more than 30 attributes takes twice as long to fill.)
    draining = False
    inherited: Transcript | None = None
    heard = False
    trace: Mapping[str, str] = MappingProxyType({})
    own_trace: Mapping[str, str] | None = None  # what goes on from here, if the job came with none
    remembered: Checkpoint | None = None
    home: Place | None = None  # where the agent's function runs, if it is one: see `threads.place`
    parts: Parts | None = None
    under_way: Collection[str] = ()  # the keys of the effects that are
    told: Told | None = None  # their errors in this run
    lost: Collection[str] = ()  # the fan-outs that a redrive makes again: see `Losses`
    asked: Any = None
    trouble: Troubles | None = None
    traced: Context | None = None  # the attempt's span, and what else its code is told of the trace
    _lost: Fenced | None = None
    _told: Fenced | None = None
    _left = False
    _base: Base | None = None
    _inherited: Mapping[str, Any] = MappingProxyType({})
    _known = 0
    _effects = ""

    def __init__(self, store: Store, delivery: Delivery, app: App | None = None) -> None:
        self._row = row = delivery.job
        self._store = store
        self._loop, self._app = running_loop(), app
        self.fence, self.job_id = row.fence, row.id
        self.hop, self.agent = row.hop, row.agent
        self.attempt, self.token, self.priority = row.attempt, row.token, row.priority
        self.cut = row.fan if row.verdict == "cut" else None  # an undecided fan-out, or one to be made again
        self.last_error = row.error or None
        self._began = time.monotonic()
        self.deadline = from_ms(row.deadline) if row.deadline else None
        self.thread, self.key = row.thread, row.key or None
        self._opened = open_row(delivery.checkpoint) if delivery.checkpoint else None
        tip = self._opened.checkpoint if self._opened else None
        # Only a checkpoint's own thread may append to its logs.
        self._sharing = Sharing.APPEND if tip and tip.thread == row.thread else Sharing.REFER
        self._drafts: dict[str, tuple[Snapshot, Sharing, Draft]] = {}  # of saves without a reply yet
        mine = tip if tip and (tip.job, tip.hop) == (row.id, row.hop) else None
        self.checkpoint = app.migrated(mine) if app and mine else mine
        self.tip_id = row.tip
        about = f"of job {row.id}"
        self._journal = {key: open_blob(data, of=f"record {key!r} {about}") for key, data in delivery.journal.items()}
        self.budget = Budget(self._journal)
        self.unanswered = bool(row.question) and row.answered == f"{row.asked} timeout"
        if self.unanswered:
            self.asked = question_of(row)
        self.answer = answer_of(row) if row.answer else None

    @property
    def tracer(self) -> Tracer | None:
        """The app's."""
        return self._app.tracer if self._app else None

    @cached_property
    def book(self) -> Book:
        """What is known about other agents."""
        return Book(self._app)

    @cached_property
    def lease(self) -> Lease:
        """The lease as claimed."""
        row = self._row
        return Lease(id=row.lease, token=row.token, worker=row.worker, expires_at=from_ms(row.lease_until))

    @property
    def failing_for(self) -> float:
        """How many seconds ago the first attempt of this hop failed; 0 if none has."""
        return max(self.now - self._row.failing, 0) / 1000 if self._row.failing else 0.0

    @property
    def now(self) -> int:
        """The time by the store's clock, in ms, or a little less: the claim's reply took its time."""
        return self._row.updated + int((time.monotonic() - self._began) * 1000)

    @property
    def fan(self) -> str:
        """The job's last fan-out, when this delivery was claimed. Empty if it has made none."""
        return self._row.fan

    @property
    def is_child(self) -> bool:
        """Whether the job was made by another one's fan-out."""
        return bool(self._row.parent)

    @property
    def effects(self) -> str:
        """What the keys of this job's effects begin with."""
        return self._effects or self.job_id

    @property
    def journal(self) -> Mapping[str, Any]:
        """The hop's records by key."""
        return self._journal

    def guard(self, envelope: Envelope) -> None:
        """Take from the job's envelope its limits, its trace context, and what its effects' keys begin with."""
        self.budget.limit(envelope)
        self.trace = envelope.trace
        if envelope.effects:
            self._effects = envelope.effects

    def spend(self, tokens: int = 0, cost: float = 0.0) -> None:
        """Count what the agent used. Stored with the next write."""
        self.budget.spend(tokens, cost)

    async def aflush(self) -> None:
        """Record what was spent since the last write."""
        if news := self.budget.news:
            await self.awrite(Record(self.fence, packed(news)))
            self._journal.update(news)

    def inherit(self, stored: Mapping[str, Any]) -> None:
        """Take the stored conversation that this hop continues. Each checkpoint keeps it from now on."""
        from ..contracts.transcript import Transcript

        self.inherited, self._inherited = Transcript.load(stored), {INHERITED: stored}
        if self.checkpoint is not None:
            self.checkpoint = replace(self.checkpoint, native=apart(self.checkpoint.native)[0])

    @property
    def news(self) -> Transcript | None:
        """The part of the inherited conversation that is new to the agent."""
        if self.inherited is None or not self._known:
            return self.inherited
        rest = self.inherited.messages[self._known :]
        return self.inherited.model_copy(update={"messages": rest}) if rest else None

    def remember(self, row: CheckpointRow, app: App) -> dict[str, Any]:
        """Start with a checkpoint of the agent's last visit. Returns what to record again, if it goes on amid that."""
        opened = open_row(row)
        found = app.migrated(opened.checkpoint)
        saved = saved_as(found.framework, found.state, found.native)
        self.remembered = replace(found, native=saved.native)
        self._base, self._opened = opened.base, None
        if found.job != self.job_id:  # it ended there, and brought along what this job brings again, or does without
            before = saved.earlier
            if before is not None and self.inherited is None:
                before, self.heard = transcript_of(saved, Losses()), True
                self.inherit(before.dump())
            told, now = (of.messages if of else [] for of in (before, self.inherited))
            self._known = len(told) if now[: len(told)] == told else 0
            self._sharing = Sharing.APPEND
            return {}
        self._known = len(transcript_of(saved, Losses()).messages)
        self._sharing = Sharing.REFER
        native: Mapping[str, Any] = saved.native or {}
        recorded: Mapping[str, Any] = native.get("recorded", {})
        left = {key: record for key, record in recorded.items() if key not in self._journal}
        self._journal.update(left)
        return left

    def save(self, snapshot: Snapshot, *, records: Mapping[str, Any] | None = None) -> Checkpoint:
        """Commit a checkpoint and journal records."""
        command, records = self._saving(snapshot, records)
        return self._saved(command.checkpoint.id, records, self.write(command))

    async def asave(self, snapshot: Snapshot, *, records: Mapping[str, Any] | None = None) -> Checkpoint:
        """`save` for async code."""
        command, records = self._saving(snapshot, records)
        return self._saved(command.checkpoint.id, records, await self.awrite(command))

    def record(self, records: Mapping[str, Any], *, part: str = "") -> None:
        """Commit journal records. `part` is the agent's part whose they are, unless the code here is one's."""
        records = {**with_marks(records, self.parts, part), **self.budget.news}
        self.write(Record(self.fence, packed(records)))
        self._recorded(records)

    async def arecord(self, records: Mapping[str, Any], *, part: str = "") -> None:
        """`record` for async code."""
        records = {**with_marks(records, self.parts, part), **self.budget.news}
        await self.awrite(Record(self.fence, packed(records)))
        self._recorded(records)

    def emit(self, values: Sequence[Any]) -> None:
        """Stream values to readers. What can't be sent now is lost, because it is not part of the job."""
        with suppress(Unavailable):
            self._store.call(self._emitting(values))

    async def aemit(self, values: Sequence[Any]) -> None:
        """`emit` for async code."""
        if self._elsewhere:
            return await anyio.to_thread.run_sync(self.emit, values)
        with suppress(Unavailable):
            await self._store.acall(self._emitting(values))

    def _emitting(self, values: Sequence[Any]) -> Emit:
        self.check()
        return Emit(self.fence, tuple(seal_blob(value, path="emitted") for value in values))

    def check(self) -> None:
        """Raise if the attempt has ended, the lease is known to be lost, or the budget is exceeded."""
        self.check_lease()
        if self._left:
            raise Fenced(f"job {self.job_id} hop {self.hop}: this attempt has ended: stop working on it")
        self.check_told()
        self._check_budget()

    def check_told(self) -> None:
        """Raise again what this run was told to end by: the agent's code may have caught it, and gone on."""
        if self._told is not None:
            raise self._told

    def _check_budget(self) -> None:
        try:
            self.budget.check(f"job {self.job_id}")
        except OverBudget as error:
            self._told = error
            raise

    def check_lease(self) -> None:
        """Raise if the lease is known to be lost."""
        if self._lost is not None:
            raise self._lost

    def lose(self, status: str) -> None:
        """Note that a heartbeat learned that writes no longer count."""
        if status == "canceled":
            self._lost = Canceled(f"job {self.job_id} was canceled: stop working on it")
        else:
            self._lost = Fenced(f"job {self.job_id} was taken over: the lease with token {self.fence.token} has ended")

    def leave(self) -> None:
        """The attempt has ended. If its code still runs somewhere, it may start nothing more."""
        self._left = True

    async def asettle(self) -> None:
        """Wait for the effects that still run in the agent's threads and tasks. Then none may begin."""
        for _ in range(2):  # again, for one that began just before it was too late
            while self.under_way:  # noqa: ASYNC110 - they end in threads and other loops, too
                await anyio.sleep(0.01)
            self.leave()

    def seal(self, snapshot: Snapshot) -> NewCheckpoint:
        """A snapshot packed for this delivery. What the last checkpoint holds is not sent again."""
        opened = self._opened  # read once: another thread may be here at the same time
        if self._base is None and opened is not None:
            self._base, self._opened = opened.base, None
        return self._drafted(snapshot, self._sharing)

    def _drafted(self, snapshot: Snapshot, sharing: Sharing, checkpoint_id: str = "") -> NewCheckpoint:
        version = self._app[self.agent].state_version if self._app and self.agent in self._app else 1
        kept = replace(snapshot, native={**(snapshot.native or {}), **self._inherited}) if self._inherited else snapshot
        made = draft(
            kept,
            thread=self.thread,
            agent=self.agent,
            job=self.job_id,
            hop=self.hop,
            base=self._base,
            sharing=sharing,
            codec=self._store.codec,
            checkpoint_id=checkpoint_id or mint("c", partition_of(self.job_id)),
            more={"version": version} if version > 1 else None,
        )
        self._drafts[made.new.id] = snapshot, sharing, made
        return made.new

    def _grounded(self, command: Command[R]) -> Command[R]:
        """The same command, with a checkpoint that shares less with its base."""
        assert isinstance(command, Saving)
        assert command.checkpoint is not None
        snapshot, sharing, made = self._drafts[command.checkpoint.id]
        less = Sharing.REFER if sharing is Sharing.APPEND else Sharing.NOTHING
        again = self._drafted(as_drafted(snapshot, made), less, command.checkpoint.id)
        return cast("Command[R]", replace(command, checkpoint=again))

    def write(self, command: Command[R]) -> R:
        """Carry out a command of this delivery, with retries while the store is unavailable."""
        self.check_lease()
        waits = pauses()
        while True:
            try:
                return self._heard(self._store.call(command))
            except BatonpassError as error:
                command, pause = self._again(command, error, waits)
            time.sleep(pause)
            self.check_lease()

    async def awrite(self, command: Command[R]) -> R:
        """`write` for async code."""
        if self._elsewhere:
            return await anyio.to_thread.run_sync(self.write, command)
        self.check_lease()
        waits = pauses()
        while True:
            try:
                return self._heard(await self._store.acall(command))
            except BatonpassError as error:
                command, pause = self._again(command, error, waits)
            await anyio.sleep(pause)
            self.check_lease()

    def _again(self, command: Command[R], error: BatonpassError, waits: Iterator[float]) -> tuple[Command[R], float]:
        """What to write after an error, and in how many seconds. Raises the error if that is pointless."""
        if isinstance(error, Ungrounded):
            return self._grounded(command), 0.0
        if isinstance(error, Fenced):
            self._lost = self._heard(error)
        if not isinstance(error, Unavailable) or (pause := next(waits, None)) is None:
            raise error
        if self.trouble is not None:  # logged here: nobody else would, because a full server still accepts heartbeats
            self.trouble.met(self.fence.lease_id, error)
        return command, pause

    def _heard(self, answer: R) -> R:
        """The store answered."""
        if self.trouble is not None:
            self.trouble.over(self.fence.lease_id)
        return answer

    @property
    def _elsewhere(self) -> bool:
        return self._loop is not None and self._loop is not running_loop()

    def _saving(self, snapshot: Snapshot, given: Mapping[str, Any] | None) -> tuple[Save, dict[str, Any]]:
        records = {**(given or {}), **self.budget.news}
        return Save(self.thread, self.seal(snapshot), self.fence, records=packed(records)), records

    def _saved(self, checkpoint_id: str, records: Mapping[str, Any], commit: CommitLine) -> Checkpoint:
        _, _, made = self._drafts.pop(checkpoint_id)
        self.checkpoint = saved(made, commit)
        self._base, self._sharing = made.nodes, Sharing.APPEND
        self.tip_id = checkpoint_id
        self._journal.update(records)
        if self.draining:
            about = f"job {self.job_id} is given back at checkpoint {self.tip_id}"
            self._told = Drained(f"{about}: this worker is stopping")
            raise self._told
        self._check_budget()
        return self.checkpoint

    def _recorded(self, records: Mapping[str, Any]) -> None:
        """What was written counts. If the budget is exceeded, stop before anything more is spent."""
        self._journal.update(records)
        self._check_budget()
