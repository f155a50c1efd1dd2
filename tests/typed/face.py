"""The face as users write it: a typed copy of what the README and the issue show, held by mypy --strict and pyright.

What must be a type error is marked as one. Both checkers report a mark that they do not need.
"""

# pyright: reportUnnecessaryTypeIgnoreComment=true, reportMissingTypeStubs=false, reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, assert_type

from typing_extensions import Unpack

import batonpass as bp

if TYPE_CHECKING:
    from autogen_agentchat.teams import RoundRobinGroupChat
    from crewai import Crew
    from langgraph.graph import StateGraph


class Topic(bp.Contract, name="desk.topic"):
    text: str


class Notes(bp.Contract, name="desk.notes", version=1):
    facts: list[str]


class Draft(bp.Contract, name="desk.draft"):
    text: str


class Report(bp.Contract, name="desk.report"):
    body: str


class Desk(TypedDict):
    text: str
    facts: NotRequired[list[str]]


app = bp.App("desk")


def fetch_facts(text: str) -> list[str]:
    return [f"{text} has {len(text)} letters"]


@app.agent("research", accepts=Topic, hands_to={"write": Notes})
async def research(topic: Topic, ctx: bp.Context) -> bp.Handoff:
    facts = await ctx.step("fetch", fetch_facts, topic.text)
    assert_type(facts, list[str])
    return ctx.hand_off("write", Notes(facts=facts))


@app.langgraph("triage", accepts=Topic, hands_to={"write": Notes})
def triage() -> StateGraph[Any, None, Any, Any]:
    from langgraph.graph import START, StateGraph

    def find(state: Desk) -> dict[str, list[str]]:
        return {"facts": fetch_facts(state["text"])}

    graph = StateGraph[Any, None, Any, Any](Desk)
    graph.add_node("find", find)
    graph.add_edge(START, "find")
    return graph


@app.crewai("write", accepts=Notes, hands_to={"review": Draft})
def write() -> Crew:
    from crewai import Crew

    return Crew(agents=[], tasks=[])


@app.autogen("review", accepts=Draft, returns=Report)
def review() -> RoundRobinGroupChat:
    from autogen_agentchat.teams import RoundRobinGroupChat

    return RoundRobinGroupChat([])


def agents() -> None:
    assert_type(research, bp.Agent[Topic])
    assert_type(triage, bp.Agent[Topic])
    assert_type(write, bp.Agent[Notes])
    assert_type(review, bp.Agent[Draft])

    @app.agent("sync", accepts=Topic, returns=Report)
    def sync(topic: Topic, ctx: bp.SyncContext) -> Report:
        facts = ctx.step("fetch", fetch_facts, topic.text)
        assert_type(facts, list[str])
        assert_type(bp.current(), bp.Context)
        return Report(body=facts[0])

    @app.agent("bare", accepts=Topic, returns=Report, retries=5, timeout=60, lease=30)
    def bare(topic: Topic) -> Report:
        return Report(body=topic.text)

    @app.agent("third", accepts=Topic, kind="another", returns=Report, retries=[bp.Retry(on=OSError), bp.Retry()])
    def third(anything: object, at: object, all_: object) -> object:
        return None

    assert_type(sync, bp.Agent[Topic])
    assert_type(bare, bp.Agent[Topic])
    assert_type(third, bp.Agent[Topic])

    @app.agent("wrong", accepts=Topic, returns=Report)  # type: ignore[arg-type]
    def wrong(draft: Draft) -> Report:
        return Report(body=draft.text)

    @app.agent("none", accepts=str, returns=Report)  # type: ignore[type-var]
    def none(text: str) -> Report:
        return Report(body=text)

    app.crewai("typo", accepts=Topic, return_=Report)  # type: ignore[call-arg]


async def handing(ctx: bp.Context) -> None:
    assert_type(ctx.hand_off(write, Notes(facts=[])), bp.Handoff[Notes])
    ctx.hand_off(write, Draft(text=""))  # type: ignore[misc]


