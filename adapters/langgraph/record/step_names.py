"""Step names: what timelines call supersteps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from langgraph.constants import START


def name_of(nodes: Iterable[str]) -> str:
    """The name of a superstep of these nodes: "one, other x3". Empty if there is none but LangGraph's own."""
    named = [node for node in nodes if node != START]
    if len(named) < 2:  # nearly always
        return "".join(named)
    return ", ".join(node if times == 1 else f"{node} x{times}" for node, times in sorted(Counter(named).items()))
