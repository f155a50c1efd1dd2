"""A hop's journal, as threads of its agent look into it while others record."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from batonpass.workers.journal import named


@pytest.fixture
def busy() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_it_grows_while_a_thread_looks(busy: None) -> None:
    """It was an error of Python out of a fan-out, or a question, beside steps in other threads."""
    journal: dict[str, object] = {f"step/{number}": number for number in range(500)}
    over = threading.Event()

    def record() -> None:
        number = 0
        while not over.is_set():
            journal[f"effect/{number % 1000}"] = number
            journal.pop(f"effect/{(number + 500) % 1000}", None)
            number += 1

    thread = threading.Thread(target=record)
    thread.start()
    try:
        for _ in range(500):
            assert len(named(journal, "step/")) == 500
    finally:
        over.set()
        thread.join()