def rejects(topic: Topic, ctx: bp.SyncContext) -> Report:
    ctx.reject("not for us")  # and no return is missed


async def effects(ctx: bp.Context) -> None:
    async def order(key: str) -> int:
        return len(key)

    assert_type(await ctx.effect("order", order, ctx.effect_key("order")), int)
    assert_type(await ctx.effect("facts", fetch_facts, "rain"), list[str])
    assert_type(ctx.sync.effect("facts", fetch_facts, "rain"), list[str])


async def five_operations(coordinator: bp.Coordinator) -> str:
    cp = await coordinator.save(
        thread="run-001",
        agent="invoices",
        state={"total": 12},
        context={"invoice": "INV-4821"},
        step="validate",
        ttl=3600,
    )
    assert_type(cp, bp.Checkpoint)
    cp = await coordinator.restore(cp.id)
    told = f"{cp.state} {cp.context} {cp.parent_id} {cp.step} {cp.step_index} {cp.framework} {cp.created_at}"
    assert_type(await coordinator.latest(thread="run-001"), bp.Checkpoint | None)
    job = await coordinator.hand_off(cp.id, to="approval")
    assert_type(job, bp.Job[Any])
    for summary in await coordinator.timeline(thread="run-001", limit=20):
        assert_type(summary, bp.CheckpointSummary)
        told += f" {summary.step_index}:{summary.step}"
    await job.cancel()
    await coordinator.expire(cp.id)
    return told


def five_operations_without_await(coordinator: bp.SyncCoordinator) -> str:
    cp = coordinator.save(
        thread="run-001",
        agent="invoices",
        state={"total": 12},
        context={"invoice": "INV-4821"},
        step="validate",
        ttl=3600,
    )
    assert_type(cp, bp.Checkpoint)
    cp = coordinator.restore(cp.id)
    told = f"{cp.state} {cp.context} {cp.parent_id} {cp.step} {cp.step_index} {cp.framework} {cp.created_at}"
    assert_type(coordinator.latest(thread="run-001"), bp.Checkpoint | None)
    job = coordinator.hand_off(cp.id, to="approval")
    assert_type(job, bp.SyncJob[Any])
    for summary in coordinator.timeline(thread="run-001", limit=20):
        assert_type(summary, bp.CheckpointSummary)
        told += f" {summary.step_index}:{summary.step}"
    job.cancel()
    coordinator.expire(cp.id)
    return told


async def job_runs(url: str) -> Report:
    """A client: the job's life from submit to result."""
    async with bp.connect(url) as coordinator:
        assert_type(coordinator, bp.Coordinator)
        job = await coordinator.submit("research", Topic(text="rain"), key="ticket-4821", returns=Report)
        assert_type(job, bp.Job[Report])
        assert_type(await coordinator.submit(research, {"text": "rain"}, key="ticket-4821"), bp.Job[Any])
        report = await job.result(timeout=60)
        assert_type(report, Report)
        assert_type(await job.info(), bp.JobInfo)
        assert_type(coordinator.job(job.id, returns=Report), bp.Job[Report])
        async for event in coordinator.events(job=job.id):
            assert_type(event, bp.Event)
        return report


def job_runs_without_await(url: str) -> Report:
    """The same names, no await."""
    with bp.connect(url) as coordinator:
        assert_type(coordinator, bp.SyncCoordinator)
        job = coordinator.submit(research, Topic(text="rain"), key="ticket-4821", returns=Report)
        assert_type(job, bp.SyncJob[Report])
        assert_type(coordinator.job(job.id, returns=Report), bp.SyncJob[Report])
        report = job.result(timeout=60)
        assert_type(report, Report)
        for event in coordinator.events(job=job.id):
            assert_type(event, bp.Event)
        return report


