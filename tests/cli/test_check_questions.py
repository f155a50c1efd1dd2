"""`batonpass check` looks at what jobs ask, and at the answers that they got: a new release that can't read them asks
again, and the person has answered for nothing."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import pytest

import batonpass as bp
from batonpass.testing import serving

from ..harness.waiting import wait_until
from .commandline import CommandLine, kept


class Order(bp.Contract, name="questions.order"):
    text: str = ""


class Verdict(bp.Contract, name="questions.verdict"):
    ok: bool


class Limited(bp.Contract, name="questions.verdict", version=2):
    ok: bool
    limit: int


class Mistaken(bp.Contract, name="questions.verdict"):
    ok: bool
    limit: int


class Wider(bp.Contract, name="questions.verdict", version=2):
    ok: bool
    limit: int = 0


class Kinds(bp.Contract, name="questions.kinds"):
    text: str
    word: Literal["a", "b"]
    number: int | None
    order: Order


class Wide(bp.Contract, name="questions.kinds", version=2):
    text: str | None
    word: Literal["a", "b", "c"]
    number: int | str | None
    order: Order | Verdict


class Words(bp.Contract, name="questions.kinds", version=2):
    word: Literal["a"]


class Numbers(bp.Contract, name="questions.kinds", version=2):
    number: int


class Orders(bp.Contract, name="questions.kinds", version=2):
    order: Verdict


class Decision(bp.Contract, name="questions.decision"):
    ok: bool


def release(answer: type[bp.Contract] | None, ask: Callable[..., object] | None = None) -> bp.App:
    """An app that asks for an answer of a contract, in a function that its agent calls."""
    app = bp.App("verdicts")

    def asks(ctx: bp.SyncContext) -> object:
        return ctx.ask("sure?", answer=answer) if answer else ctx.ask("sure?")

    @app.agent("judge", accepts=Order, returns=Order)
    def judge(order: Order, ctx: bp.SyncContext) -> Order:
        return Order(text=str((ask or asks)(ctx)))

    return app


def upcasting() -> bp.App:
    app = release(Limited)
    app.upcast(Limited, from_version=1)(lambda values: {**values, "limit": 0})
    return app


def elsewhere(ctx: bp.SyncContext) -> object:
    return ctx.ask("sure?", answer=vars(bp)["State"])


def _missing(name: str) -> object:
    raise ImportError(f"{name} needs another package")


LAZY: Any = ModuleType("lazy")
LAZY.__getattr__ = _missing


def needs_more(ctx: bp.SyncContext) -> object:
    return ctx.ask("sure?", answer=Verdict) or LAZY.thing


lazy = release(None, needs_more)
kinds, wide, words = release(Kinds), release(Wide), release(Words)
numbers, orders = release(Numbers), release(Orders)
first, plain, newer, same = release(Verdict), release(None), release(Limited), release(Mistaken)
wider, renamed, upcasts, hidden = release(Wider), release(Decision), upcasting(), release(None, elsewhere)


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize(
    ("app", "level", "says"),
    [
        ("first", "", ""),
        ("wider", "", ""),
        ("lazy", "", ""),
        ("upcasts", "", ""),
        ("newer", "fail", "so they will ask again (@app.upcast(Limited, from_version=1))"),
        ("same", "fail", "so they will ask again (raise its version=, then @app.upcast(Mistaken, from_version=1))"),
        ("renamed", "warn", "whose contract this agent's code does not name, so it was not looked at"),
        ("hidden", "warn", "whose contract this agent's code does not name, so it was not looked at"),
    ],
)
def test_a_question_that_the_new_code_asks_otherwise(
    app: str,
    level: str,
    says: str,
    answered: bool,
    store_url: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serving(first, store_url) as coordinator:
        jobs = [coordinator.submit("judge", Order()) for _ in range(2)]
        wait_until(lambda: len(coordinator.inbox()) == 2, what="the questions")
    if answered:
        with bp.connect(store_url, app=first) as coordinator:
            for job in jobs:
                coordinator.answer(job.id, {"ok": True})
    before = kept(store_url)
    ran = CommandLine(store_url, capsys, monkeypatch)("check", f"{__name__}:{app}", "--json")
    found = {each["text"]: each["level"] for each in ran.json["findings"] if each["level"] != "ok"}
    assert ran.code == (1 if level == "fail" else 0)
    assert f"{0 if level else 2} fit" in [each["text"] for each in ran.json["findings"]]
    assert list(found.values()) == ([level] if level else [])
    for text in found:
        assert text.startswith("2 job(s) ")
        assert says in text
        assert ("limit: Field required" in text) == (answered and level == "fail")
    assert kept(store_url) == before


def test_a_question_without_a_contract_fits(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(plain, store_url) as coordinator:
        job = coordinator.submit("judge", Order())
        wait_until(lambda: job.info().state == bp.JobState.INPUT_REQUIRED, what="the question")
    ran = CommandLine(store_url, capsys, monkeypatch)("check", f"{__name__}:plain")
    assert (ran.code, "1 fit" in ran.out) == (0, True)


@pytest.mark.parametrize(("app", "fits"), [("wide", True), ("words", False), ("numbers", False), ("orders", False)])
def test_fields_of_other_types(
    app: str, fits: bool, store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wider ones take each answer. They were said to ask again."""
    with serving(kinds, store_url) as coordinator:
        job = coordinator.submit("judge", Order())
        wait_until(lambda: job.info().state == bp.JobState.INPUT_REQUIRED, what="the question")
    ran = CommandLine(store_url, capsys, monkeypatch)("check", f"{__name__}:{app}")
    assert (ran.code, "so they will ask again" in ran.out) == (0 if fits else 1, not fits)
