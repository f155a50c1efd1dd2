"""`batonpass serve`: a real process, asked over real HTTP."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.service.bodies import Submission

from ..cli.commandline import CommandLine
from ..workers.serving import DEADLINE, Ask, Reply, reached, serving
from .service import TOKEN, app, asked, caller, service, service_of

JSON = {"content-type": "application/json"}


@pytest.mark.each_store
@pytest.mark.capability("langgraph")
async def test_people_answer(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every question is listed as on the command line, answered once with a fitting answer, and its job goes on."""
    cli = CommandLine(store_url, capsys, monkeypatch)

    async def printed(*arguments: str) -> Any:
        return (await anyio.to_thread.run_sync(cli, *arguments)).json

    with service(store_url) as address:
        async with serving(app, store_url) as coordinator, caller(address) as http:
            given = {"agent": "plain", "payload": {"text": "rain"}, "key": "k"}
            ids = [(await http.post("/jobs", json=given)).json()["id"] for _ in range(2)]
            assert ids[0] == ids[1]
            await asked(http, 1)
            job = await coordinator.submit("graph", Ask())
            items = await asked(http, 2)
            assert items == await printed("inbox", "--json")
            assert items[1:] == await printed("inbox", "--json", "--job", job.id)
            assert [item["job"] for item in items] == [ids[0], job.id]
            [mine, other] = items
            for query, expected in [
                ("assignee=ann", [mine]),
                ("agent=graph", [other]),
                (f"job={job.id}", [other]),
                ("limit=1", [mine]),
                (f"limit=1&after={mine['id']}", [other]),
            ]:
                assert (await http.get(f"/inbox?{query}")).json() == expected, query

            refused = await http.post(f"/jobs/{mine['job']}/answer", json={"answer": {"ok": "so"}})
            assert (refused.status_code, refused.json()["fields"]) == (422, ["ok: 'so' is not of type 'boolean'"])
            refused = await http.post(f"/jobs/{job.id}/answer", json={"answer": {"yes": "so"}})
            assert (refused.status_code, refused.json()["fields"]) == (422, ["yes: 'so' is not of type 'boolean'"])
            meant = {"answer": {"ok": True}, "question": other["id"]}
            assert (await http.post(f"/jobs/{mine['job']}/answer", json=meant)).status_code == 409
            assert await asked(http, 2) == items

            answered = {"answer": {"ok": True}, "question": mine["id"], "by": "ann"}
            for _ in range(2):  # the second one is sent after a lost reply
                taken = await http.post(f"/jobs/{mine['job']}/answer", json=answered)
                assert (taken.status_code, taken.json()) == (200, {"id": mine["job"], "answered": {"ok": True}})
            late = await http.post(f"/jobs/{mine['job']}/answer", json={**answered, "answer": {"ok": False}})
            assert late.status_code == 409
            assert (await http.post(f"/jobs/{other['id']}/answer", json={"answer": {"yes": True}})).status_code == 200
            for ended, text in ((coordinator.job(ids[0]), "Verdict(ok=True)"), (job, "Yes(yes=True)")):
                await ended.result(timeout=DEADLINE)
                shown = (await http.get(f"/jobs/{ended.id}")).json()
                assert (shown["state"], shown["result"]) == ("completed", {"text": text})
                assert shown == await printed("show", ended.id, "--json")
            [event] = [each async for each in coordinator.events(job=ids[0], types=["job.answered"])]
            assert event.data["by"] == "ann"
            assert (await http.get(f"/jobs/{ids[0]}")).json()["payload"] == {"text": "rain"}
            assert (await http.get("/inbox")).json() == []


