"""rollback: restores an object's state if the work on it fails."""

from __future__ import annotations

from types import TracebackType
from typing import Generic, TypeVar

from anyio import CancelScope

from ...contracts.errors import BadSetup
from .attached import Attachment, attachment
from .checkpointable import Checkpointable
from .dump import Dump, copied
from .keeper import AsyncKeeper, save_to
from .load import Load

T = TypeVar("T", bound=Checkpointable)


class rollback(Generic[T]):
    """Restore the object if the block raises: `with bp.rollback(agent):`, or `async with`.

    The object, and those inside it, get back their states from before the block. Any error is passed on, also Ctrl-C.
    What the block saved of an attached object stays in its history, and the restored state is saved as its newest
    checkpoint, so that a later `resume` doesn't bring the failed work back. If that save fails, the error has a note.
    """

    def __init__(self, obj: T) -> None:
        self._obj = obj

    def __enter__(self) -> T:
        at = attachment(self._obj)
        if at is not None and isinstance(at.keeper, AsyncKeeper):
            raise BadSetup("the object is attached to an AsyncKeeper: use `async with rollback(...)`")
        return self._begin(at)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        at = self._ended(error)
        if at is not None and error is not None and not isinstance(at.keeper, AsyncKeeper):
            try:
                with at.lock:
                    at.keeper.save(self._obj, at.key, step="rollback")
            except Exception as failed:
                _note(error, failed)

    async def __aenter__(self) -> T:
        return self._begin(attachment(self._obj))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        at = self._ended(error)
        if at is None or error is None:
            return
        with CancelScope(shield=True):
            try:
                async with at.alock:
                    await save_to(at.keeper, self._obj, at.key, "rollback")
            except Exception as failed:
                _note(error, failed)

    def _begin(self, at: Attachment | None) -> T:
        self._dump = Dump(number_all=True)
        state = self._dump.run(self._obj)
        with self._dump.explaining(self._obj):
            self._state = copied(state)
        self._at = at
        self._saves = at.saves if at else 0
        return self._obj

    def _ended(self, error: BaseException | None) -> Attachment | None:
        """After an error, restore. Returns where the restored state has to be saved, if anywhere."""
        if error is None:
            return None
        try:
            Load(exact=True, pick=self._dump.objects.__getitem__).run(self._obj, self._state)
        except Exception as failed:
            error.add_note(f"rollback: the object could not be restored: {failed}")
            return None
        at = self._at
        return at if at is not None and at.saves != self._saves else None


def _note(error: BaseException, failed: Exception) -> None:
    error.add_note(f"rollback: the object was restored, but that could not be saved as its newest checkpoint: {failed}")
