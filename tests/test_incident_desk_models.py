"""The incident desk's three stages in their frameworks: with the offline models, and with a real HTTP endpoint."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import batonpass as bp
from batonpass.examples.incident_desk import figures
from batonpass.examples.incident_desk.contracts import Figure, Findings, Moment, PostMortem, Report
from batonpass.examples.incident_desk.models import endpoint, prose

# Warnings of the frameworks: CrewAI uses what it deprecates, AutoGen's client fills a field against openai's type.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
]
LOG = (
    "2026-11-21T05:01:00Z shop orders[7]: INFO started\n"
    + "".join(f"2026-11-21T05:02:{n:02}Z shop orders[7]: ERROR order {n} lost: disk full\n" for n in range(9))
    + "2026-11-21T05:04:00Z shop orders[7]: ERROR node 10.0.0.7 is gone\n"
)
Request = dict[str, Any]


def answer(request: Request) -> dict[str, Any]:
    """What the endpoint answers: the offline rules' answers, in the messages of the wire."""
    said = [(str(m.get("name", m["role"])), _text(m)) for m in request["messages"]]
    wanted = json.dumps(request.get("response_format", ""))
    if "tools" in request:
        names = {
            call["id"]: call["function"]["name"] for m in request["messages"] for call in m.get("tool_calls") or []
        }
        results = [(names[m["tool_call_id"]], json.loads(_text(m))) for m in request["messages"] if m["role"] == "tool"]
        calls = prose.next_calls([tool["function"]["name"] for tool in request["tools"]], results)
        if not calls:
            return {"content": prose.summary(results)}
        return {
            "content": None,
            "tool_calls": [
                {
                    "id": f"{len(said)}-{name}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(a)},
                }
                for name, a in calls
            ],
        }
    if "approved" in wanted:
        return {"content": prose.report(said)}
    if "markdown" in wanted:
        return {"content": prose.post_mortem("\n".join(text for _, text in said))}
    if "You review" in said[0][1]:
        return {"content": prose.verdict(said)}
    return {"content": prose.facts("\n".join(text for _, text in said))}


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


