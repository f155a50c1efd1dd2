"""Lending: what a checkpoint shares with, where the one before it does not have its values in the same place."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from langgraph.constants import START

from ....coordinator.parts.nodes import Base, Branch, Node, Part, children_of
from ....coordinator.parts.recent import Known, Recent, Spot


def around(recent: Recent, spot: Spot) -> Known | None:
    """For the first checkpoint of a subgraph: the last one of the graph around it, whose values a node is mostly
    given."""
    thread, scope, _ = spot
    while scope:
        scope = scope.rpartition("|")[0]
        if (known := recent.get((thread, scope, ""))) is not None:
            return Known(known.id, lambda: _lent(known.make()), known.size)
    return None


def _lent(base: Base) -> Base:
    return replace(base, state=_closed(base.state))


def _closed(node: Node) -> Node:
    """The node, with logs that only their owner goes on with: to take turns would take a log for each turn."""
    if isinstance(node, Branch):
        return Branch({key: _closed(child) for key, child in node.children.items()})
    return replace(node, open_end=False) if isinstance(node, Part) else node


def as_input(known: Known) -> Known:
    """For the checkpoint with a run's input: the one before it, with its values as if they had been an input. A
    subgraph is mostly given what it had, and more, and so are graphs whose callers keep the conversation."""

    def make() -> Base:
        base = known.make()
        if not isinstance(base.state, Branch):  # small
            return base
        return replace(base, native=Branch({"hidden": Branch({START: _closed(base.state)})}))

    return Known(known.id, make, known.size, known.held)


def with_input(known: Known, channels: Collection[str]) -> Known:
    """For the checkpoint after a run's input: that, with the input's values as if channels had them."""

    def make() -> Base:
        base = known.make()
        given = children_of(children_of(base.native).get("hidden")).get(START)
        state = children_of(base.state)
        new = {name: node for name, node in children_of(given).items() if name in channels and name not in state}
        return replace(base, state=Branch({**state, **new})) if _has_parts(new.values()) else base

    return Known(known.id, make, known.size, known.held)


def _has_parts(nodes: Collection[Node]) -> bool:
    return any(isinstance(node, Part | Branch) for node in nodes)
