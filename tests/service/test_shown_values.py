"""Questions and states that hold objects are the same JSON wherever they are shown, though nobody has the classes."""

from __future__ import annotations

import pytest
from pydantic import computed_field

import batonpass as bp
from batonpass.cli.jobs import values_of
from batonpass.contracts.codec import pack

from ..cli.commandline import CommandLine
from ..workers.serving import Ask, Reply, reached, serving
from .service import caller, service_of

ORDER = bp.UnknownValue("shown.order@1", pack({"id": 7}))
PRICE = bp.UnknownValue("shown.price@1", pack('{"amount":"1.50","currency":"usd"}'))
QUESTION = {"order": ORDER, "prices": [PRICE, "{free"]}
SHOWN = {
    "order": {"type": "shown.order@1", "value": {"id": 7}},
    "prices": [{"type": "shown.price@1", "value": {"amount": "1.50", "currency": "usd"}}, "{free"],
}

app = bp.App("shown")


@app.agent("keeper", accepts=bp.State, returns=bp.State)
def keeper(state: bp.State) -> bp.State:
    """Completes with what it was given."""
    return state


@app.agent("clerk", accepts=Ask, returns=Reply)
async def clerk(ask: Ask, ctx: bp.Context) -> Reply:
    return Reply(text=await ctx.ask(ORDER if ask.text == "order" else QUESTION))


@pytest.mark.parametrize(("text", "shown"), [("order", SHOWN["order"]), ("all", SHOWN)])
async def test_objects_are_shown_alike_everywhere(
    text: str, shown: object, sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit(clerk, Ask(text=text))
            info = await reached(job, bp.JobState.INPUT_REQUIRED)
            saved = await coordinator.save(thread="t", agent="a", state={"order": ORDER})
            [asked] = await coordinator.inbox()
            told = [
                asked.as_dict(),
                info.as_dict(),
                *(await http.get("/inbox")).json(),
                (await http.get(f"/jobs/{job.id}")).json(),
                *(await http.get("/jobs")).json(),
            ]
    told += [*cli("inbox", "--json").json, cli("show", job.id, "--json").json, *cli("jobs", "--json").json]
    assert [each["question"] for each in told] == [shown] * 8
    assert "'type_name'" not in cli("show", job.id).out
    assert cli("show", saved.id, "--json").json["state"] == {"order": SHOWN["order"]}


class Split(bp.Contract, name="shown.split"):
    """Has a field that some values have no answer for."""

    total: int
    people: int

    @computed_field
    def each(self) -> int:
        """What each pays."""
        if self.total % self.people:
            raise ValueError("it does not come out even")
        return self.total // self.people


def test_what_a_computed_field_refuses_is_shown_without_it() -> None:
    assert values_of(Split(total=4, people=2)) == {"total": 4, "people": 2, "each": 2}
    assert values_of(Split(total=4, people=3)) == {"total": 4, "people": 3}


VALUES = {"order": ORDER, "prices": [PRICE, "{free"], "named": {1: "a", "1": "b", b"k": 2}}


async def test_payloads_and_results_are_shown_like_states(
    sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A contract or another object in a `State` is no bytes that only Python reads, and no key hides another one."""
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit(keeper, bp.State(**VALUES))
            await job.result(timeout=20)
            saved = await coordinator.save(thread="t", agent="a", state=VALUES)
            state = (await http.get(f"/checkpoints/{saved.id}")).json()["state"]
            told = [(await http.get(f"/jobs/{job.id}")).json(), cli("show", job.id, "--json").json]
    assert {"order": state["order"], "prices": state["prices"]} == SHOWN
    assert sorted(state["named"].values(), key=str) == [2, "a", "b"]
    for each in told:
        assert each["payload"] == each["result"] == state
