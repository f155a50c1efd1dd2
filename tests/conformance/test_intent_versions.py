"""The same submit before and after its contract has a new version, as in a rolling deploy."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

import batonpass as bp
from tests.harness.bench import Bench


class Line(bp.Contract, name="intent.changed.line"):
    item: str


class NewLine(bp.Contract, name="intent.changed.line", version=2):
    item: str
    note: str = ""


class Order(bp.Contract, name="intent.changed"):
    text: str
    lang: str = "en"
    lines: list[Line] = Field(default=[])


class NewOrder(bp.Contract, name="intent.changed", version=2):
    text: str
    lang: str = "fr"
    lines: list[NewLine] = Field(default=[])
    note: str | None = None
    tags: list[str] = Field(default_factory=list)


def app_of(contract: type[Order] | type[NewOrder]) -> bp.App:
    app = bp.App("changing")
    app.agent("take", accepts=contract, returns=contract)(lambda order: order)
    return app


OLD, NEW, STRANGER = app_of(Order), app_of(NewOrder), bp.App("stranger")
NEW.upcast(NewOrder, from_version=1)(lambda values: values)
X = Line(item="x")
ORDERS: list[tuple[bp.App, object, bp.App, object]] = [
    (STRANGER, {"text": "a"}, STRANGER, {"text": "a"}),
    (STRANGER, {"text": "a", "lang": "de"}, STRANGER, {"lang": "de", "text": "a"}),
    (OLD, Order(text="a", lang="de"), NEW, NewOrder(text="a", lang="de")),
    (OLD, Order(text="a", lang="en"), NEW, NewOrder(text="a", lang="en")),
    (OLD, {"text": "a", "lang": "de"}, NEW, {"text": "a", "lang": "de"}),
    (OLD, Order(text="a", lang="x", lines=[X]), STRANGER, {"text": "a", "lang": "x", "lines": [{"item": "x"}]}),
    (OLD, Order(text="a", lines=[X]), NEW, NewOrder(text="a", lang="en", lines=[NewLine(item="x")])),
]


@pytest.fixture
def deployed(bench: Bench) -> Bench:
    for app in (OLD, NEW):
        bench.run(bench.face(app).declare(app))
    return bench


@pytest.mark.parametrize(("before", "made", "after", "again"), ORDERS)
def test_it_is_the_same_job(bench: Bench, before: bp.App, made: object, after: bp.App, again: object) -> None:
    bench.run(bench.face(OLD).declare(OLD))
    first = bench.run(bench.face(before).submit("take", made, key="k"))
    bench.run(bench.face(NEW).declare(NEW))
    assert bench.run(bench.face(after).submit("take", again, key="k")).id == first.id


@pytest.mark.parametrize(("after", "made", "before", "again"), ORDERS)
def test_a_client_of_the_old_release_comes_later(
    deployed: Bench, after: bp.App, made: object, before: bp.App, again: object
) -> None:
    first = deployed.run(deployed.face(before).submit("take", again, key="k"))
    assert deployed.run(deployed.face(after).submit("take", made, key="k")).id == first.id


_OTHER: list[tuple[bp.App, object, bp.App, object]] = [
    (OLD, Order(text="a"), NEW, NewOrder(text="b")),
    (OLD, Order(text="a", lang="en"), NEW, NewOrder(text="a", lang="fr")),  # each the default of its version
    (OLD, Order(text="a"), NEW, NewOrder(text="a", lang="en", note="n")),
    (STRANGER, {"text": "a"}, STRANGER, {"text": "a", "note": "n"}),
]


@pytest.mark.parametrize(("before", "made", "after", "again"), _OTHER)
def test_it_is_another_payload(bench: Bench, before: bp.App, made: Any, after: bp.App, again: Any) -> None:
    bench.run(bench.face(OLD).declare(OLD))
    first = bench.run(bench.face(before).submit("take", made, key="k"))
    bench.run(bench.face(NEW).declare(NEW))
    with bench.nothing_changes(), pytest.raises(bp.KeyConflict, match=first.id) as refused:
        bench.run(bench.face(after).submit("take", again, key="k"))
    assert refused.value.job_id == first.id


class Renamed(bp.Contract, name="intent.changed", version=2):
    words: str


def test_a_renamed_field_is_told_as_a_reason(bench: Bench) -> None:
    bench.run(bench.face(OLD).declare(OLD))
    first = bench.run(bench.face(OLD).submit("take", Order(text="a"), key="k"))
    with pytest.raises(bp.KeyConflict, match=r"or that job$"):
        bench.run(bench.face(OLD).submit("take", Order(text="b"), key="k"))
    app = bp.App("changing")
    app.agent("take", accepts=Renamed, returns=Renamed)(lambda order: order)
    says = rf"by job {first.id}: .*\. If all that changed is the contract \(intent.changed@2 renamed a field"
    with pytest.raises(bp.KeyConflict, match=says) as refused:
        bench.run(bench.face(app).submit("take", Renamed(words="a"), key="k"))
    assert refused.value.job_id == first.id
