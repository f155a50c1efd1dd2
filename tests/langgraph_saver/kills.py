"""A graph whose process is killed at one point, and what had been acknowledged by then.

The evidence is a log that the nodes and the saver's caller write, not the store.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from langgraph.graph import START, StateGraph

from batonpass.adapters.langgraph import BatonpassSaver

from .graphs import Trace

NODES = ["first", "quick", "slow", "last"]
CONFIG: Any = {"configurable": {"thread_id": "killed"}}


def warm() -> ForkServerContext:
    """Where children are forked from a process that has imported the graph's modules, and has no threads."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    return context


@dataclass(frozen=True)
class Log:
    """Lines that are on the disk when `note` returns: "did <node>", and for what was acknowledged "put <checkpoint>",
    "kept <node>" in a checkpoint, "wrote <node> <checkpoint>" on one."""

    path: Path

    def note(self, *lines: str) -> None:
        """Add lines."""
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(file, "".join(f"{line}\n" for line in lines).encode())
        os.fsync(file)
        os.close(file)

    def kept(self) -> set[str]:
        """The nodes whose writes count. With durability "async", a node may write before the checkpoint that it runs on
        is stored, and if that is lost, so are the writes."""
        wrote = [line.split() for line in self.of("wrote")]
        return {*self.of("kept"), *(name for name, on in wrote if on in self.of("put"))}

    def of(self, what: str) -> list[str]:
        """The nodes of which that is said."""
        lines = self.path.read_text().splitlines() if self.path.exists() else []
        return [line.removeprefix(f"{what} ") for line in lines if line.startswith(f"{what} ")]


def graph(saver: Any, log: Log, kill: str = "") -> Any:
    """first, then quick and slow at once, then last. The process dies in the node that `kill` names."""

    def node(name: str) -> Any:
        def run(_: Trace) -> Trace:
            log.note(f"did {name}")
            if kill == f"in:{name}":
                os.kill(os.getpid(), signal.SIGKILL)
            return {"trace": [name]}

        return run

    made: Any = StateGraph(Trace)
    for name in NODES:
        made.add_node(name, node(name))
    made.add_edge(START, "first")
    made.add_edge("first", "quick")
    made.add_edge("first", "slow")
    made.add_edge(["quick", "slow"], "last")
    return made.compile(checkpointer=saver)


class Mortal(BatonpassSaver):
    """A saver whose process dies before or after its nth call that writes."""

    log: Log
    kill = ""
    _calls = 0
    _lock = threading.Lock()

    def _begin(self) -> int:
        with self._lock:
            Mortal._calls += 1
            number = Mortal._calls
        if self.kill == f"before:{number}":
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def _end(self, number: int, *lines: str) -> None:
        self.log.note(f"call {number}", *lines)
        if self.kill == f"after:{number}":
            os.kill(os.getpid(), signal.SIGKILL)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        number = self._begin()
        answer = super().put(config, checkpoint, metadata, new_versions)
        self._end(number, *_put(checkpoint))
        return answer

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        number = self._begin()
        answer = await super().aput(config, checkpoint, metadata, new_versions)
        self._end(number, *_put(checkpoint))
        return answer

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        number = self._begin()
        super().put_writes(config, writes, task_id, task_path)
        self._end(number, *_wrote(config, writes))

    async def aput_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        number = self._begin()
        await super().aput_writes(config, writes, task_id, task_path)
        self._end(number, *_wrote(config, writes))


def _put(checkpoint: Any) -> list[str]:
    return [f"put {checkpoint['id']}", *(f"kept {name}" for name in checkpoint["channel_values"].get("trace", ()))]


def _wrote(config: Any, writes: Sequence[tuple[str, Any]]) -> list[str]:
    on = config["configurable"]["checkpoint_id"]
    return [f"wrote {name} {on}" for channel, value in writes if channel == "trace" for name in value]


def child(url: str, log: Log, kill: str, side: str, durability: Any) -> None:
    """Run the graph in this process, which is to die at `kill`."""
    Mortal.log, Mortal.kill = log, kill
    with Mortal.from_url(url) as saver:
        made = graph(saver, log, kill)
        if side == "sync":
            made.invoke({"trace": ["in"]}, CONFIG, durability=durability)
        else:
            asyncio.run(made.ainvoke({"trace": ["in"]}, CONFIG, durability=durability))
