"""An event that can't be read costs its readers no other one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls.events import Reader
from batonpass.coordinator.following import follow
from tests.harness.bench import Bench

DAMAGES: dict[str, Mapping[str, str]] = {
    "no type": {"subject": "s", "time": "1"},
    "no number": {"type": "batonpass.checkpoint.saved", "subject": "s", "time": "soon"},
}


@pytest.mark.parametrize("what", DAMAGES)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_those_before_it_and_after_it_are_read(bench: Bench, what: str, at: int) -> None:
    for number in range(5):
        bench.save(None, thread="t", step=f"s{number}")
    whole = [row for row in bench.do(c.Events()) if row.fields]

    def damaged(command: Any) -> Any:
        answer = bench.do(command)
        if isinstance(command, c.Events):
            return [replace(row, fields=DAMAGES[what]) if _is(row, whole[at]) else row for row in answer]
        return answer

    reader, found, told = Reader("", "", c.Which(), "source", follow=False), list[str](), list[Any]()
    while not reader.ended:
        try:
            found += [event.data["checkpoint"] for event in follow(reader.page(), damaged)]
        except bp.Corrupted as error:
            told.append((reader.after, "is not what Batonpass writes" in str(error), len(found)))
    assert told == [(whole[at].position, True, at)]
    assert found == [row.fields["checkpoint"] for row in whole if not _is(row, whole[at])]


def _is(row: Any, other: Any) -> bool:
    return bool(row.position == other.position)
