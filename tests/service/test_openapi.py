"""The service describes itself. (All other tests of the service check each answer against the document.)"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator, ValidationError
from openapi_spec_validator import OpenAPIV31SpecValidator

import batonpass as bp
from batonpass.service import bodies

from .documented import Documented
from .service import TOKEN, caller, service


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with service(f"sqlite:///{tmp_path_factory.mktemp('openapi')}/desk.db") as url:
        yield url


@pytest.fixture
async def document(address: str) -> Any:
    async with caller(address) as http:
        return (await http.get("/openapi.json")).raise_for_status().json()


async def test_it_is_openapi(document: Any) -> None:
    OpenAPIV31SpecValidator(document).validate()
    assert document["info"]["version"] == bp.__version__
    for schema in document["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


async def test_it_has_every_path_of_the_docs(document: Any) -> None:
    lines = (Path(__file__).parents[2] / "docs" / "jobs.md").read_text().splitlines()
    told = [line.split()[:2] for line in lines if re.match("    (GET|POST|DELETE) ", line)]
    documented = {(method, re.sub("JOB|CHECKPOINT", "{id}", path.partition("?")[0])) for method, path in told}
    offered = {(method.upper(), path) for path, methods in document["paths"].items() for method in methods}
    assert documented == offered | {("GET", "/openapi.json")}


async def test_it_needs_the_token_but_for_the_health_check(address: str, document: Any) -> None:
    assert document["security"] == [{"token": []}]
    free = [path for path, methods in document["paths"].items() for each in methods.values() if "security" in each]
    assert free == ["/health"]
    async with httpx.AsyncClient(base_url=address) as http:
        assert (await http.get("/openapi.json")).status_code == 401


def named(document: Any, path: str) -> dict[str, Any]:
    return {each["name"]: each["schema"] for each in document["paths"][path]["get"]["parameters"]}


async def test_what_it_says_of_requests_is_what_is_taken(address: str, document: Any) -> None:
    """A parameter or field that the document lacks is refused, and one that it has is taken."""
    parameters = named(document, "/jobs")
    assert set(parameters) == set(bodies.Jobs.model_fields)
    assert set(named(document, "/jobs/{id}")) == {"id", "wait"}
    submission = document["components"]["schemas"]["Submission"]
    assert set(submission["properties"]) == set(bodies.Submission.model_fields)
    assert submission["required"] == ["agent", "payload"]
    assert submission["properties"]["key"]["type"] == "string"  # and not "or null", which is the same as leaving it out
    limits = document["components"]["schemas"]["Limits"]["properties"]
    kinds = {"hops": "integer", "repeats": "integer", "tokens": ["integer", "null"], "cost": ["number", "null"]}
    assert {name: each["type"] for name, each in limits.items()} == kinds  # to say null is how a budget is lifted
    limit = parameters["limit"]
    async with caller(address) as http:
        for given in (limit["minimum"], limit["maximum"], limit["default"]):
            assert (await http.get("/jobs", params={"limit": given})).status_code == 200
        for given in (limit["minimum"] - 1, limit["maximum"] + 1):
            assert (await http.get("/jobs", params={"limit": given})).status_code == 400
        for state in parameters["state"]["enum"]:
            assert (await http.get("/jobs", params={"state": state})).status_code == 200


async def test_an_answer_that_is_not_as_it_says_is_seen(address: str) -> None:
    """Of the check itself, which the other tests rely on."""
    check = Documented(address, TOKEN).check
    request = httpx.Request("GET", f"{address}/jobs")
    await check(httpx.Response(200, json=[], request=request))
    wrong: list[tuple[int, Any]] = [(200, {}), (200, [{"id": "j1"}]), (404, {"error": 4, "fields": []})]
    for status, told in wrong:
        with pytest.raises(ValidationError):
            await check(httpx.Response(status, json=told, request=request))
