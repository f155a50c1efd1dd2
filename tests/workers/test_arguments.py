"""What counts as the same arguments when a function is replayed, and which it can be called with at all."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import pytest
from pydantic import AnyUrl, BaseModel, Field, field_serializer

import batonpass as bp
from batonpass.workers.context.arguments import digest_of, older_digests, same

from .serving import DEADLINE, Ask, Reply, only, serving

DAY = dt.date(2031, 5, 1)


class Note(BaseModel):
    """A model that is no contract."""

    of: Any = None


class Link(BaseModel):
    """A model that can't be stored as it is."""

    at: AnyUrl


class Linked(Link):
    at: AnyUrl = AnyUrl("https://a.example")
    of: Any


class Tags(bp.Contract, name="arguments.tags"):
    of: list[dict[str, set[int]]]


class Handle(BaseModel):
    tags: set[int]
    at: Any

    @field_serializer("at", when_used="json")
    def shown(self, at: object) -> str:
        return "an object"


class Sum(BaseModel):
    """A model that not even JSON holds."""

    of: Callable[[int], int]
    terms: Any = ()


class Second(bp.State, name="arguments.made", version=2):
    """A state whose contract has got a new version."""


def is_same(one: object, other: object) -> bool:
    return same(digest_of([one]), digest_of([other]), [other])


def test_models_that_cannot_be_stored() -> None:
    assert is_same(Link(at=AnyUrl("https://a.example")), Link(at=AnyUrl("https://a.example")))
    assert not is_same(Link(at=AnyUrl("https://a.example")), Link(at=AnyUrl("https://b.example")))
    assert is_same(Sum(of=abs, terms=[1]), Sum(of=hash, terms=[1]))
    assert not is_same(Sum(of=abs, terms=[1]), Sum(of=abs, terms=[2]))


@pytest.mark.parametrize("kind", [Note, Tags, bp.State, Linked])
def test_sets_are_the_same_in_any_order(kind: Any) -> None:
    """It is another one in each process, so a job whose worker died was parked in the next one."""
    one, other = ({"of": [{"in": set(order)}]} for order in ([0, 8], [8, 0]))
    assert str(one) != str(other)
    assert is_same(kind(**one), kind(**other))
    assert not is_same(kind(**one), kind(of=[{"in": {0, 1}}]))


@dataclass
class Bag:
    of: Any = None


@dataclass(frozen=True, slots=True)
class Sealed:
    of: Any = None
    more: int = 1


class Packed(BaseModel):
    of: Bag | Sealed | None = None


@pytest.mark.parametrize("bag", [Bag, Sealed])
def test_also_inside_a_dataclass(bag: Any) -> None:
    one, other = (Packed(of=bag(of=[{"in": {*order}}, Bag({*order})])) for order in ([0, 8], [8, 0]))
    assert str(one) != str(other)
    assert is_same(one, other)
    assert not is_same(one, Packed(of=bag(of=[{"in": {0, 1}}, Bag({0, 8})])))
    assert digest_of([Packed(of=bag(1))]) == digest_of([Packed(of=bag(1)).model_dump_json()])


class Branch(BaseModel):
    """Knows what it belongs to, which JSON leaves out."""

    name: Any
    parent: Any = Field(default=None, exclude=True)
    branches: list[Any] = []


@pytest.mark.parametrize("name", ["leaf", {0, 8}])
def test_a_way_back_that_json_leaves_out(name: Any) -> None:
    def tree(name: Any) -> Branch:
        root = Branch(name="root")
        root.branches += [Branch(name=name, parent=root), Branch(name=name, parent=[root])]
        return root

    assert is_same(tree(name), tree({8, 0} if name == {0, 8} else name))
    assert not is_same(tree(name), tree("other"))
    assert digest_of([tree("leaf")]) == digest_of([tree("leaf").model_dump_json()])


