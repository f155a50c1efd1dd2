"""The log says who did what, in the form of a worker's log, and never what was sent or with which token."""

from __future__ import annotations

import json
import re
import signal
from typing import Any

import httpx

import batonpass as bp

from ..workers.serving import DEADLINE, Ask
from .service import READ, TOKEN, app, process, started

SECRET = "hunter2-hunter2-hunter2"


def logged(url: str, *arguments: str) -> tuple[str, list[tuple[Any, ...]]]:
    """All that is logged of the same requests, and the requests as they should be told."""
    with bp.connect(url, app=app) as coordinator:
        coordinator.declare(app)
        job = coordinator.submit("plain", Ask()).id
        coordinator.save(thread=f"t {SECRET[:3]}", agent="a", state={})
    with process(url, "--json", *arguments, BATONPASS_TOKEN=TOKEN, BATONPASS_READ_TOKEN=READ) as running:
        address = started(running)["url"]
        full, read, wrong = ({"authorization": f"Bearer {token}"} for token in (TOKEN, READ, SECRET))
        given = {"agent": "plain", "payload": {"text": SECRET}}
        with httpx.Client(base_url=address, timeout=DEADLINE) as http:
            statuses = [
                http.get("/jobs", headers=full),
                http.post("/jobs", headers=full, json=given),
                http.post(f"/jobs/{job}/cancel", headers=read, json={}),
                http.post(f"/jobs/{job}/cancel", headers=full, json={}),
                http.delete("/timeline", headers=full, params={"thread": f"t {SECRET[:3]}"}),
                http.delete(f"/jobs/{job}", headers=full, params={"token": TOKEN}),
                http.get("/jobs", headers=wrong),
                http.get("/jobs"),
                http.post("/jobs%0aPOST x", headers=wrong, params={"token": SECRET}, json=given),
                http.post("/ui/sign-in", data={"token": SECRET}),
                http.post("/ui/sign-in", data={"token": READ}),
                http.get("/ui/"),
                http.post(f"/ui/jobs/{job}/cancel", data={"proof": "x"}),
                http.get("/health"),
            ]
        running.send_signal(signal.SIGTERM)
        told = running.communicate(timeout=DEADLINE)[1]
    assert not [secret for secret in (TOKEN, READ, SECRET) if secret in told]
    cancel = f"/jobs/{job}/cancel"
    at = ["/jobs", "/jobs", cancel, cancel, "/timeline?thread=t+hun", f"/jobs/{job}", "/jobs", "/jobs"]
    at += ["/jobs%0APOST%20x", "/ui/sign-in", "/ui/sign-in", "/ui/", f"/ui{cancel}", "/health"]
    by = ["full", "full", "read", "full", "full", "full", *["none"] * 4, "read", "read", "read", "none"]
    assert [reply.status_code for reply in statuses] == [
        *(200, 200, 403, 200, 200, 400, 401, 401, 401, 401, 303, 200, 403, 200)
    ]
    of = zip(statuses, at, by, strict=True)
    return told, [(reply.request.method, path, reply.status_code, token) for reply, path, token in of]


def test_what_changes_something_and_wrong_tokens_are_logged(sqlite_url: str) -> None:
    told, all_of_them = logged(sqlite_url)
    lines = [json.loads(line) for line in told.splitlines()]
    wanted = [each for number, each in enumerate(all_of_them) if each[0] != "GET" or number == 6]
    assert [(each["method"], each["path"], each["status"], each["token"]) for each in lines] == wanted
    assert {(each["level"], each["client"]) for each in lines} == {("info", "127.0.0.1")}
    assert lines[0]["message"] == "POST /jobs 200 token=full client=127.0.0.1"
    assert lines[0].keys() == {"time", "level", "message", "method", "path", "status", "token", "client"}


def test_all_requests_are_logged_if_wanted(sqlite_url: str) -> None:
    told, all_of_them = logged(sqlite_url, "--access-log")
    lines = [json.loads(line) for line in told.splitlines()]
    assert [(each["method"], each["path"], each["status"], each["token"]) for each in lines] == all_of_them


def test_lines_are_text_without_json(sqlite_url: str) -> None:
    with process(f"{sqlite_url}?namespace=desk", BATONPASS_TOKEN=TOKEN) as running:
        assert running.stdout is not None
        address = running.stdout.readline().split()[-1]
        httpx.post(f"{address}/jobs", headers={"authorization": f"Bearer {TOKEN}"}, json={})
        running.send_signal(signal.SIGTERM)
        told = running.communicate(timeout=DEADLINE)[1]
    assert re.fullmatch(r"\S+ \S+ INFO    \[desk\] POST /jobs 400 token=full client=127\.0\.0\.1\n", told), told
