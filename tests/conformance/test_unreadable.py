"""Values that are intact, and can't be read here: their class no longer takes them, or their key is missing. They are
named, and the rest can be had."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import batonpass as bp
from batonpass.contracts import state_types
from batonpass.coordinator.coded.codec import MissingKey
from tests.conformance.test_items_coded import coded
from tests.harness.bench import Bench

# So long that a checkpoint shares it with the one before.
_LONG = [f"{n} " * 600 for n in range(20)]
_OLD, _NEW = {"old": b"o" * 32}, {"new": b"n" * 32}


def _define(**more: Any) -> Any:
    """The class of this release: registered under the name of the one before."""
    if known := state_types._by_name.pop("unreadable.cfg", None):
        del state_types._by_class[known.kind]
    kind = type("Cfg", (BaseModel,), {"__annotations__": {"lr": float, **more}, "__module__": __name__})
    return bp.state_type("unreadable.cfg")(kind)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    yield
    del state_types._by_class[state_types._by_name.pop("unreadable.cfg").kind]


@pytest.mark.parametrize("text", ["short", "word " * 2000])
def test_a_value_that_its_class_no_longer_takes(bench: Bench, text: str) -> None:
    """In the checkpoint itself, and in its logs."""
    face, old = bench.face(), _define()
    at = face.save(thread="run", agent="write", state={"n": [1], "trial": {"cfgs": [text, old(lr=0.5)]}})
    at = bench.run(at).id
    new, fresh = _define(steps=int), bench.face()
    told = rf"{at}: its state\['trial'\]\['cfgs'\]\[1\] can't be read here: a stored 'unreadable\.cfg' does not fit"
    reads: tuple[Callable[[], Any], ...] = (
        lambda: fresh.restore(at),
        lambda: fresh.latest(thread="run"),
        lambda: fresh.diff(at, at),
        lambda: fresh.fork(at, changes={"n": [2]}),
    )
    for read in reads:
        with bench.refused(bp.BadSetup, told):
            bench.run(read())
    rest = bench.run(fresh.restore(at, partial=True))
    held = rest.state["trial"]["cfgs"][1]
    assert (type(held), held.value, rest.state["n"]) == (bp.UnknownValue, {"lr": 0.5}, [1])
    assert (rest.unreadable, rest.damaged) == (("state['trial']['cfgs'][1]",), ())
    rest.state["trial"]["cfgs"][1] = new(lr=0.5, steps=3)
    mended = bench.run(fresh.fork(at, state=rest.state))
    assert bench.run(fresh.restore(mended.id)).state["trial"]["cfgs"] == [text, new(lr=0.5, steps=3)]


class Basket:
    """It takes what it knows, and leaves out the rest."""

    def __init__(self, things: list[Any]) -> None:
        self.things = [thing for thing in things if isinstance(thing, BaseModel)]


@pytest.mark.parametrize("wants", ["cfg", "n"])
def test_a_migration_that_wants_it(bench: Bench, wants: str) -> None:
    """The rest is as stored then. A state that takes its place is of the present version."""
    old = _define()
    at = bench.run(
        bench.face(bp.App("before")).save(thread="run", agent="migrated", state={"n": 1, "cfg": old(lr=0.5)})
    ).id
    new = _define(steps=int)
    app = bp.App("unreadable")
    app.agent("migrated", accepts=bp.State, returns=bp.State, state_version=2)(lambda state: state)
    app.migration("migrated", from_version=1)(
        lambda state: {**state, "of": state[wants].real if wants == "n" else state[wants].lr}
    )
    face = bench.face(app)
    rest = bench.run(face.restore(at, partial=True))
    assert rest.unreadable == ("state['cfg']",)
    assert (rest.version, rest.state.get("of")) == ((1, None) if wants == "cfg" else (2, 1))
    mended = bench.run(face.fork(at, state={"n": 1, "cfg": new(lr=0.5, steps=2)}))
    assert bench.run(face.restore(mended.id)).version == 2


def test_inside_a_class_with_functions_of_its_own(bench: Bench) -> None:
    """What that would make of it must not be stored in its place."""
    old = _define()
    bp.state_type("unreadable.basket", Basket, dump=lambda basket: basket.things, load=Basket)
    try:
        state = {"basket": Basket([old(lr=0.5)]), "n": 1}
        at = bench.run(bench.face().save(thread="run", agent="write", state=state)).id
        _define(steps=int)
        rest = bench.run(bench.face().restore(at, partial=True))
        assert (type(rest.state["basket"]), rest.unreadable) == (bp.UnknownValue, ("state['basket']",))
        after = bench.run(bench.face().save(thread="run", agent="write", changes={"n": 2})).id
        _define()
        assert [thing.lr for thing in bench.run(bench.face().restore(after)).state["basket"].things] == [0.5]
    finally:
        del state_types._by_class[state_types._by_name.pop("unreadable.basket").kind]


def test_what_is_new_can_be_saved_beside_it(bench: Bench) -> None:
    """It stays as it is stored."""
    old = _define()
    at = bench.run(bench.face().save(thread="run", agent="write", state={"said": _LONG, "cfg": old(lr=0.5)}))
    _define(steps=int)
    after = bench.run(bench.face().save(thread="run", agent="write", append={"said": ["more"]}))
    assert type(after.state["cfg"]) is bp.UnknownValue
    whole = bench.run(bench.face().save(thread="run", agent="write", state={"said": _LONG}))
    old = _define()
    assert bench.run(bench.face().restore(after.id)).state == {**at.state, "said": [*_LONG, "more"]}
    assert bench.run(bench.face().restore(whole.id)).state == {"said": _LONG}


def test_a_key_that_is_missing_for_what_is_shared(bench: Bench) -> None:
    _define()
    with coded(bench, encrypt=_OLD) as first, coded(bench, encrypt={**_NEW, **_OLD}) as both:
        first.run(first.face().save(thread="run", agent="write", state={"said": _LONG, "n": 1}))
        more = {"append": {"said": ["more"]}, "changes": {"n": 2}}
        at = both.run(both.face().save(thread="run", agent="write", **more)).id
    with coded(bench, encrypt=_NEW) as other:
        face = other.face()
        told = rf"{at}: its state\['said'\] can't be read here: .* is encrypted with the key 'old', .*ENCRYPT_KEYS"
        reads: tuple[Callable[[], Any], ...] = (
            lambda: face.restore(at),
            lambda: face.latest(thread="run"),
            lambda: face.fork(at, changes={"n": 3}),
            lambda: face.save(thread="run", agent="write", changes={"n": 3}),
        )
        for read in reads:
            with pytest.raises(MissingKey, match=told):
                other.run(read())
        rest = other.run(face.restore(at, partial=True))
        assert (rest.state["n"], rest.unreadable, rest.damaged) == (2, ("state['said']",), ())
        mended = other.run(face.fork(at, state={"said": [], "n": 3}))
        assert other.run(face.restore(mended.id)).state == {"said": [], "n": 3}
