"""The service in a process of its own, for the tests that ask it over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypedDict

import anyio
import httpx
from pydantic import BaseModel

import batonpass as bp

from ..harness.waiting import wait_until
from ..workers.processes import parent, start
from ..workers.serving import DEADLINE, Ask, Reply
from .documented import Documented

TOKEN = "a-token-of-the-tests"
READ = "one-that-only-reads"


class Verdict(bp.Contract, name="serve.verdict"):
    ok: bool


class Yes(BaseModel):
    yes: bool


class Said(TypedDict, total=False):
    text: str
    number: int


app = bp.App("serve")


@app.agent("plain", accepts=Ask, returns=Reply)
async def plain(ask: Ask, ctx: bp.Context) -> Reply:
    verdict = await ctx.ask({"question": "sure?", "for": ask.text}, answer=Verdict, assignee="ann")
    return Reply(text=repr(verdict))


@app.agent("deep", accepts=Ask, returns=bp.State)
async def deep(ask: Ask, ctx: bp.Context) -> bp.State:
    value: Any = []
    for _ in range(ask.number - 1):
        value = [value]
    if ask.text == "ask":
        await ctx.ask(value)
    return bp.State(value=value)


@app.langgraph("graph", accepts=Ask, returns=Reply)
def graph() -> Any:
    from langgraph.graph import START, StateGraph
    from langgraph.types import interrupt

    made = StateGraph[Any, None, Any, Any](Said)
    made.add_node("person", lambda state: {"text": repr(interrupt("go?", response_schema=Yes))})
    made.add_edge(START, "person")
    return made


@contextmanager
def process(url: str, *arguments: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    """The service on a port of its own; killed at the end if it is still there."""
    command = [sys.executable, "-m", "batonpass", "serve", "--port", "0", "--store", url, *arguments]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env={**_outside(), **environment}, **pipes) as running:
        try:
            yield running
        finally:
            running.kill()


def _outside() -> dict[str, str]:
    return {
        name: value for name, value in os.environ.items() if name not in ("BATONPASS_TOKEN", "BATONPASS_READ_TOKEN")
    }


def started(running: subprocess.Popen[str]) -> Any:
    """What a service with --json says once it can be asked."""
    assert running.stdout is not None
    return json.loads(running.stdout.readline())


def service(url: str, *arguments: str, root: str = "") -> AbstractContextManager[str]:
    """The address of a service on a store that knows the agents."""
    return service_of(app, url, *arguments, root=root)


@contextmanager
def service_of(agents: bp.App, url: str, *arguments: str, root: str = "") -> Iterator[str]:
    """The same for other agents."""
    with bp.connect(url, app=agents) as coordinator:
        coordinator.declare(agents)
    with forked(url, *arguments, "--root-path", root) as told:
        assert told["token"] is None  # a token that was given is not shown
        assert told["page"] == f"{told['url']}{root}/ui/"
        yield told["url"]


@contextmanager
def forked(url: str, *arguments: str) -> Iterator[dict[str, Any]]:
    """What `process` says as it starts, where the start itself is not what is tested: forked off a warm parent."""
    with TemporaryDirectory() as folder:
        out = Path(folder, "out")
        zygote = parent("batonpass.service.running")
        options, tokens = ["--json", *arguments], {"BATONPASS_TOKEN": TOKEN, "BATONPASS_READ_TOKEN": ""}
        pid = start(zygote, "serve", "--port", "0", "--store", url, *options, out=out, **tokens)

        def told() -> str:
            said = out.read_text() if out.exists() else ""
            assert pid not in zygote.ended, said
            return "".join(line for line in said.splitlines(keepends=True) if line.startswith('{"url"'))

        try:
            wait_until(lambda: told().endswith("\n"), timeout=DEADLINE, what="the service")
            yield json.loads(told())
        finally:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            wait_until(lambda: pid in zygote.ended, timeout=DEADLINE, what=f"the end of {pid}")


def caller(address: str, token: str = TOKEN) -> httpx.AsyncClient:
    """A client that fails if an answer is not what the service's document says."""
    headers = {b"authorization": b"Bearer " + token.encode("latin-1")} if token else {}
    hooks = {"response": [Documented(address, TOKEN).check]}
    return httpx.AsyncClient(base_url=address, headers=headers, timeout=DEADLINE, event_hooks=hooks)


async def asked(http: httpx.AsyncClient, number: int) -> list[dict[str, Any]]:
    """Wait until the inbox holds so many questions."""
    with anyio.fail_after(DEADLINE):
        while len(found := (await http.get("/inbox")).raise_for_status().json()) < number:
            await anyio.sleep(0.02)
    return list(found)
