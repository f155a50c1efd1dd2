"""Owning: a thread owned by one run, leased and fenced through a job that does nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, MutableMapping
from contextvars import ContextVar, Token
from threading import Event, Thread, get_ident
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar, cast

from anyio import CancelScope, move_on_after

from ....contracts.contract import ContractRef
from ....contracts.duration import Duration, seconds_of
from ....contracts.errors import BadSetup, BatonpassError, Fenced, NotFound, ThreadBusy, WrongState
from ....contracts.handoff import Envelope
from ....contracts.names import digest, home, mint
from ....coordinator.blobs import seal_blob, seal_envelope
from ....coordinator.calls import Call, adrive, drive
from ....coordinator.calls.inputs import deadline
from ....coordinator.commands import Claim, Complete, DeleteJob, Fence, Heartbeat, ReadJob, Reap, RunNow, Submit, Target
from ....coordinator.rows import Delivery, JobRow
from ....coordinator.shielded import shielded
from ....coordinator.store import Store

if TYPE_CHECKING:
    from .checkpoints import Checkpoints

# The agent of the jobs by which runs own threads.
OWNER = "langgraph.own"
# Seconds between two looks while waiting for a thread.
_LOOKS = 0.05
# Seconds after which a block inside of its own is refused. Until then the outer one may end: that of a generator that
# was left does, in another task.
_SURE = 1.0
# For how many seconds who is canceled waits until the thread is given back. A store may be silent for long.
_PATIENCE = 2.0
# For how many ms a thread is owned to end what was left of it.
_MOMENT = 5_000

# In a run's config: the saver and the thread that the run owns, and the lease. Needed because, in sync code, LangGraph
# stores the writes of parallel nodes from the threads where they ran, without the run's context, but with its config.
_OWNED = "__batonpass_owned"

_owned: ContextVar[Mapping[tuple[int, str], Owning]] = ContextVar("batonpass_owned_threads")
# What gives threads back. (A loop keeps no task.)
_endings: set[asyncio.Task[Any]] = set()
R = TypeVar("R")


def fence_of(shared: Checkpoints, thread: str, names: Mapping[str, Any] | None = None) -> Fence | None:
    """The lease under which this context, or the run whose config has these names, owns a saver's thread."""
    mine = (id(shared), thread)
    owning = _owned.get({}).get(mine)
    if owning is not None and owning.over:
        raise Fenced(
            f"the block of own({thread!r}) in which this run began has ended, and with it the lease: wait for the run "
            "before the block ends, or begin the run outside of the block"
        )
    if owning is not None and owning.fence is not None:
        return owning.fence
    if names is None:
        return None
    owner, noted = names.get(_OWNED, (None, None))
    return cast("Fence", noted) if owner == mine else None


def note_owner(shared: Checkpoints, thread: str, names: Mapping[str, Any]) -> None:
    """Note in the config with which a run begins that it owns its thread, if it does."""
    if "__pregel_runtime" in names and isinstance(names, MutableMapping) and (fence := fence_of(shared, thread)):
        names[_OWNED] = ((id(shared), thread), fence)


class Owning:
    """A thread to own, for `with` and `async with`. `wait` is None for no limit. `lease` is in ms."""

    def __init__(self, shared: Checkpoints, thread: str, wait: Duration | None, lease: int) -> None:
        self._shared = shared
        self._thread = thread
        deadline(wait, "wait")  # refuses nonsense at once
        self._wait = seconds_of(wait)
        self._lease = lease
        self._keeper: _Keeper | None = None
        self._runner: object = None
        self._token: Token[Mapping[tuple[int, str], Owning]] | None = None
        self.fence: Fence | None = None
        self.over = False
        self._took_over = False

    def __enter__(self) -> Owning:
        end, sure = deadline(self._wait, "wait"), time.monotonic() + _SURE
        while (fence := drive(self._shared.handles.store(), self._take())) is None:
            self._check(end, sure)
            time.sleep(_LOOKS)
        self._begin(fence)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fence = self._end()
        assert self._keeper is not None
        self._keeper.join()
        self._ended(drive(self._shared.handles.store(), self._give_back(fence)), kind)

    async def __aenter__(self) -> Owning:
        end, sure = deadline(self._wait, "wait"), time.monotonic() + _SURE
        store = await self._shared.handles.astore()
        while (fence := await self._taken(store)) is None:
            self._check(end, sure)
            await asyncio.sleep(_LOOKS)
        self._begin(fence)
        return self

    async def _taken(self, store: Store) -> Fence | None:
        """`_take`, to its end: if the caller is canceled amid it, nobody would know that the thread is owned."""
        taking = asyncio.ensure_future(adrive(store, self._take()))
        try:
            return await shielded(taking)
        except asyncio.CancelledError:
            left = _begun(self._leave(store, taking))
            with move_on_after(_PATIENCE, shield=True):
                await shielded(left)
            raise

    async def _leave(self, store: Store, taking: asyncio.Future[Fence | None]) -> None:
        try:
            if fence := await taking:
                await adrive(store, self._give_back(fence))
        except Exception:  # somebody frees it once the lease has expired
            return

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        fence, store = self._end(), await self._shared.handles.astore()
        ending = _begun(adrive(store, self._give_back(fence)))
        with CancelScope(shield=True):  # or the next owner would wait until the lease has expired
            await shielded(ending)
        self._ended(ending.result(), kind)

    def _ended(self, given_back: bool, kind: type[BaseException] | None) -> None:
        if not given_back and kind is None:
            raise Fenced(
                f"thread {self._thread!r} was lost before the end of this block: its lease had expired, and another "
                "run has taken over, or somebody has canceled it. What the block did outside of the thread may have "
                "been done beside another run"
            )

    def _check(self, end: float, sure: float) -> None:
        """Go on waiting, or raise."""
        now = time.monotonic()
        if now >= min(end, sure) and self._waits_for_itself():
            raise BadSetup(
                f"this task owns thread {self._thread!r} already: this is inside of another own({self._thread!r}), "
                "whose end it would wait for. Leave it out: all runs in the outer block are the owner's"
            )
        if now >= end:
            raise ThreadBusy(
                f"thread {self._thread!r} is owned by another run, or a job runs on it: waited {self._wait:g} s"
            )

    def _waits_for_itself(self) -> bool:
        """Whether this task owns the thread. Another task that was begun in that block may wait for its end."""
        outer = _owned.get({}).get((id(self._shared), self._thread))
        return outer is not None and not outer.over and outer.fence is not None and outer._runner == _running()

    def _begin(self, fence: Fence) -> None:
        self.fence = fence
        self._runner = _running()
        self._keeper = _Keeper(self._shared.handles.sibling(), fence, self._lease)
        self._token = _owned.set({**_owned.get({}), (id(self._shared), self._thread): self})

    def _end(self) -> Fence:
        assert self._keeper is not None
        assert self._token is not None
        assert self.fence is not None
        fence = self.fence
        self._keeper.stop()
        try:
            _owned.reset(self._token)
            self.over = True  # for tasks that were begun in it and still run, with a copy of the context
        except ValueError:  # a block in a generator may end in another context than it began in
            self.fence = None  # ends it in that context, too
        return fence

    def _take(self) -> Call[Fence | None]:
        """Own the thread if nobody does: by a new job, or by the job of an owner whose lease has expired."""
        yield Reap()
        taken = yield from _claim(self._thread, self._lease)
        if not taken:
            job_id = mint("j", home(self._thread))
            envelope = Envelope(contract=ContractRef("batonpass.state", 1), payload=b"j{}", path=(OWNER,))
            target = Target(OWNER, "batonpass.state@1", _queue(self._thread), seal_envelope(envelope))
            try:
                yield Submit(job_id, self._thread, target)
            except ThreadBusy as busy:
                yield from _free(busy.job_id)
                return None
            taken = yield from _claim(self._thread, self._lease)
        if not taken:  # another run was quicker
            return None
        job = taken[0].job
        self._took_over = job.crashes > 0
        return job.fence

    def _give_back(self, fence: Fence) -> Call[bool]:
        """Whether the thread was still owned."""
        try:
            yield from _end(fence, keep=self._took_over)
        except Fenced:  # the lease has expired, and another run owns the thread: later puts were refused
            return False
        return True


