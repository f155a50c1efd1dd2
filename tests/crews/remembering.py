"""Flows in processes of their own, and what they have imported of CrewAI's memory."""

from __future__ import annotations

import os
import sys
from typing import Any

from crewai import Flow, Memory
from crewai.flow import start

import batonpass as bp
from tests.apps.crewai_app import Article, Topic

app = bp.App("crewai-memory")


def embed(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), 1.0, 0.0] for text in texts]


@app.crewai("forgets", accepts=Topic, returns=Article, timeout=60.0)
def forgets() -> Any:
    class Forgets(Flow[dict]):  # type: ignore[type-arg]
        @start()
        def say(self) -> str:
            known = [name for name in ("lancedb", "batonpass.adapters.crewai.flows.flow") if name in sys.modules]
            return f"{os.getpid()} {known}"

    return Forgets()


@app.crewai("remembers", accepts=Topic, returns=Article)
def remembers() -> Any:
    os.environ["CREWAI_STORAGE_DIR"] = os.environ["BATONPASS_TEST_GATES"]

    class Remembers(Flow[dict]):  # type: ignore[type-arg]
        @start()
        def say(self) -> str:
            memory: Any = self.memory
            before = len(memory.list_records())
            memory.remember("rain is wet", scope="/a", categories=[], importance=0.5, metadata={})
            found = [match.record.content for match in memory.recall("rain is wet", depth="shallow")]
            memory.close()
            return f"{before} {found}"

    return Remembers(memory=Memory(embedder=embed, root_scope="/tests"))
