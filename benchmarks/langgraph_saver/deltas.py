"""Deltas: a graph whose messages are a DeltaChannel, beside AsyncSqliteSaver."""

from __future__ import annotations

import asyncio
import random
import time
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import _messages_delta_reducer  # pyright: ignore[reportPrivateUsage]

from batonpass.adapters.langgraph import BatonpassSaver
from benchmarks.langgraph_saver.contest import ASYNC_SQLITE, IN_MEMORY, OURS_REDIS, OURS_SQLITE, Contest, Times
from benchmarks.langgraph_saver.kept import in_file, in_redis
from benchmarks.report import Result
from benchmarks.timing import Comparison
from tests.harness.texts import words

_reducer: Any = _messages_delta_reducer


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(_reducer)]


def run(contest: Contest) -> list[Result]:
    """Turns of a human and an AI message."""
    return asyncio.run(_run(contest))


async def _run(contest: Contest) -> list[Result]:
    turns = contest.effort.steps // 2
    places, namespace = contest.places, contest.places.namespace()
    theirs, (url, ours) = places.sqlite_file("theirs"), contest.sqlite_url()
    times = Times()
    async with (
        AsyncSqliteSaver.from_conn_string(str(theirs)) as async_sqlite,
        BatonpassSaver.from_url(url) as on_sqlite,
        BatonpassSaver.from_url(places.redis_url, namespace=namespace) as on_redis,
    ):
        graphs = {
            ASYNC_SQLITE: _graph(async_sqlite),
            OURS_SQLITE: _graph(on_sqlite),
            OURS_REDIS: _graph(on_redis),
            IN_MEMORY: _graph(InMemorySaver()),
        }
        chance = random.Random(5)
        for number in range(turns):
            if number % max(turns // contest.effort.rounds, 1) == 0:
                times.begin_round()
            text = words(chance, 500)
            for name in times.turn(graphs):
                began = time.perf_counter()
                await graphs[name].ainvoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": "chat"}})
                times.note(name, time.perf_counter() - began)
    floor = in_file(theirs)
    kept = {OURS_SQLITE: in_file(ours), OURS_REDIS: in_redis(places.redis_url, namespace)}
    return [
        *(
            Result.compared(f"turn with a DeltaChannel, {name} / {ASYNC_SQLITE}", _half(times, name), bar=0.5)
            for name in kept
        ),
        Result.compared(f"turn with a DeltaChannel, {IN_MEMORY} / {ASYNC_SQLITE}", _half(times, IN_MEMORY)),
        *(
            Result.figure(f"kept of {turns} such turns, {name} / {ASYNC_SQLITE}", held / floor, bar=0.5)
            for name, held in kept.items()
        ),
    ]


def _half(times: Times, ours: str) -> Comparison:
    """The later half of the rounds: turns of a thread that is long."""
    late = Times(times.rounds[len(times.rounds) // 2 :])
    return late.compare(ours, ASYNC_SQLITE)


def _graph(saver: Any) -> Any:
    chance = random.Random(6)
    graph: Any = StateGraph(Chat)
    graph.add_node("chat", lambda _: {"messages": [AIMessage(words(chance, 500))]})
    graph.add_edge(START, "chat")
    return graph.compile(checkpointer=saver)