async def test_a_question_that_json_can_not_show_hides_no_other(sqlite_url: str) -> None:
    """Agents may ask anything: values that are nested too deeply for JSON are shown as deep as it goes."""
    with service(sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            for number in (240, 300):
                await coordinator.submit("deep", Ask(text="ask", number=number))
            await coordinator.submit("plain", Ask(text="rain"))
            items = await asked(http, 3)
            assert sorted(str(item["question"]).count("[") for item in items) == [0, 240, 248]
            assert sum("nested too deeply" in str(item["question"]) for item in items) == 1


@pytest.mark.parametrize("number", [10, 900])
async def test_a_result_that_json_can_not_show(
    number: int, sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = CommandLine(sqlite_url, capsys, monkeypatch)
    with service(sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit("deep", Ask(number=number))
            await reached(job, bp.JobState.COMPLETED)
            result = (await http.get(f"/jobs/{job.id}")).raise_for_status().json()["result"]
            assert str(result["value"]).count("[") == min(number, 248)
            shown = await anyio.to_thread.run_sync(cli, "show", job.id)
            assert shown.out.count("[") == min(number, 249)


async def test_a_body_may_be_as_large_as_agents_say(sqlite_url: str) -> None:
    """With room for what is around a payload, and for a client that escapes all letters but ASCII's."""
    large = bp.App("large")
    large.agent("usual", accepts=Ask, returns=bp.State)(lambda ask: None)
    with service_of(large, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=large) as coordinator, caller(address) as http:

            async def submitted(agent: str, text: str) -> int:
                body = json.dumps({"agent": agent, "payload": {"text": text}})
                return (await http.post("/jobs", content=body, headers=JSON)).status_code

            whole = 4 * 1024 * 1024 - 40
            assert await submitted("usual", "x" * whole) == 200
            assert await submitted("usual", "é" * (whole // 2)) == 200
            assert await submitted("usual", "x" * (whole + 100)) == 413
            assert await submitted("usual", "x" * 14_000_000) == 413
            large.agent("roomy", accepts=Ask, returns=bp.State, max_payload=16_000_000)(lambda ask: None)
            await coordinator.declare(large)
            assert await submitted("roomy", "x" * 15_000_000) == 200


async def test_what_is_refused(sqlite_url: str) -> None:
    with service(sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:
            job = await coordinator.submit("graph", Ask())
            path, unknown = f"/jobs/{job.id}", f"/jobs/{job.id[:-6]}aaaaaa"
            large = json.dumps({"answer": "x" * 13 * 1024 * 1024})
            wrong: list[tuple[str, str, dict[str, Any], int, str]] = [
                ("POST", f"{path}/answer", {"json": {"answer": 1}}, 409, "is submitted: it has no open question"),
                ("GET", unknown, {}, 404, "there is no job"),
                ("POST", f"{unknown}/answer", {"json": {"answer": 1}}, 404, "there is no job"),
                ("POST", f"{unknown}/cancel", {"json": {}}, 404, "there is no job"),
                ("GET", "/jobs/nonsense", {}, 404, "'nonsense' is not a job id"),
                ("GET", "/inbox/", {}, 404, "nothing at this path"),
                ("PUT", path, {}, 405, "does not take this method"),
                ("POST", f"{path}/cancel", {}, 415, "application/json"),
                ("POST", f"{path}/answer", {"data": {"answer": "1"}}, 415, "application/json"),
                ("POST", f"{path}/answer", {"content": "{", "headers": JSON}, 400, "not JSON"),
                ("POST", f"{path}/answer", {"content": '{"answer": NaN}', "headers": JSON}, 400, "not JSON"),
                ("POST", f"{path}/answer", {"content": '{"answer": [-1e400]}', "headers": JSON}, 400, "too large"),
                ("POST", f"{path}/answer", {"json": {"answer": 1, "question": "no"}}, 404, "neither a question's id"),
                ("POST", f"{path}/answer", {"content": large, "headers": JSON}, 413, "13,631,488 bytes"),
                ("POST", f"{path}/answer", {"json": {"value": 1}}, 400, "answer: Field required"),
                ("GET", "/inbox", {"params": {"asignee": "ann"}}, 400, "asignee: Extra inputs"),
                ("GET", "/inbox", {"params": {"limit": "0"}}, 400, "limit=0"),
                ("GET", "/workers", {"params": {"agent": "a"}}, 400, "agent: Extra inputs"),
                ("POST", "/jobs", {"json": {"agent": "nobody", "payload": {}}}, 422, "an agent 'nobody'"),
                ("POST", "/jobs", {"json": {"agent": "plain", "payload": {"number": "x"}}}, 422, "number: 'x'"),
            ]
            given = {"agent": "plain", "payload": {"text": "rain"}}
            for more, status, told in (
                ({"key": ""}, 422, "key=''"),
                ({"delay": -1}, 422, "delay=-1.0 seconds"),
                ({"delay": 1, "at": "2031-05-01T09:00+02:00"}, 422, "delay= or at="),
                ({"at": "2031-05-01T09:00"}, 400, "timezone"),
                ({"deadline": "30"}, 400, "deadline.time: it is not a time, such as 2030-01-31T12:00:00Z"),
                ({"deadline": "2020-05-01T09:00Z"}, 422, "deadline=2020-05-01 09:00:00+00:00 is over"),
                ({"deadline": [30]}, 400, "takes: deadline.seconds: Input should be a valid number"),
                ({"priority": "urgent"}, 400, "'high', 'normal' or 'low'"),
                ({"guard": {"hop": 1}}, 400, "guard.hop: Extra inputs"),
                ({"guard": {"hops": 0}}, 422, "Guard(hops=0)"),
            ):
                wrong.append(("POST", "/jobs", {"json": {**given, **more}}, status, told))
            for method, place, sent, status, told in wrong:
                reply = await http.request(method, place, **sent)
                problem = (reply.status_code, reply.json()["error"])
                assert problem[0] == status, (method, place, problem)
                assert told in problem[1]
                assert isinstance(reply.json()["fields"], list)
            assert (await job.info()).state == "submitted"
            await nobody_else(address, job.id)
            late = await coordinator.submit("graph", Ask(), delay=3600)
            hastened = [(await http.post(f"/jobs/{late.id}/run-now", json={})).json() for _ in range(2)]
            assert hastened == [{"id": late.id, "run_now": True}, {"id": late.id, "run_now": False}]
            assert (await late.info()).reason == "ready"
            canceled = [(await http.post(f"{path}/cancel", json={})).json() for _ in range(2)]
            assert canceled == [{"id": job.id, "canceled": True}, {"id": job.id, "canceled": False}]
            await reached(job, bp.JobState.CANCELED)


async def test_a_job_is_submitted_with_all_options(sqlite_url: str) -> None:
    assert Submission.model_fields.keys() == {"agent", "payload", *bp.SubmitOptions.__annotations__}
    with service(sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator, caller(address) as http:

            async def submitted(**options: Any) -> bp.JobInfo:
                given = {"agent": "plain", "payload": {"text": "rain"}, **options}
                reply = (await http.post("/jobs", json=given)).raise_for_status().json()
                return await coordinator.job(reply["id"]).info()

            info = await submitted(
                thread="t", delay=50, expires=100.5, priority="high", guard={"hops": 7}, key="k", key_ttl=60, at=None
            )
            assert (info.thread, info.priority, info.guard) == ("t", "high", bp.Guard(hops=7))
            other = await http.post("/jobs", json={"agent": "plain", "payload": {"text": "sun"}, "key": "k"})
            assert (other.status_code, other.json()["job_id"]) == (409, info.id)
            assert info.due_at
            assert info.expires_at
            assert info.expires_at > info.due_at
            other = await http.post("/jobs", json={"agent": "plain", "payload": {}, "thread": "t"})
            assert (other.status_code, other.json()["job_id"]) == (409, info.id)
            assert (await submitted(thread="t", on_busy="queue")).reason == "thread_busy"
            late = await submitted(at="2031-05-01T09:00+02:00", deadline="2031-06-01T09:00Z")
            assert late.due_at == datetime(2031, 5, 1, 7, tzinfo=UTC)
            assert late.deadline == datetime(2031, 6, 1, 9, tzinfo=UTC)
            assert (await submitted(deadline=5)).deadline


async def test_a_jobs_trace_is_the_callers(sqlite_url: str) -> None:
    traced = bp.App("traced")

    @traced.agent("plain", accepts=Ask, returns=Reply)
    async def plain(ask: Ask, ctx: bp.Context) -> Reply:
        return Reply(text=str(dict(ctx.trace)))

    parent = {"traceparent": "00-a"}
    async with serving(traced, sqlite_url) as coordinator:
        with service(sqlite_url) as address:
            async with caller(address) as http:
                for more, headers, trace in (
                    ({}, [("Baggage", "user=ann"), ("x-other", "1")], {**parent, "baggage": "user=ann"}),
                    ({}, [("tracestate", "a=1"), ("tracestate", "b=2")], {**parent, "tracestate": "a=1,b=2"}),
                    ({}, [("baggage", "x" * 8192)], parent),  # nobody is refused for what an HTTP library sends
                    ({"trace": {"traceparent": "00-b"}}, [], {"traceparent": "00-b"}),
                ):
                    given = {"agent": "plain", "payload": {"text": "rain"}, **more}
                    sent = await http.post("/jobs", json=given, headers=[("Traceparent", "00-a"), *headers])
                    job = sent.raise_for_status().json()["id"]
                    result = await coordinator.job(job, returns=Reply).result(timeout=DEADLINE)
                    assert result.text == str(trace)


async def nobody_else(address: str, job: str) -> None:
    """Without the token nothing is shown or done, and web pages of other origins are not allowed either."""
    for shown in ("wrong", TOKEN[:-1], TOKEN + "x", "\u00e9"):
        async with caller(address, shown) as http:
            replies = [await http.get(place) for place in ("/inbox", f"/jobs/{job}", "/nothing")]
            replies.append(await http.post(f"/jobs/{job}/cancel", json={}))
        assert {reply.status_code for reply in replies} == {401}, shown
        assert {reply.headers["www-authenticate"] for reply in replies} == {"Bearer"}
        assert len({reply.text for reply in replies}) == 1
    async with caller(address, "") as http:
        assert (await http.get("/inbox")).status_code == 401
        assert (await http.get("/inbox", headers={"authorization": f"Basic {TOKEN}"})).status_code == 401
        preflight = await http.options("/inbox", headers={"origin": "https://x.test"})
        assert not [name for name in preflight.headers if name.startswith("access-control")]


def test_replies_are_json_that_everybody_reads() -> None:
    from batonpass.service.refusing import answer

    assert bytes(answer([float("nan"), -float("inf"), b"\0"]).body) == b'["NaN","-Infinity","AA=="]'
