"""BatonpassPersistence: stores the states of CrewAI flows that run without a job."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

from crewai.flow.async_feedback import PendingFeedbackContext
from crewai.flow.persistence import FlowPersistence
from crewai.hooks.dispatch import InterceptionPoint, get_global_hook_list, register
from pydantic import BaseModel, ConfigDict, PrivateAttr

from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.errors import BadSetup, NotFound
from ...coordinator.calls import checkpoints, drive, travel
from ...coordinator.coded.codec import Codec
from ...coordinator.coded.environment import codec_from_environment
from ...coordinator.connection import Connection, connect
from ...coordinator.parts.bases import Bases
from ...coordinator.store import Store
from .saved import VERSION

_PENDING = "pending feedback"
_AGENT = "flow"


class BatonpassPersistence(FlowPersistence):
    """Stores each state of a flow as a checkpoint: `@persist(BatonpassPersistence("sqlite:///flows.db"))`.

    `url` and `codec` are those of `batonpass.connect`. `coded` says that a codec was given. Several processes and
    threads may use one store. It is opened on first use. A flow's thread is `thread_of(flow.flow_id)`: you can look at
    its timeline, compare and fork. `Unserializable` names a value that can't be restored.

    A question to a person is kept until the flow has finished. If a flow dies after it was answered, you can resume it
    with the answer again. Methods that ran meanwhile run again, as in CrewAI itself.
    """

    model_config = ConfigDict(extra="forbid")

    persistence_type: str = "BatonpassPersistence"
    url: str
    coded: bool = False

    _codec: Codec | None = PrivateAttr(default=None)
    _opened: _Opened | None = PrivateAttr(default=None)

    def __init__(self, url: str | None = None, /, *, codec: Codec | None = None, **fields: Any) -> None:
        super().__init__(**fields if url is None else {"url": url, **fields})
        self._codec = codec
        self.coded = self.coded or codec is not None
        self.init_db()

    def init_db(self) -> None:
        """Name the store, without opening it. `BadSetup` if the URL is not one."""
        codec = self._codec or codec_from_environment()
        if self.coded and codec is None:  # made from the fields that CrewAI stored of another one, which lack the codec
            raise BadSetup(
                f"the states in {self.url} were kept with a codec: give BatonpassPersistence the same codec=, or set "
                "BATONPASS_ENCRYPT_KEYS or BATONPASS_SIGN_KEYS"
            )
        self._opened = _Opened(connect(self.url, codec=codec))

    def close(self) -> None:
        """Close the store. It is opened again when it is needed."""
        if self._opened is not None:
            self._opened.close()

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        self._save(flow_uuid, method_name, state_data)

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        bases, store = self._kept()
        found = drive(store, checkpoints.latest(bases, thread_of(flow_uuid)))
        return None if found is None else _fields(found)

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, Any] | BaseModel
    ) -> None:
        _forget_the_finished()
        asked = f"{context.method_name} (asks)"
        saved = self._save(flow_uuid, asked, state_data, {"pending": _plain(context.to_dict())})
        self._answered(flow_uuid)
        drive(self._kept()[1], travel.name(saved.id, _PENDING))

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        found = self._pending(flow_uuid)
        if found is None:
            return None
        _forget_the_finished()
        return _fields(found), PendingFeedbackContext.from_dict(found.native["pending"])

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Does nothing: CrewAI calls this before the methods after the answer have run. See `finished`."""

    def finished(self, flow_uuid: str) -> None:
        """The flow has finished, so it no longer asks anything. A hook at the end of every flow calls this."""
        self._answered(flow_uuid)

    def _answered(self, flow_uuid: str) -> None:
        found = self._pending(flow_uuid)
        if found is not None:
            drive(self._kept()[1], travel.unname(found.id))

    def _pending(self, flow_uuid: str) -> Checkpoint | None:
        store = self._kept()[1]
        try:
            asked = drive(store, travel.resolve(None, thread_of(flow_uuid), _PENDING))
            return drive(store, checkpoints.restore(asked))
        except NotFound:
            return None

    def _save(
        self, flow_uuid: str, step: str, state: dict[str, Any] | BaseModel, more: Mapping[str, Any] | None = None
    ) -> Checkpoint:
        bases, store = self._kept()
        native: dict[str, Any] = {"v": VERSION, "entries": [], "asked": {}, **(more or {})}
        kept = Snapshot(step=step, state=_plain(state), framework="crewai", native=native)
        return drive(store, checkpoints.save(bases, checkpoints.Place(thread_of(flow_uuid), _AGENT), kept))

    def _kept(self) -> tuple[Bases, Store]:
        assert self._opened is not None
        return self._opened.use()


def thread_of(flow_uuid: str) -> str:
    """The thread where a flow's states are stored."""
    return f"flow:{flow_uuid}"


class _Opened:
    """A store, opened in each process that uses it. Copies of a flow's settings share it."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._lock = threading.Lock()
        self._process = 0
        self._entered = ExitStack()
        self._kept: tuple[Bases, Store] | None = None

    def use(self) -> tuple[Bases, Store]:
        with self._lock:
            if self._kept is None or self._process != os.getpid():
                # A block, because any thread may close it, whatever it has closed before.
                store = self._entered.enter_context(self._connection).store
                self._kept, self._process = (Bases(store.codec), store), os.getpid()
            return self._kept

    def close(self) -> None:
        with self._lock:
            if self._kept is not None:
                self._kept = None
                self._entered.close()

    def __deepcopy__(self, memo: Any) -> _Opened:
        return self

    def __copy__(self) -> _Opened:
        return self


def _fields(found: Checkpoint) -> dict[str, Any]:
    return dict(found.state)


def _plain(value: Any) -> Any:
    """States as CrewAI loads them: dicts instead of models."""
    kind = value.__class__
    if issubclass(kind, BaseModel):
        return value.model_dump(mode="json", round_trip=True)
    if issubclass(kind, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if issubclass(kind, list) else value


def _ended(run: Any) -> None:
    kept = getattr(run.flow, "persistence", None)
    if isinstance(kept, BatonpassPersistence) and run.status == "completed":
        kept.finished(run.flow.flow_id)


def _forget_the_finished() -> None:
    if _ended not in get_global_hook_list(InterceptionPoint.EXECUTION_END):
        register(InterceptionPoint.EXECUTION_END, _ended)
