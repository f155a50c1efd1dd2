"""Whatever is asked of it, a memory answers what LangGraph's own in-memory store does: both are asked, side by side.

What differs on purpose: theirs lists items in the order of their creation, ours in that of their names; theirs goes on
listing a namespace when its items are gone.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from batonpass.adapters.langgraph import BatonpassStore

from .memories import Memory, told

pytestmark = pytest.mark.capability("langgraph")

_LABELS = st.sampled_from(["a", "b", "a b", "é", "*"])
_NAMESPACES = st.lists(_LABELS, min_size=1, max_size=3).map(tuple)
_PREFIXES = st.lists(_LABELS, max_size=2).map(tuple)
_KEYS = st.sampled_from(["k", "l", "m", ""])
_NUMBERS = st.integers(-2, 2)
_VALUES = st.fixed_dictionaries(
    {"n": _NUMBERS},
    optional={
        "t": st.sampled_from(["x", "y"]),
        "d": st.fixed_dictionaries({"n": _NUMBERS, "t": st.sampled_from(["x", "y"])}),
        "l": st.lists(_NUMBERS, max_size=2),
    },
)
_ORDERED = st.dictionaries(st.sampled_from(["$gt", "$gte", "$lt", "$lte", "$eq", "$ne"]), _NUMBERS, max_size=2)
_FILTERS = st.none() | st.fixed_dictionaries(
    {},
    optional={
        "n": _NUMBERS | _ORDERED,
        "t": st.sampled_from(["x", {"$eq": "y"}, {"$ne": "y"}]),
        "d": st.fixed_dictionaries({}, optional={"n": _NUMBERS | st.builds(lambda n: {"$ne": n}, _NUMBERS)}),
        "l": st.lists(_NUMBERS | st.builds(lambda n: {"$ne": n}, _NUMBERS), max_size=2),
    },
)
_CONDITIONS = st.builds(
    MatchCondition, match_type=st.sampled_from(["prefix", "suffix"]), path=st.lists(_LABELS, max_size=2).map(tuple)
)
_PAGES = {"limit": st.sampled_from([0, 1, 2, 5, 1000]), "offset": st.integers(0, 12)}


def _put(namespace: Any, key: Any, value: Any) -> PutOp:
    return PutOp(namespace, key, value)


_OPS: st.SearchStrategy[Op] = st.one_of(
    st.builds(_put, _NAMESPACES, _KEYS, _VALUES),
    st.builds(_put, _NAMESPACES, _KEYS, _VALUES),
    st.builds(_put, _NAMESPACES, _KEYS, st.none()),
    st.builds(lambda namespace, key: GetOp(namespace, key), _NAMESPACES, _KEYS),
    st.builds(lambda prefix, wanted, **page: SearchOp(prefix, wanted, **page), _PREFIXES, _FILTERS, **_PAGES),
    st.builds(
        ListNamespacesOp,
        match_conditions=st.none() | st.lists(_CONDITIONS, max_size=2).map(tuple),
        max_depth=st.none() | st.integers(1, 3),
        **_PAGES,
    ),
)


class Theirs(InMemoryStore):
    """Theirs, with what differs on purpose."""

    def batch(self, ops: Any) -> list[Any]:
        asked = list(ops)
        for namespace in [name for name, items in self._data.items() if not items]:
            del self._data[namespace]
        # Before anything is read: theirs makes a namespace of each that is asked for.
        listed = iter(super().batch([op for op in asked if isinstance(op, ListNamespacesOp)]))
        whole = [op._replace(limit=10_000, offset=0) if isinstance(op, SearchOp) else op for op in asked]
        answers = super().batch(whole)
        for at, op in enumerate(asked):
            if isinstance(op, ListNamespacesOp):
                answers[at] = next(listed)
            if isinstance(op, SearchOp):
                found: Any = answers[at]
                in_order = sorted(found, key=lambda item: (item.namespace, item.key))
                answers[at] = in_order[op.offset : op.offset + op.limit]
        return answers


def plain(answer: Any) -> Any:
    """An answer as it is compared."""
    if isinstance(answer, list) and answer and isinstance(answer[0], tuple):
        return answer
    return told(answer) if isinstance(answer, list) else answer and told([answer])


@pytest.mark.parametrize("side", ["sync", "async"])
@pytest.mark.parametrize("kind", ["memory", "sqlite", "redis"])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(batches=st.lists(st.lists(_OPS, min_size=1, max_size=6), min_size=1, max_size=12))
def test_the_answers_are_the_same(
    kind: str, side: str, batches: list[list[Op]], tmp_path: Path, redis_server: str, request: pytest.FixtureRequest
) -> None:
    url = {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path}/store.db", "redis": redis_server}[kind]
    theirs = Theirs()
    with Memory(BatonpassStore.from_url(url, namespace=f"t{secrets.token_hex(6)}"), side) as ours:
        for ops in batches:
            assert [plain(answer) for answer in ours.batch(ops)] == [plain(answer) for answer in theirs.batch(ops)]
