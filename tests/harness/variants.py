"""Variants: a test that would run on each store, or from sync and async code, runs on a sample of them.

The conformance tests and the model hold the stores together. So a test of something else runs on only one of them, a
different one for each test. `--all-variants` (in `make storm`) runs all. So does `@pytest.mark.each_store`, which is
for things that a store could do differently: processes that are killed, crowds, handles.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar
from zlib import crc32

import pytest

T = TypeVar("T")


def every(metafunc: pytest.Metafunc) -> bool:
    """Whether this test runs on all."""
    marked = metafunc.definition.get_closest_marker("each_store")
    return bool(marked or metafunc.config.getoption("all_variants"))


def some(metafunc: pytest.Metafunc, variants: Sequence[T]) -> Sequence[T]:
    """All variants, or the one that is this test's."""
    return variants if every(metafunc) else [variants[turn(metafunc) % len(variants)]]


def turn(metafunc: pytest.Metafunc) -> int:
    """A number that differs by test, and is the same in each run."""
    return crc32(metafunc.definition.nodeid.encode())
