"""States that do not fit are refused with what to do, and the object stays as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.plain import AsyncKeeper, Checkpointable, Keeper, register_migration


class Plain(Checkpointable):
    def __init__(self, **fields: Any) -> None:
        self.__dict__.update(fields)


class Other(Checkpointable):
    pass


@dataclass
class Inside(Checkpointable):
    x: int
    y: int = 2


class Model(Checkpointable, BaseModel):
    x: int = 1


class Slots(Checkpointable):
    __slots__ = ("x",)


class Named(Checkpointable):
    _checkpoint_fields = ("x",)
    x: int


def state(name: str, version: Any = 1, **fields: Any) -> dict[str, Any]:
    return {"__class__": name, "__version__": version, **fields}


def test_a_state_of_another_class() -> None:
    with pytest.raises(bp.BadSetup, match=r"class 'Other', not of 'Plain'.*_checkpoint_name = 'Other'"):
        Plain().load_state_dict(state("Other"))


@pytest.mark.parametrize("wrong", [{}, {"x": 1}, {"__class__": "Plain"}, [], None, {"__version__": 1}])
def test_what_is_no_state(wrong: Any) -> None:
    with pytest.raises(bp.BadSetup, match="use what state_dict"):
        Plain().load_state_dict(wrong)


@pytest.mark.parametrize("version", [0, -1, True, "1", None, 1.0])
def test_what_is_no_version(version: Any) -> None:
    with pytest.raises(bp.BadSetup, match="has no version"):
        Plain().load_state_dict(state("Plain", version))


def test_a_newer_version() -> None:
    with pytest.raises(bp.BadSetup, match="version 2 of Plain, but only versions up to 1 are known here"):
        Plain().load_state_dict(state("Plain", 2))


def test_a_field_that_the_state_lacks() -> None:
    plain = Plain(x=1, y=2)
    with pytest.raises(bp.BadSetup, match=r"lacks 'y' of 'Plain': raise _checkpoint_version and register_migration"):
        plain.load_state_dict(state("Plain", x=9))
    assert vars(plain) == {"x": 1, "y": 2}
    plain.load_state_dict(state("Plain", x=9), strict=False)
    assert vars(plain) == {"x": 9, "y": 2}
    with pytest.raises(bp.BadSetup, match="lacks 'x'"):
        Named().load_state_dict(state("Named"), strict=False)


def test_a_declared_default_is_taken_for_what_the_state_lacks() -> None:
    data = Inside(0, 7)
    data.load_state_dict(state("Inside", x=5))
    assert data == Inside(5, 2)
    data = Inside(0, 7)
    data.load_state_dict(state("Inside", x=5), strict=False)
    assert data == Inside(5, 7)
    with pytest.raises(bp.BadSetup, match="lacks 'x'"):
        data.load_state_dict(state("Inside", y=5))
    holder = Plain(inside=None)
    holder.load_state_dict(state("Plain", inside=state("Inside", x=5)))
    assert holder.inside == Inside(5, 2)  # type: ignore[attr-defined]
    holder.inside = None  # type: ignore[attr-defined]
    with pytest.raises(bp.BadSetup, match="lacks 'x'"):
        holder.load_state_dict(state("Plain", inside=state("Inside", y=5)), strict=False)


@pytest.mark.parametrize("there", [Slots(), Model(), Named()])
def test_a_field_that_the_object_can_not_hold(there: Checkpointable) -> None:
    fits = state(type(there).__name__, x=5)
    with pytest.raises(bp.BadSetup, match="the state has 'z', for which"):
        there.load_state_dict({**fits, "z": 1})
    assert not hasattr(there, "z")
    there.load_state_dict({**fits, "z": 1}, strict=False)
    assert there.state_dict() == fits


def test_nothing_has_changed_when_a_part_does_not_fit() -> None:
    first, last = Inside(1), Plain(x=1)
    whole = Plain(first=first, middle=[1], last=last)
    wrong = state("Plain", new=1, first=state("Inside", x=9, y=9), middle=[2], last=state("Plain", 5, x=2))
    with pytest.raises(bp.BadSetup, match="version 5 of Plain"):
        whole.load_state_dict(wrong)
    assert vars(whole) == {"first": first, "middle": [1], "last": last}
    assert (first, vars(last)) == (Inside(1, 2), {"x": 1})


def test_a_class_that_this_process_lacks() -> None:
    with pytest.raises(bp.BadSetup, match="class 'Nowhere', which this process lacks: import its module"):
        Plain(x=1).load_state_dict(state("Plain", x=[state("Nowhere")]))
    with pytest.raises(bp.BadSetup, match="refers to its object 7, which it does not hold"):
        Plain(x=1).load_state_dict(state("Plain", x={"__same__": 7}))


def test_two_classes_of_one_name_are_told_apart_or_refused() -> None:
    one = type("Twin", (Checkpointable,), {"__module__": "one"})
    early = Plain(inside=one()).state_dict()
    other = type("Twin", (Checkpointable,), {"__module__": "other"})
    holder = Plain(inside=one(), other=other())
    found = Plain(inside=other(), other=None)
    found.load_state_dict(holder.state_dict())
    assert (type(found.inside), type(found.other)) == (one, other)  # type: ignore[attr-defined]
    with pytest.raises(bp.BadSetup, match=r"one\.Twin and other\.Twin are both called 'Twin'.*_checkpoint_name"):
        Plain(inside=None).load_state_dict(early)
    found = Plain(inside=one())
    found.load_state_dict(early)


def test_a_class_that_was_defined_again_is_found_as_it_is_now() -> None:
    older, newer = (type("Again", (Checkpointable,), {"version": version}) for version in (1, 2))
    holder = Plain(inside=None)
    holder.load_state_dict(Plain(inside=older()).state_dict())
    assert type(holder.inside) is newer  # type: ignore[attr-defined]


def test_migrations_that_can_not_be() -> None:
    class Second(Checkpointable):
        _checkpoint_version = 2

    class Third(Checkpointable):
        _checkpoint_version = 3

    for version in (0, 2, 3):
        with pytest.raises(bp.BadSetup, match="_checkpoint_version = 2, but a migration from"):
            register_migration(Second, version, dict)
    register_migration(Second, 1, dict)
    with pytest.raises(bp.BadSetup, match=r"two migrations of .*Second from version 1"):
        register_migration(Second, 1, lambda state: state)
    name = Third.__qualname__
    with pytest.raises(bp.BadSetup, match=r"write register_migration\(.*Third, from_version=1, fn="):
        Third().load_state_dict(state(name))

    @register_migration(Third, 1)
    def wrong(state: dict[str, Any]) -> Any:
        return state["missing"]

    with pytest.raises(bp.BadSetup, match="the migration from version 1 failed: KeyError: 'missing'"):
        Third().load_state_dict(state(name))
    forgets: Any = dict.clear
    register_migration(Third, 2, forgets)
    with pytest.raises(bp.BadSetup, match="from version 2 gave a NoneType, not a dict: did it forget return"):
        Third().load_state_dict(state(name, 2))


def test_a_subclass_inherits_migrations() -> None:
    class Base(Checkpointable):
        _checkpoint_version = 2

        def __init__(self) -> None:
            self.x = 0

    class Below(Base):
        pass

    register_migration(Base, 1, lambda state: {"x": state["x"] + 1})
    below = Below()
    below.load_state_dict(state(Below.__qualname__, x=1))
    assert below.x == 2


@pytest.mark.parametrize("version", [0, "2", True, None])
def test_versions_of_classes(version: Any) -> None:
    made = type("Wrong", (Checkpointable,), {"_checkpoint_version": version})
    with pytest.raises(bp.BadSetup, match=r"but versions are 1, 2, 3"):
        made().state_dict()


def test_fields_of_classes() -> None:
    made = type("Fields", (Checkpointable,), {"_checkpoint_fields": "x"})
    with pytest.raises(bp.BadSetup, match="is 'x', not a tuple of attributes' names"):
        made().state_dict()
    with pytest.raises(bp.BadSetup, match="this Named has no 'x', which its _checkpoint_fields name"):
        Named().state_dict()
    made = type("Marked", (Checkpointable,), {"_checkpoint_fields": ["__class__"]})
    with pytest.raises(bp.BadSetup, match="has a field '__class__': that name has a meaning of its own"):
        made().state_dict()


def test_refusals_name_the_checkpoint() -> None:
    with Keeper("memory://") as keeper:
        saved = keeper.save(Plain(x=1), "run")
        with pytest.raises(bp.BadSetup, match=f"checkpoint {saved.id}: the state is of class 'Plain'"):
            keeper.load(Other(), "run")
        with pytest.raises(bp.NotFound, match="no checkpoint under 'none'"):
            keeper.load(Plain(), "none")
        with pytest.raises(bp.NotFound, match="is not a checkpoint id"):
            keeper.restore(Plain(), "none")
        with pytest.raises(bp.BadSetup, match="not attached to this keeper: give key="):
            keeper.save(Plain())


def test_places_that_are_none() -> None:
    with pytest.raises(bp.BadSetup, match="can't be used"):
        Keeper("nowhere")
    for wrong in (Keeper, AsyncKeeper):
        with pytest.raises(bp.BadSetup, match="int is not a store"):
            wrong(3)  # type: ignore[arg-type]


@pytest.mark.anyio
async def test_an_async_keeper_is_opened_by_async_with() -> None:
    with pytest.raises(bp.BadSetup, match="use it within `async with`"):
        await AsyncKeeper("memory://").keys()
