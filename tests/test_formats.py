"""A JSON Schema alone checks dates, ids, addresses and decimals as the class that it was made of."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import UUID4, AnyUrl, BeforeValidator, Field, HttpUrl, ValidationError, condecimal, create_model

import batonpass as bp
from batonpass.coordinator.schemas import fit_schema

from .service.service import caller, service_of
from .workers.serving import Ask, Reply, reached, serving

Price = Annotated[Decimal, Field(gt=0, max_digits=8, decimal_places=2)]
CASES: list[tuple[Any, Sequence[Any], Sequence[Any]]] = [
    (date, ["2026-01-01", "2026-01-01T00:00:00Z", "1654646400"], ["tomorrow", "2026-13-45", "2026-01-01T10:00"]),
    (date | None, ["2026-01-01", None], ["tomorrow"]),
    (date | str, ["tomorrow"], [1]),
    (datetime, ["2026-01-01", "2026-01-01 10:00", "1654646400.5", "2026-01-01T10:00+01:00"], ["tomorrow"]),
    (time, ["10:00", "10:00:00Z"], ["25:00", "noon"]),
    (timedelta, ["PT5S", "-P1D", "00:05:00", "1 day, 0:00:00"], ["soon"]),
    (UUID, ["12345678123456781234567812345678", "urn:uuid:12345678-1234-5678-1234-567812345678"], ["me"]),
    (UUID4, ["ab5b1b82-bd4c-492b-94b3-123b044b708d"], ["177527d4-ec7e-11f1-8767-02fc00000001"]),
    (AnyUrl, ["https://x.example/", "mailto:a@b", "https://exämple.com"], ["not a url", "x.example"]),
    (HttpUrl, ["http:x"], ["not a url"]),
    (dict[date, int], [{"2026-01-01": 1}], [{"tomorrow": 1}]),
    (Decimal, ["1", "-.5", "1.1e2", " 1 ", 1, 1.5], ["abc", "", "NaN", True, None, {}]),
    (Price, ["1.230", "1e2", 1.25, 999999], ["abc", "-1", "0", "1.234", 1.234, "123456789", 0]),
    (Annotated[Decimal, Field(max_digits=3)], ["1.20", "1.2000", 123], ["abc", "1.234", 1234]),
    (Annotated[Decimal, Field(decimal_places=2)], ["1.2000"], ["1.234"]),
    (condecimal(multiple_of=Decimal("0.1"), le=100), ["0.3", 0.7, "100"], ["0.35", "1000"]),
    (Annotated[Decimal, Field(le=Decimal("12345678901234567890"))], ["12345678901234567890"], ["abc"]),
    (Decimal | str | None, ["abc", None], [{}]),
    (list[Price], [["1"]], [["abc"], ["-1"]]),
    (Annotated[Decimal, Field(gt=100)] | Annotated[Decimal, Field(lt=0)], ["-1", -1, "1.01e2", 101], ["abc", 50]),
    (Annotated[Decimal, Field(max_digits=2)] | Annotated[Decimal, Field(max_digits=5)], ["12345"], ["abc", 10**30]),
    (Annotated[float, Field(le=1)] | Decimal, ["150", 150, 0.5], ["abc"]),
]


class Order(bp.Contract, name="formats.order"):
    day: date
    price: Price = Decimal(1)


app = bp.App("formats")


@app.agent("buyer", accepts=Order, returns=Reply)
async def buyer(order: Order, ctx: bp.Context) -> Reply:
    return Reply(text=str(order.price))


@app.agent("asking", accepts=Ask, returns=Order)
async def asking(ask: Ask, ctx: bp.Context) -> Order:
    return await ctx.ask("which?", answer=Order)


@pytest.mark.parametrize(("kind", "fitting", "others"), CASES)
def test_what_the_class_takes_fits(kind: Any, fitting: Sequence[Any], others: Sequence[Any]) -> None:
    model = create_model("Model", field=(kind, ...))
    for value in fitting:
        model.model_validate({"field": value})
        fit_schema("value", model.model_json_schema(), {"field": value})
    for value in others:
        with pytest.raises(ValidationError):
            model.model_validate({"field": value})
        with pytest.raises(bp.ContractViolation, match="field"):
            fit_schema("value", model.model_json_schema(), {"field": value})


@pytest.mark.parametrize("value", ["12345678123412341234567890123456", 1e30])
def test_more_digits_than_can_be_counted_with_do_not_fit(value: object) -> None:
    """(Pydantic's own check of them breaks.)"""
    model = create_model("Model", field=(condecimal(multiple_of=Decimal("0.05")), ...))
    with pytest.raises(bp.ContractViolation, match=r"field: .*: it has too many digits"):
        fit_schema("value", model.model_json_schema(), {"field": value})


def test_a_validator_that_takes_other_texts_says_so() -> None:
    def minutes(value: Any) -> Any:
        return timedelta(minutes=int(value[:-1])) if isinstance(value, str) and value.endswith("m") else value

    of_text = BeforeValidator(minutes, json_schema_input_type=str | timedelta)
    model = create_model("Model", field=(Annotated[timedelta, of_text], ...))
    fit_schema("value", model.model_json_schema(), {"field": "5m"})


def test_an_address_of_mail_has_its_sign() -> None:
    schema = {"type": "string", "format": "email"}
    fit_schema("value", schema, "ann@x.example")
    with pytest.raises(bp.ContractViolation):
        fit_schema("value", schema, "ann")


async def test_a_service_without_the_class_refuses_what_does_not_fit(sqlite_url: str) -> None:
    """Such a payload became a dead letter, and such an answer was counted and asked for anew."""
    cases = [({"day": "tomorrow"}, "day: "), ({"day": "2026-01-01", "price": "-1"}, "price: '-1': ")]
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit(asking, Ask())
            await reached(job, bp.JobState.INPUT_REQUIRED)
            for wrong, told in cases:
                given = {"agent": "buyer", "payload": wrong}
                for reply in (
                    await http.post("/jobs", json=given),
                    await http.post(f"/jobs/{job.id}/answer", json={"answer": wrong}),
                ):
                    assert reply.status_code == 422
                    [field] = reply.json()["fields"]
                    assert field.startswith(told)
            assert len(await coordinator.jobs()) == 1
            reply = await http.post(f"/jobs/{job.id}/answer", json={"answer": {"day": "2026-01-01", "price": "1.50"}})
            assert reply.status_code == 200
            await reached(job, bp.JobState.COMPLETED)
