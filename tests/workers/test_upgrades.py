"""New code takes over a job in the middle of an agent: what older code recorded is upcast, and not done again."""

from __future__ import annotations

import signal
from collections import Counter
from typing import Any

import pytest

import batonpass as bp
from tests.harness.waiting import wait_until

from .processes import DEADLINE, Desk

pytestmark = pytest.mark.timeout(240)
BEFORE, AFTER = (f"tests.workers.upgrades.{name}:app" for name in ("before", "after"))


def asks(coordinator: bp.SyncCoordinator, question: str) -> bp.InboxItem:
    def found() -> list[bp.InboxItem]:
        return [item for item in coordinator.inbox() if item.question == question]

    wait_until(lambda: bool(found()), timeout=DEADLINE, what=question)
    return found()[0]


def started(desk: Desk, app: str) -> Any:
    worker = desk.start(app=app)
    worker.wait_for("serves")
    return worker


@pytest.mark.parametrize("answered_by", ["before", "after"])
def test_what_older_code_recorded_is_upcast(desk: Desk, answered_by: str) -> None:
    """That is: what steps took or gave, results of children, and answers."""
    with bp.connect(desk.url) as coordinator:
        first = started(desk, BEFORE)
        job = coordinator.submit("upgrades-write", {"text": "tea"})
        asks(coordinator, "good?")
        if answered_by == "before":
            job.answer({"good": True})
            asks(coordinator, "print?")
        first.send(signal.SIGTERM)
        assert first.exit_code() == 0
        second = started(desk, AFTER)
        if answered_by == "after":
            job.answer({"good": True})
            asks(coordinator, "print?")
            job.answer({"good": True, "why": "new"})
        else:
            job.answer({"good": True})
        said = str(job.result(timeout=DEADLINE)["text"]).split("; ")
        second.send(signal.SIGTERM)
        assert second.exit_code() == 0
    assert said == [
        "text='tea' rush=False",
        "text='draft of tea' words=3",
        "polished draft of tea",
        "text='score of tea' words=3",
        "good=True why='nobody asked'",
        f"good=True why='{'new' if answered_by == 'after' else 'nobody asked'}'",
    ]
    assert desk.ran() == Counter(["draft", "polish", "score"])