def _begun(ending: Coroutine[Any, Any, R]) -> asyncio.Task[R]:
    """A task that goes on if who waits for it is canceled."""
    task = asyncio.ensure_future(ending)
    _endings.add(task)
    task.add_done_callback(_endings.discard)
    return task


def past_owners(thread: str, make: Callable[[], Call[R]]) -> Call[R]:
    """What `make` makes, and once more if owners were in its way that are gone: killed in their block, or while they
    took the thread."""
    try:
        return (yield from make())
    except ThreadBusy as busy:
        try:
            gone = yield from _are_gone(thread, busy.job_id)
        except BadSetup:  # a Redis user that may not own threads, so nor end it
            raise busy from None
        if not gone:
            raise
    return (yield from make())


def _are_gone(thread: str, job_id: str) -> Call[bool]:
    """Whether the job was that of owners whose lease has expired, or that nobody claimed. If so, it is over now."""
    yield Reap()
    if not (yield from _free(job_id)):
        return False
    for each in (yield from _claim(thread, _MOMENT)):
        yield from _end(each.job.fence, keep=each.job.crashes > 0)
    return True


def _end(fence: Fence, *, keep: bool) -> Call[None]:
    """End an owned job. It is kept if it has been lost before, so that its first owner can learn that it is over."""
    yield Complete(fence, seal_blob(None, path="result"))
    if not keep:
        yield DeleteJob(fence.job_id)


def _queue(thread: str) -> str:
    return digest("own", thread)


def _claim(thread: str, lease: int) -> Call[list[Delivery]]:
    taken: list[Delivery] = yield Claim("langgraph", ((_queue(thread), lease),), (mint("l"),))
    return taken


def _free(job_id: str) -> Call[bool]:
    """Whether a job is that of owners. If so, cut short for how long it waits, as one whose workers have died: they
    didn't die of it."""
    try:
        row: JobRow = yield ReadJob(job_id)
        if row.agent == OWNER and row.reason == "retry_at":
            yield RunNow(job_id)
        return row.agent == OWNER
    except (NotFound, WrongState):  # its thread is free now, or is about to be taken
        return True


def _running() -> object:
    """What runs now: the task, or the thread."""
    try:
        return asyncio.current_task() or get_ident()
    except RuntimeError:  # no event loop runs
        return get_ident()


class _Keeper:
    """Renews a lease from its own thread and connection, whatever the owner's code does."""

    def __init__(self, store: Store, fence: Fence, lease: int) -> None:
        self._store = store
        self._fence = fence
        self._lease = lease
        self._over = Event()
        self._thread = Thread(target=self._run, name="batonpass-own", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop renewing the lease. An event loop can't wait until the thread has ended: the store may be silent."""
        self._over.set()

    def join(self) -> None:
        """Wait until it has ended."""
        self._thread.join(timeout=5)

    def _run(self) -> None:
        try:
            while not self._over.wait(self._lease / 3000):
                try:
                    if self._store.call(Heartbeat(((self._fence, self._lease),))) != [""]:
                        return  # it is lost, and the next put raises
                except BatonpassError:
                    continue  # try again; if that is too late, the next put raises
        finally:
            self._store.close()
