"""Plain values as values that JSON has."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime

from batonpass.contracts.jsonable import jsonable


def test_any_library_writes_them() -> None:
    found = jsonable({"at": datetime(2031, 5, 1, tzinfo=UTC), "share": math.nan, "of": [math.inf]})
    assert json.dumps(found, allow_nan=False) == '{"at": "2031-05-01T00:00:00Z", "share": "NaN", "of": ["Infinity"]}'


def test_keys_that_differ_only_by_type_stay_apart() -> None:
    scores = {1: "a", "1": "b", None: "c", "None": "d", (1, 2): "e", "(1, 2)": "f", "1 (int)": "g", b"x": "h"}
    assert jsonable({"scores": scores})["scores"] == {
        "1 (int) (int)": "a",
        "1": "b",
        "None (NoneType)": "c",
        "None": "d",
        "(1, 2) (tuple)": "e",
        "(1, 2)": "f",
        "1 (int)": "g",
        "b'x'": "h",
    }
