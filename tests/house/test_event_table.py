"""The table of events in docs/running.md has all types, and the fields that the operations give them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from batonpass.contracts import event as kinds

ROOT = Path(__file__).parents[2]
# What tells of a job: its agent and hop are said once, above the table. And what is passed on to such a call.
TELLING = {"announce", "emit", "enqueue", "go_ahead", "take_back", "begin"}
COMMON = {"agent", "hop"}
# `begin` makes the job's first event.
FIRST = "SUBMITTED"


def table() -> dict[str, str]:
    """Type -> what its row says."""
    page = (ROOT / "docs" / "running.md").read_text()
    rows = re.findall(r"^\| ((?:`[a-z]+\.[a-z_]+`(?:, )?)+) \| (.*?) ?\|$", page, re.MULTILINE)
    return {f"batonpass.{kind}": about for names, about in rows for kind in re.findall(r"`(.*?)`", names)}


def told() -> dict[str, set[str]]:
    """Type -> the fields that operations name."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "coordinator" / "operations").glob("*.py"):
        for call in ast.walk(ast.parse(path.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in TELLING:
                fields = {each.arg for each in call.keywords if each.arg} - COMMON
                for kind in [FIRST] if call.func.id == "begin" else _kinds(call):
                    found[getattr(kinds, kind)] |= fields
    return found


def _kinds(call: ast.Call) -> Iterator[str]:
    for each in call.args:
        if isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name) and each.value.id == "kinds":
            yield each.attr


def test_each_type_has_a_row() -> None:
    assert table().keys() == kinds.TYPES


def test_each_row_has_the_fields() -> None:
    rows = table()
    lacking = {kind: {name for name in names if f"`{name}`" not in rows[kind]} for kind, names in told().items()}
    assert {kind: names for kind, names in lacking.items() if names} == {}
    assert len([names for names in told().values() if names]) > 15
