"""The real `langgraph dev` with our checkpointer: what it keeps is there after kill -9, and in the other tools.

Its packages and AutoGen's can't be installed together, so it lives in an environment of its own: `langgraph` on PATH,
or what LANGGRAPH_CLI names.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import pytest
from langgraph_sdk import get_sync_client

import batonpass as bp
from tests.cli.commandline import CommandLine
from tests.harness.ports import take_port
from tests.harness.waiting import wait_until

_PROGRAM = os.environ.get("LANGGRAPH_CLI") or shutil.which("langgraph")

pytestmark = [
    pytest.mark.capability("langgraph-dev"),
    pytest.mark.skipif(_PROGRAM is None, reason="langgraph-cli is not installed"),
    pytest.mark.timeout(180),
]

_GRAPH = """
from typing import Annotated, TypedDict

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: int


def answer(state: Chat) -> Chat:
    turn = state.get("turns", 0) + 1
    return {"messages": [AIMessage(f"answer {turn}")], "turns": turn}


builder = StateGraph(Chat)
builder.add_node("answer", answer)
builder.add_edge(START, "answer")
graph = builder.compile()
"""
_CONFIG = """
{
  "dependencies": ["."],
  "graphs": {"chat": "./graph.py:graph"},
  "checkpointer": {"path": "batonpass.adapters.langgraph.server.checkpointer"},
  "store": {"path": "batonpass.adapters.langgraph.server.store"}
}
"""


class DevServer:
    """`langgraph dev` in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._log = folder / "server.log"
        (folder / "graph.py").write_text(_GRAPH)
        (folder / "langgraph.json").write_text(_CONFIG)

    def start(self) -> None:
        """Start it on a free port, and wait until it answers."""
        assert _PROGRAM is not None
        port = str(take_port())
        environment = {name: value for name, value in os.environ.items() if name != "BATONPASS_URL"}
        environment["PYTHONPATH"] = str(Path(bp.__file__).parents[1])
        with open(self._log, "w") as log:
            self._process = subprocess.Popen(
                [_PROGRAM, "dev", "--no-browser", "--no-reload", "--port", port],
                cwd=self.folder,
                env={**environment, "LANGSMITH_TRACING": "false"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._url = f"http://127.0.0.1:{port}"
        self.client: Any = get_sync_client(url=self._url)
        wait_until(self._answers, timeout=60, what="langgraph dev")

    def kill(self) -> None:
        """kill -9."""
        self.client.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        assert self._process.wait() == -signal.SIGKILL

    def close(self) -> None:
        """End it if it still runs."""
        if self._process.poll() is None:
            self.kill()

    def log(self) -> str:
        """What it has printed."""
        return self._log.read_text()

    def talk(self, thread: str, text: str) -> Any:
        """Run the graph with a message, to its end."""
        return self.client.runs.wait(thread, "chat", input={"messages": [{"role": "user", "content": text}]})

    def flushed(self, thread: str) -> None:
        """Wait until the server has saved its own list of threads with this one, which it does every 10 s."""
        kept, name = self.folder / ".langgraph_api" / ".langgraph_ops.pckl", UUID(thread).int.to_bytes(16, "little")
        wait_until(lambda: kept.exists() and name in kept.read_bytes(), timeout=40, what="its own list of threads")

    def _answers(self) -> bool:
        assert self._process.poll() is None, self.log()
        try:
            return httpx.get(f"{self._url}/ok").is_success
        except httpx.TransportError:
            return False


@pytest.fixture
def server(tmp_path: Path) -> Iterator[DevServer]:
    made = DevServer(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.close()


def test_threads_outlive_the_server(
    server: DevServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "Using custom checkpointer: BatonpassSaver" in server.log()
    assert "missing" not in server.log()  # no method is
    assert "warning" not in server.log()
    thread = str(server.client.threads.create()["thread_id"])
    for text in ("hello", "again"):
        server.talk(thread, text)
    server.client.store.put_item(["users", "ann"], "likes", {"of": "cheese"})
    before = server.client.threads.get_history(thread, limit=50)
    assert [state["values"].get("turns") for state in before] == [2, 1, 1, 1, None, None]
    server.flushed(thread)
    server.kill()
    server.start()
    assert server.client.threads.get_history(thread, limit=50) == before
    [liked] = server.client.store.search_items(["users"], filter={"of": {"$ne": "wine"}})["items"]
    assert (liked["key"], liked["value"]) == ("likes", {"of": "cheese"})
    assert server.talk(thread, "more")["turns"] == 3

    run = CommandLine(f"sqlite:///{tmp_path / 'batonpass.db'}", capsys, monkeypatch)
    line = run("timeline", thread, "--json").json
    assert [each["step"] for each in line] == ["answer", "input", "input"] * 3
    assert "turns" in run("diff", line[3]["id"], line[0]["id"]).out
    assert run("fork", line[3]["id"], "--set", "turns=40").code == 0
    state = server.client.threads.get_state(thread)
    assert (state["values"]["turns"], len(state["values"]["messages"])) == (40, 4)
    assert server.talk(thread, "on")["turns"] == 41

    copy = str(server.client.threads.copy(thread)["thread_id"])
    values = server.client.threads.get_state(thread)["values"]
    assert server.client.threads.get_state(copy)["values"] == values
    assert len(run("timeline", copy, "--json").json) == len(run("timeline", thread, "--json").json)
    server.client.threads.delete(thread)
    assert run("timeline", thread, "--json").code == 2
    assert server.talk(copy, "still")["turns"] == 42