async def in_this_process(url: str) -> Report:
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator, agents=["research"]) as worker:
        assert_type(worker, bp.Worker)
        return await job_runs(url)


async def without_a_client(topic: Topic) -> None:
    assert_type(await app.run("research", topic, returns=Report), Report)
    assert_type(await app.run(research, topic), Any)


async def refused(coordinator: bp.Coordinator, sync: bp.SyncCoordinator) -> None:
    """Another contract than the agent's is seen before anything runs."""
    await coordinator.submit(research, Notes(facts=[]))  # type: ignore[misc]
    sync.submit(research, Notes(facts=[]))  # type: ignore[misc]
    await app.run(research, Notes(facts=[]))  # type: ignore[misc]
    await coordinator.submit("research", 7)  # type: ignore[call-overload]
    await coordinator.submit("research", {}, returns=int)  # type: ignore[type-var]
    await coordinator.hand_off("c1", to=write, payload=Topic(text=""))  # type: ignore[misc]


async def goes_on(coordinator: bp.Coordinator, sync: bp.SyncCoordinator) -> None:
    assert_type(await coordinator.fork("c1", thread="what-if"), bp.Checkpoint)
    assert_type(await coordinator.fork("c1", agent="review", guard=bp.Guard(hops=9)), bp.Job[Any])
    assert_type(await coordinator.fork("c1", agent=review, returns=Report, deadline=60), bp.Job[Report])
    assert_type(sync.fork("c1", agent=review, returns=Report), bp.SyncJob[Report])
    assert_type(await coordinator.hand_off("c1", to=review, returns=Report, priority="high"), bp.Job[Report])
    assert_type(sync.hand_off("c1", to="review", returns=Report), bp.SyncJob[Report])
    await coordinator.fork("c1", guard=bp.Guard())  # type: ignore[call-overload]
    await coordinator.hand_off("c1", to="review", thread="t")  # type: ignore[call-overload]


async def asks(ctx: bp.Context, coordinator: bp.Coordinator) -> None:
    assert_type(await ctx.ask("go on?", answer=Report, timeout=60, default=Report(body=""), escalate="lead"), Report)
    assert_type(ctx.sync.ask("go on?", answer=Report), Report)
    assert_type(await coordinator.inbox(assignee="ann"), list[bp.InboxItem])
    assert_type(await coordinator.groups(), list[bp.GroupInfo])
    assert_type(await coordinator.webhooks(), list[bp.WebhookInfo])
    async with coordinator.consume("g", types="job.*") as shared:
        async for one in shared:
            assert_type(one, bp.Event)
    await ctx.ask("go on?", answer=int)  # type: ignore[type-var]
    await ctx.ask("go on?", within=1)  # type: ignore[call-overload]


async def wrapped(
    coordinator: bp.Coordinator, topic: Topic, *, urgency: bp.Priority = "normal", **options: Unpack[bp.SubmitOptions]
) -> bp.Job[Report]:
    """A team's own submit: what it passes on has a name."""
    busy: bp.OnBusy = "queue"
    wait: bp.Duration = 60
    options = {"delay": wait, "on_busy": busy, **options, "priority": urgency}
    return await coordinator.submit("research", topic, returns=Report, **options)


async def wrapped_inside(
    ctx: bp.Context, wait: bp.Wait, failures: bp.Failures, unsure: bp.Unsure, **options: Unpack[bp.AskOptions]
) -> None:
    await ctx.fan_out([bp.Handoff("write", Notes(facts=[]))], wait=wait, failures=failures)
    await ctx.effect("pay", fetch_facts, "rain", unsure=unsure)
    await ctx.ask("go on?", **options)


def declared(again: bp.Retries, where: bp.Isolation, how_long: bp.Memory, **options: Unpack[bp.AgentOptions]) -> None:
    options = {"isolation": where, "memory": how_long, **options, "retries": again}
    app.agent("again", accepts=Topic, **options)
