"""State types that another package provides: if it is broken, it is named, and nothing else of a state is lost."""

from __future__ import annotations

import errno
import re
from types import SimpleNamespace

import pytest

import batonpass as bp
from batonpass.contracts import state_types
from batonpass.contracts.codec import pack


class _Point:
    """A class of the package `elsewhere`, whose entry point is to register it."""


_Point.__module__ = "elsewhere.points"


class _Later:
    """A class of the package `shortly`."""


_Later.__module__ = "shortly.points"


def test_a_package_whose_state_types_can_not_be_registered_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def register() -> None:
        raise RuntimeError("boom")

    point = SimpleNamespace(name="elsewhere", value="elsewhere:register", dist=SimpleNamespace(name="else-where"))
    point.load = lambda: register
    monkeypatch.setattr(state_types, "plugged", lambda group, name: [point] if name == "elsewhere" else [])
    monkeypatch.setattr(state_types, "_provide", state_types._provide.__wrapped__)
    monkeypatch.setattr(state_types, "_broken", {})
    whose = "the state types 'elsewhere' of the package 'else-where' (elsewhere:register)"
    why = f"{whose} can't be loaded: RuntimeError: boom"
    stored = bp.UnknownValue("elsewhere.point", pack([1, 2]))
    with bp.connect("memory://") as coordinator:
        with pytest.raises(bp.Unserializable, match=re.escape(why)):
            coordinator.save(thread="t", agent="a", state={"at": _Point()})
        saved = coordinator.save(thread="t", agent="a", state={"at": stored, "step": 7})
        state = coordinator.restore(saved.id).state
    assert (state["step"], state["at"]) == (7, stored)
    with pytest.raises(AttributeError, match=re.escape(why)):
        _ = state["at"].x


def test_while_the_machine_is_short_of_something_nothing_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent got an `UnknownValue` for as long as the process lived, and the job completed with that."""
    trouble = [OSError(errno.EMFILE, "Too many open files"), MemoryError()]

    def register() -> None:
        if trouble:
            raise trouble.pop()
        bp.state_type("shortly.point", _Later, dump=lambda point: 0, load=lambda stored: _Later())

    point = SimpleNamespace(name="shortly", value="shortly:register", dist=None, load=lambda: register)
    monkeypatch.setattr(state_types, "plugged", lambda group, name: [point] if name == "shortly" else [])
    with bp.connect("memory://") as coordinator:
        for error in (MemoryError, OSError):
            with pytest.raises(error):
                coordinator.save(thread="t", agent="a", state={"at": _Later()})
        saved = coordinator.save(thread="t", agent="a", state={"at": _Later()})
        assert isinstance(coordinator.restore(saved.id).state["at"], _Later)
