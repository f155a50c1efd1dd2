"""A turn of an AutoGen team of three, kept after each, beside the team alone: what we add to a turn."""

from __future__ import annotations

import random
import time

from anyio import run
from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.replay import ReplayChatCompletionClient

import batonpass as bp
from benchmarks.places import Places
from benchmarks.report import Result
from benchmarks.timing import Comparison, Effort
from tests.harness.texts import words


class Ask(bp.Contract, name="bench.ask"):
    """What the team is told."""

    text: str


def _team(turns: int, seed: int) -> RoundRobinGroupChat:
    """Three who say 500 characters each time, every message another one."""
    chance = random.Random(seed)
    models = [ReplayChatCompletionClient([words(chance, 500) for _ in range(turns)]) for _ in "ABC"]
    members = [AssistantAgent(name, model) for name, model in zip("ABC", models, strict=True)]
    return RoundRobinGroupChat([*members], max_turns=turns)


def on_redis(places: Places, effort: Effort) -> list[Result]:
    """On Redis."""
    return [run(_turns, "Redis", places.redis_url, places.namespace(), effort)]


def on_sqlite(places: Places, effort: Effort) -> list[Result]:
    """On SQLite."""
    return [run(_turns, "SQLite", f"sqlite:///{places.sqlite_file('turns')}", "default", effort)]


async def _turns(store: str, url: str, namespace: str, effort: Effort) -> Result:
    turns = max(effort.steps // 5, 6)
    app = bp.App("turns")
    app.autogen("talk", accepts=Ask, returns=Ask)(lambda: _team(turns, 7))
    comparison = Comparison()
    async with bp.connect(url, namespace=namespace, app=app) as coordinator, app.worker(coordinator):
        for number in range(effort.rounds + 1):
            began = time.perf_counter()
            await _team(turns, 7).run(task="go")
            alone = time.perf_counter() - began
            began = time.perf_counter()
            await (await coordinator.submit("talk", Ask(text="go"))).result(timeout=300)
            ours = time.perf_counter() - began
            if number:
                comparison.add_round([ours / turns], [alone / turns])
    return Result.compared(f"a turn of an AutoGen team of three, {turns} turns, {store} / the team alone", comparison)
