"""The patterns of a JSON Schema alone are read as pydantic reads them, and none keeps a service busy."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import ConfigDict, Field, TypeAdapter

import batonpass as bp
from batonpass.coordinator.schemas import fit_schema

from .service.service import caller, service_of
from .workers.serving import Ask, Reply, reached, serving

# Python's own expressions try each way to share the text out between the two repetitions: years.
SLOW = r"^(a+)+$"
LONG = "a" * 60 + "!"
# What the expressions of pydantic can't do. The class says that Python's are meant.
LOOKS_AHEAD = r"^(?=.*\d)\w+$"
LOOKS_AHEAD_SLOWLY = rf"(?!x){SLOW}"
Keys = Annotated[str, Field(pattern=SLOW)]
Letters = Annotated[str, Field(pattern=r"^\p{L}+$")]


class Code(bp.Contract, name="patterns.code"):
    code: Keys = "a"
    letters: Letters = "a"


class Loose(bp.Contract, name="patterns.loose"):
    model_config = ConfigDict(regex_engine="python-re")

    code: str = Field(pattern=LOOKS_AHEAD)


app = bp.App("patterns")


@app.agent("coded", accepts=Code, returns=Reply)
async def coded(code: Code, ctx: bp.Context) -> Reply:
    return Reply(text=code.code)


@app.agent("loose", accepts=Loose, returns=Reply)
async def loose(code: Loose, ctx: bp.Context) -> Reply:
    return Reply(text=code.code)


@app.agent("asking", accepts=Ask, returns=Reply)
async def asking(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text=(await ctx.ask("which?", answer=Code)).letters)


def problems(schema: dict[str, Any], value: Any) -> list[str]:
    """What is found, which must not take long."""
    began = time.monotonic()
    try:
        fit_schema("value", schema, value)
    except bp.ContractViolation as error:
        return list(error.fields)
    finally:
        assert time.monotonic() - began < 5
    return []


def test_a_text_is_matched_in_the_time_that_its_length_takes() -> None:
    told = f"(whole): {LONG!r} does not match {SLOW!r}"
    assert problems({"pattern": SLOW}, LONG) == [told]
    assert problems({"pattern": SLOW}, "aaa") == []
    assert problems({"pattern": SLOW}, 5) == []


def test_so_are_names() -> None:
    schema = TypeAdapter(dict[Keys, int]).json_schema()
    assert problems(schema, {"aa": "x", LONG: "x"}) == ["aa: 'x' is not of type 'integer'"]
    assert problems({"propertyNames": {"pattern": SLOW}}, {"a": 1, LONG: 1}) == [
        f"(whole): {LONG!r} does not match {SLOW!r}"
    ]
    closed = {**schema, "additionalProperties": False}
    assert problems(closed, {"a": 1, LONG: 1}) == [f"(whole): {LONG!r} does not match any of the regexes: {SLOW!r}"]
    assert problems(closed, {"y": 1, "x": 1}) == [f"(whole): 'x', 'y' do not match any of the regexes: {SLOW!r}"]
    assert problems({**closed, "properties": {"x": True}}, {"x": 1, "a": 2}) == []
    rest = {**schema, "additionalProperties": {"type": "string"}}
    assert problems(rest, {"a": 1, LONG: 2}) == [f"{LONG}: 2 is not of type 'string'"]


def test_names_that_nothing_describes() -> None:
    """What patterns describe in other parts of the schema can't be told without Python's expressions."""
    schema = {"properties": {"x": True}, "unevaluatedProperties": False}
    assert len(problems(schema, {"y": 1})) == 1
    assert problems({**schema, "allOf": [{"patternProperties": {SLOW: True}}]}, {"a": 1, LONG: 1}) == []


def test_letters_of_all_languages() -> None:
    schema = TypeAdapter(Letters).json_schema()
    assert problems(schema, "Ünï") == []
    assert len(problems(schema, "1")) == 1


@pytest.mark.parametrize("pattern", [LOOKS_AHEAD, LOOKS_AHEAD_SLOWLY, "(", r"(a)\1", 5, ["a"], "(a{1000}){1000}"])
def test_what_pydantic_can_not_match_is_left_to_the_class(pattern: Any) -> None:
    """Python's expressions could, but nobody can say for how long."""
    assert problems({"pattern": pattern}, LONG) == []
    if isinstance(pattern, str):
        schema = {"patternProperties": {pattern: {"type": "integer"}}, "additionalProperties": False}
        assert problems(schema, {LONG: "x"}) == []


def test_decimals_that_are_always_texts() -> None:
    schema = TypeAdapter(Annotated[Decimal, Field(max_digits=5)]).json_schema(mode="serialization")
    assert schema["type"] == "string"
    assert problems(schema, "1.25") == []
    assert problems(schema, "abc") == ["(whole): 'abc': Input should be a valid decimal"]
    assert len(problems(schema, "0" * 100_000 + "x")) == 1


async def test_a_service_without_the_class(sqlite_url: str) -> None:
    """One text kept it from answering anybody, and letters of all languages were its error (500)."""
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit(asking, Ask())
            await reached(job, bp.JobState.INPUT_REQUIRED)
            for reply in (
                await http.post("/jobs", json={"agent": "coded", "payload": {"code": LONG}}),
                await http.post(f"/jobs/{job.id}/answer", json={"answer": {"code": LONG}}),
            ):
                assert reply.status_code == 422
                assert reply.json()["fields"] == [f"code: {LONG!r} does not match {SLOW!r}"]
            reply = await http.post(f"/jobs/{job.id}/answer", json={"answer": {"letters": "Ünï"}})
            assert reply.status_code == 200
            await reached(job, bp.JobState.COMPLETED)
            reply = await http.post("/jobs", json={"agent": "loose", "payload": {"code": "abc"}})
            left = coordinator.job(reply.json()["id"])
            assert (await reached(left, bp.JobState.FAILED)).error is not None