class Answers(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint."""

    requests: list[tuple[str, str, Request]]

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append((self.path, self.headers["Authorization"], request))
        message = {"role": "assistant", **answer(request)}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        body = {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(params=["offline", "endpoint"])
def requests(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any] | None]:
    """What reached the endpoint; None with the offline models."""
    for name in endpoint.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    if request.param == "offline":
        yield None
        return
    handler = type("Recording", (Answers,), {"requests": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "a-test-key")
        monkeypatch.setenv("BATONPASS_DEMO_MODEL", "scripted-1")
        yield handler.requests  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.fixture
def evidence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file in which the stages note what they began."""
    monkeypatch.setenv("BATONPASS_DEMO_EVIDENCE", str(tmp_path / "evidence"))
    return tmp_path / "evidence"


def units(evidence: Path) -> list[str]:
    return [line.partition(" ")[2] for line in evidence.read_text().splitlines()]


def check(requests: list[Any] | None, count: int) -> None:
    """If there is an endpoint, so many requests reached it, with the key and the model of the environment."""
    if requests is not None:
        assert [path for path, _, _ in requests] == ["/v1/chat/completions"] * count
        assert {key for _, key, _ in requests} == {"Bearer a-test-key"}
        assert {request["model"] for _, _, request in requests} == {"scripted-1"}


def findings() -> Findings:
    numbers = [Figure(name=f"number {n}", value=str(n * 7), line=n) for n in range(12)]
    moments = [Moment(time="2026-11-21 05:02:00", what="first of 9: order <n> lost", line=2)]
    return Findings(title="Orders lost", summary="It broke.", severity="high", figures=numbers, timeline=moments)


async def test_triage_finds_the_figures_of_the_log(tmp_path: Path, evidence: Path, requests: list[Any] | None) -> None:
    from batonpass.examples.incident_desk.triage import build

    log = tmp_path / "shop.log"
    log.write_text(LOG)
    state = await build().compile().ainvoke({"title": "Orders lost", "log": str(log)})
    value = {figure["name"]: figure["value"] for figure in state["figures"]}
    assert value["error lines"] == "10"
    assert value["fullest minute of error lines"] == "2026-11-21 05:02"
    assert value['count of "order <n> lost: disk full"'] == "9"
    assert [moment["line"] for moment in state["timeline"]] == [2, 2, 11]
    assert "10 of the log's 11 lines are errors." in state["summary"]
    assert sorted(units(evidence)) == sorted(
        [f"triage: agent {n}" for n in (1, 2, 3, 4)]
        + [f"triage: tools {n}" for n in (1, 2, 3)]
        + [f"triage: tool {tool}" for tool in ("count_levels", "find_bursts", "top_signatures")]
        + ["triage: tool first_occurrences", "triage: tool excerpt", "triage: conclude"]
    )
    check(requests, 4)


def test_the_crew_writes_what_the_findings_say(evidence: Path, requests: list[Any] | None) -> None:
    from batonpass.examples.incident_desk.write import build, inputs

    output: Any = build().kickoff(inputs(findings()))
    assert isinstance(output.pydantic, PostMortem)
    assert output.pydantic.figures == findings().figures
    assert output.pydantic.timeline == findings().timeline
    assert "# Post-mortem: Orders lost" in output.pydantic.markdown
    assert units(evidence) == ["write: facts", "write: post-mortem"]
    check(requests, 2)


def test_braces_in_a_log_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    from batonpass.examples.incident_desk.write import build, inputs

    for name in endpoint.VARIABLES:
        monkeypatch.delenv(name, raising=False)
    odd = Figure(name='count of "{findings} {} {a:b} %s"', value="3", line=None)
    output: Any = build().kickoff(inputs(findings().model_copy(update={"title": "{findings}", "figures": [odd]})))
    assert (output.pydantic.title, output.pydantic.figures) == ("{findings}", [odd])


async def test_the_review_files_a_report_with_every_figure(evidence: Path, requests: list[Any] | None) -> None:
    from autogen_agentchat.messages import TextMessage

    from batonpass.examples.incident_desk.review import build

    found = findings()
    draft = prose.post_mortem(f"Incident: Lost\nSeverity: high\nSummary: x\n{figures.write_figures(found.figures)}")
    result = await build().run(task=TextMessage(content=draft, source="user"))
    report = result.messages[-1].content  # type: ignore[union-attr]
    assert isinstance(report, Report)
    assert report.approved
    assert report.figures == found.figures
    assert units(evidence) == ["review: reviewer 1", "review: editor 1", "review: reviewer 2", "review: editor 2"]
    check(requests, 4)


@pytest.mark.parametrize(
    ("module", "function", "package"),
    [
        ("langchain", "chat_model", "langchain_openai"),
        ("autogen", "review_client", "autogen_ext.models.openai"),
    ],
)
def test_an_endpoint_without_its_package_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, module: str, function: str, package: str
) -> None:
    from importlib import import_module
    from sys import modules

    make = getattr(import_module(f"batonpass.examples.incident_desk.models.{module}"), function)
    monkeypatch.setitem(modules, package, None)
    for name in endpoint.VARIABLES:
        monkeypatch.setenv(name, "http://127.0.0.1:1/v1")
    with pytest.raises(bp.MissingExtra, match=r"pip install 'batonpass\[openai\]'"):
        make()


def test_without_a_models_name_the_offline_models_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.delenv("BATONPASS_DEMO_MODEL", raising=False)
    assert endpoint.endpoint() is None


def test_an_endpoint_does_not_show_its_key() -> None:
    assert "secret" not in repr(endpoint.Endpoint("http://127.0.0.1:1/v1", "secret", "m"))
