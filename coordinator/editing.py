"""Editing: whether a framework can go on from a state that a person has edited."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from ..contracts.checkpoint import Checkpoint
from ..contracts.errors import BadSetup
from .frameworks import adapter_of


class Editable(Protocol):
    """What an adapter may define beside `run`. Static, and without importing the framework."""

    @staticmethod
    def check_edit(source: Checkpoint, state: Any) -> None:
        """Raise `BadSetup` for a state that can't replace the checkpoint's."""
        ...

    @staticmethod
    def check_resumed(source: Checkpoint, state: Any) -> None:
        """Raise `BadSetup` for one that an agent of another framework can be told, but with which this one's can't
        continue."""
        ...

    @staticmethod
    def taken(source: Checkpoint, values: Any) -> Any:
        """Edited values of a checkpoint's state in the form that it has there. `BadSetup` if they have no such form."""
        ...

    @staticmethod
    def edited(source: Checkpoint, changes: Mapping[str, Any]) -> Any:
        """The native part of a checkpoint from which the job goes on with these values changed. `BadSetup` if a run
        that resumes could not heed one of them."""
        ...

    @staticmethod
    def taken_back(source: Checkpoint, mark: str) -> Any:
        """The native part of a checkpoint with which a job goes on from an older one. What it has recorded in the
        journal since then, or before at the same point, is not to be taken for what runs now: `mark` is new."""
        ...

    @staticmethod
    def plain_state(source: Checkpoint, state: Any) -> Any:
        """The state as other agents can read it. `BadSetup` if the checkpoint does not hold all of it."""
        ...

    @staticmethod
    def keeps_payload(source: Checkpoint) -> str:
        """Why a run that resumes from the checkpoint can't take another payload, and what to do. "" if it can."""
        ...


def plain_state(source: Checkpoint, state: Any) -> Any:
    """A checkpoint's state, perhaps edited, as another agent can read it: in plain values where only its framework
    could make its objects. `BadSetup` if the checkpoint does not hold all of it."""
    found = adapter_of(source.framework)
    return cast("Editable", found).plain_state(source, state) if hasattr(found, "plain_state") else state


def check_edit(source: Checkpoint, edited: Callable[[], Any], *, resumes: bool) -> None:
    """Have the checkpoint's adapter check the state, if it can, and if a run `resumes` from it, for that, too. (Making
    the state costs as much as the rest.)"""
    found = adapter_of(source.framework)
    names = ("check_edit", "check_resumed") if resumes else ("check_edit",)
    if checks := [getattr(found, name) for name in names if hasattr(found, name)]:
        state = edited()
        for check in checks:
            check(source, state)


def taken(source: Checkpoint, values: Any) -> Any:
    """What a person gives for a state, as the checkpoint's adapter would keep it. (JSON can't say all of it.)"""
    found = adapter_of(source.framework)
    return cast("Editable", found).taken(source, values) if values and hasattr(found, "taken") else values


def native_after(source: Checkpoint, changes: Mapping[str, Any]) -> Any:
    """The framework's own notes for a checkpoint with which a job goes on with some values changed."""
    found = adapter_of(source.framework)
    return cast("Editable", found).edited(source, changes) if hasattr(found, "edited") else source.native


def native_again(source: Checkpoint, mark: str) -> Any:
    """The framework's own notes for a checkpoint with which a job goes on from an older one, once more."""
    found = adapter_of(source.framework)
    return cast("Editable", found).taken_back(source, mark) if hasattr(found, "taken_back") else source.native


def check_payload(source: Checkpoint) -> None:
    """Refuse an edited payload that nothing would read, or that would be mixed with what was made of the first one."""
    found = adapter_of(source.framework)
    if found is None:  # a plain function reads it again, and its steps know what they were given; or not installed here
        return
    keeps = hasattr(found, "keeps_payload")
    if why := cast("Editable", found).keeps_payload(source) if keeps else in_its_state(source):
        raise BadSetup(f"agent {source.agent!r} has already started and {why}")


def in_its_state(source: Checkpoint) -> str:
    """What `keeps_payload` says of an agent whose state has the payload, so that it never reads it again."""
    return (
        "keeps its payload in its state, so another payload would change nothing: change the state (changes=, --set), "
        "or make a new job that continues from there: "
        f"batonpass fork {source.id} --agent {source.agent} --payload ..."
    )
