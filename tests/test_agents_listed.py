"""The agents that a store knows, in Python and on the command line. (Over HTTP: tests/service/test_lists.py.)"""

from __future__ import annotations

from typing import Annotated

import pytest
from pydantic import Field, WithJsonSchema, computed_field

import batonpass as bp
from batonpass.cli.jobs import values_of

from .cli.commandline import CommandLine


class Old(bp.Contract, name="listed.order"):
    text: str


class Order(bp.Contract, name="listed.order", version=2):
    text: str
    amount: int = 1


older, app = bp.App("shop"), bp.App("shop")
older.agent("bill", accepts=Old, returns=Old)(lambda order: order)
app.agent(
    "bill",
    accepts=Order,
    returns=Order,
    hands_to={"archive": bp.State},
    rate=bp.Rate(5, per=60),
    limit_by="text",
    max_waiting=9,
)(lambda given: given)
app.agent("forward", accepts=Order, hands_to={"bill": Order})(lambda given: given)
app.agent("archive", accepts=bp.State, returns=bp.State, concurrency=2, max_payload=100)(lambda given: given)
app.upcast(Order, from_version=1)(dict)


@pytest.fixture
def url(store_url: str) -> str:
    for release in (older, app):
        with bp.connect(store_url, app=release) as coordinator:
            assert [agent.name for agent in coordinator.agents()] == ([] if release is older else ["bill"])
            coordinator.declare(release)
    return store_url


async def test_in_python(url: str) -> None:
    async with bp.connect(url) as coordinator:
        archive, bill, forward = await coordinator.agents()
    with bp.connect(url) as sync:
        assert sync.agents() == [archive, bill, forward]
    assert (archive.name, str(archive.accepts), archive.reads) == ("archive", str(bp.State.__contract_ref__), ())
    assert (archive.concurrency, archive.rate, archive.max_waiting, archive.max_payload) == (2, None, None, 100)
    assert (bill.app, bill.kind, str(bill.accepts)) == ("shop", "function", "listed.order@2")
    assert [str(ref) for ref in bill.reads] == ["listed.order@1"]
    assert bill.schema["properties"].keys() == {"text", "amount"}
    assert (str(bill.returns), (bill.result_schema or {})["properties"]) == (
        "listed.order@2",
        bill.schema["properties"],
    )
    assert {to: str(ref) for to, ref in bill.hands_to.items()} == {"archive": str(bp.State.__contract_ref__)}
    assert (forward.returns, forward.result_schema) == (None, None)
    assert (bill.concurrency, bill.rate, bill.limit_by, bill.max_waiting) == (None, bp.Rate(5, per=60.0), "text", 9)


class Written(bp.Contract, name="listed.written"):
    made_by: str = Field(alias="madeBy")
    parts: list[str] = Field(default=[], serialization_alias="pieces")

    @computed_field
    def size(self) -> int:
        return len(self.parts)


class ReadOnly(bp.Contract, name="listed.read_only", arbitrary_types_allowed=True):
    """Of which pydantic can't say how it is written."""

    given: Annotated[CommandLine, WithJsonSchema({"type": "string"}, mode="validation")]


def test_the_schema_of_results_describes_results(store_url: str) -> None:
    """By which programs in other languages read them: a result is shown with the fields' names, also the computed."""
    app = bp.App("written")
    app.agent("write", accepts=Written, returns=Written)(lambda given: given)
    app.agent("read", accepts=Written, returns=ReadOnly)(lambda given: given)
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        read, write = coordinator.agents()
    assert write.schema["required"] == ["madeBy"]
    assert write.result_schema is not None
    assert (values_of(Written(madeBy="me")) or {}).keys() == write.result_schema["properties"].keys()
    assert write.result_schema["required"] == ["made_by", "size"]
    assert read.result_schema is not None
    assert read.result_schema["properties"]["given"]["type"] == "string"


def test_on_the_command_line(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    cli = CommandLine(url, capsys, monkeypatch)
    heading, archive, bill, forward = cli("agents").out.splitlines()
    assert heading.split("  ")[0] == "AGENT"
    assert archive.split()[0] == "archive"
    assert bill.split() == ["bill", "listed.order@2", "listed.order@1", "listed.order@2", "shop", "function", "-"]
    assert forward.split() == ["forward", "listed.order@2", "-", "-", "shop", "function", "-"]
    with bp.connect(url) as coordinator:
        assert cli("agents", "--json").json == [agent.as_dict() for agent in coordinator.agents()]
