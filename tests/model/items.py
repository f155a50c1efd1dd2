"""Moves with items: what is kept for long under labels and a key."""

from __future__ import annotations

from typing import Any

from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange, ItemName, ItemNews
from tests.model.moves import later, move
from tests.model.places import WEIGHTED
from tests.model.world import ITEM_KEYS, LABELS, Picks, World

__all__ = ["WEIGHTED"]  # these moves among all


def _labels(pick: Picks, least: int) -> tuple[str, ...]:
    return tuple(pick.of(LABELS) for _ in range(least + pick.below(3 - least)))


def _names(pick: Picks) -> tuple[ItemName, ...]:
    return tuple(ItemName(_labels(pick, 1), pick.of(ITEM_KEYS)) for _ in range(pick.below(4)))


@move(3)
def write_items(world: World, pick: Picks) -> None:
    changes: list[ItemChange] = []
    for name in _names(pick):
        value = None if pick.one_in(4) else b"%d" % pick.below(4)
        ttl = later(pick) if pick.one_in(2) else 0
        changes.append(ItemChange(name, value, b"%d" % pick.below(2), ttl))
    news = ItemNews("news", "item", {"a": "b"}, 0) if changes and changes[0].value and pick.one_in(4) else None
    world.say(c.WriteItems(tuple(changes), news))


@move(1)
def refresh_items(world: World, pick: Picks) -> None:
    world.say(c.RefreshItems(_names(pick)))


@move(3)
def look_at_items(world: World, pick: Picks) -> None:
    which, prefix, limit = pick.below(3), _labels(pick, 0), pick.below(3) + 1
    names, indexed, following = _names(pick), bool(pick.below(2)), pick.below(2)
    items = c.ListItems(prefix, "", limit, indexed, skip=pick.below(3))
    pages: list[c.Command[Any]] = [items, c.ListSpaces(prefix, "", limit)]
    answer = world.ask([c.ReadItems(names), *pages][which])
    if which and following and answer.start:
        world.ask((c.ListItems if which == 1 else c.ListSpaces)(prefix, answer.start, limit))
