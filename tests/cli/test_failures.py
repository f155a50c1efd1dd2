"""With --json, a command that fails prints one JSON object, so that a program never has to read the text for people."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..workers.serving import Ask, Reply, serving
from .commandline import CommandLine

app = bp.App("failures")


@app.agent("fail", accepts=Ask, returns=Reply, retries=1)
def fail(ask: Ask) -> Reply:
    raise ValueError("no")


@app.agent("reject", accepts=Ask, returns=Reply)
def reject(ask: Ask, ctx: bp.SyncContext) -> Reply:
    ctx.reject("closed")


@app.agent("ask", accepts=Ask, returns=Reply)
def ask(ask: Ask, ctx: bp.SyncContext) -> Reply:
    return Reply(text=str(ctx.ask("how much?")))


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


@pytest.fixture
def worker(cli: CommandLine) -> Iterator[None]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, cli.url)):
        yield


@pytest.mark.usefixtures("worker")
@pytest.mark.parametrize(
    ("agent", "state", "reason", "says"),
    [
        ("fail", "failed", "attempts", {"error": "ValueError: no (tests/cli/test_failures.py:20 in fail)"}),
        ("reject", "rejected", "rejected", {"error": "closed"}),
        ("ask", "input_required", "question", {"error": None, "question": "how much?"}),
    ],
)
def test_a_job_without_a_result_is_printed_as_show_prints_it(
    cli: CommandLine, agent: str, state: str, reason: str, says: dict[str, object]
) -> None:
    ended = cli("submit", agent, '{"text": "tea"}', "--wait", "--timeout", "3", "--json")
    assert (ended.code, ended.json["state"], ended.json["reason"]) == (1, state, reason)
    assert ended.json["payload"] == {"text": "tea"}
    assert {name: ended.json[name] for name in says} == says
    assert ended.json == cli("show", ended.json["id"], "--json").json
    assert "batonpass: job " in ended.err  # for people, as without --json


def test_a_job_that_takes_too_long_is_printed_too(cli: CommandLine) -> None:
    late = cli("--json", "submit", "fail", '{"text": "tea"}', "--wait", "--timeout", "0.1")
    assert (late.code, late.json["state"], late.json["result"]) == (1, "submitted", None)


@pytest.mark.parametrize(
    ("command", "kind", "fields"),
    [
        (("show", "nope"), "NotFound", []),
        (("submit", "fail", '{"text": 3}'), "ContractViolation", ["text: 3 is not of type 'string'"]),
        (("submit", "nobody", "{}"), "UnknownAgent", []),
        (("events", "--after", "yesterday"), "BadSetup", []),
        (("schedule", "remove", "nope"), "NotFound", []),
        (("jobs", "--store", "sqlite:////nowhere/at/all.db"), "Unreachable", []),
    ],
)
def test_what_is_refused_is_printed_as_over_http(
    cli: CommandLine, command: tuple[str, ...], kind: str, fields: list[str]
) -> None:
    refused, told = cli(*command, "--json"), cli(*command)
    assert refused.json == {"error": told.complaint, "type": kind, "fields": fields}
    assert (refused.code, refused.err) == (2, told.err)


def test_a_key_conflict_names_the_first_job(cli: CommandLine) -> None:
    job = cli("submit", "fail", '{"text": "tea"}', "--key", "k", "--json").json["id"]
    assert cli("submit", "fail", '{"text": "milk"}', "--key", "k", "--json").json["job_id"] == job