def test_objects_that_know_each_other() -> None:
    """Each is looked at once, and not once for each way to it."""

    def family(tags: set[int]) -> list[Branch]:
        made = [Branch(name=number) for number in range(14)]
        for each in made:
            each.parent = made
        made[0].branches = [tags]
        return made

    one, other = family({0, 8}), family({8, 0})
    assert is_same(one[0], other[0])
    assert not is_same(one[0], one[1])


def test_models_with_sets_are_written_by_their_classes() -> None:
    """What JSON lacks may have a serializer for JSON alone."""
    first, again = Handle(tags=set(), at=object()), Handle(tags=set(), at=object())
    assert digest_of([first]) == digest_of([again]) == digest_of([[first.model_dump_json()]][0])
    one, other = (Handle(tags=set(order), at=object()) for order in ([0, 8], [8, 0]))
    assert is_same(one, other)
    assert not is_same(one, first)


@pytest.mark.parametrize(
    ("given", "recorded"),
    [
        ([Ask(text="tea", number=3)], "02602d53a095362fc13cd7b365636c52"),
        ([bp.State(at=(1, 2), of={1: "a"}, day=DAY)], "9c73949e15ba5842d0af70e8f0d59560"),
        ([Note(of=(1, 2)), Link(at=AnyUrl("https://a.example"))], "6980b69539c578fa1fda272d817edd05"),
        ([(1, 2), {1: {"a"}}, None, "tea", 0.5, DAY, b"x", [Ask()], math], "ae4da523fe26bfa9eabc0d8cdc812065"),
    ],
)
def test_the_digests_stay_as_they_are(given: Any, recorded: str) -> None:
    """Workers of older releases may go on with the job, and they know no others."""
    assert digest_of([given, {}]).hex() == recorded
    assert not same(bytes.fromhex(recorded), digest_of([given[1:], {}]), [given[1:], {}])


@pytest.mark.parametrize("digest", [digest_of, lambda given: older_digests(given)[-1]], ids=["now", "before"])
def test_an_upcast_state_is_known_again(digest: Callable[[object], bytes]) -> None:
    app = bp.App("arguments")
    app.upcast(Second, from_version=1)(lambda values: {"moved": values.pop("v")})
    plain: dict[str, Any] = {"v": [1, 2]}
    recorded = digest([bp.State(**plain)])
    now = app.upcast_values(Second, bp.ContractRef("arguments.made", 1), plain)
    assert same(recorded, digest_of([now]), [now])


def passing(given: Callable[[int], Any], ran: list[Any]) -> bp.App:
    """An app whose agent passes what `given` makes at each attempt to a step and to a child, and then fails once."""

    async def passes(ask: Ask, ctx: bp.Context) -> Reply:
        await ctx.step("look", ran.append, given(ctx.attempt))
        [back] = await ctx.fan_out([bp.Handoff("leaf", given(ctx.attempt))])
        if ctx.attempt == 1:
            raise ValueError("once more")
        return Reply(text=f"{dict(back)}")

    app = only(passes, hands_to={"leaf": bp.State}, retries=bp.Retry(attempts=2, first=0.01))

    @app.agent("leaf", accepts=bp.State, returns=bp.State)
    async def leaf(state: bp.State, ctx: bp.Context) -> bp.State:
        ran.append("leaf")
        return state

    return app


@pytest.mark.parametrize("held", [{frozenset({1}): 2}, PurePosixPath("x"), {(1, 2): b"\xff"}, math.inf])
async def test_a_state_with_values_that_json_lacks(held: Any, store_url: str) -> None:
    """They could be submitted and handed off, but not given to a step or a child."""
    ran: list[Any] = []
    async with serving(passing(lambda _: bp.State(v=held), ran), store_url) as coordinator:
        job = await coordinator.submit("a", Ask(), returns=Reply)
        assert (await job.result(timeout=DEADLINE)).text == f"{ {'v': held} }"
    assert ran == [bp.State(v=held), "leaf"]
