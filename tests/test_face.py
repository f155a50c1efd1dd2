"""The public face really does what its typed copy (tests/typed/face.py) says, on every store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from anyio import to_thread

import batonpass as bp
from tests.harness.redis import RedisServer

from .typed import face

DEADLINE = 90.0


@pytest.fixture
def elsewhere() -> bp.App:
    """Another team's app: plain functions that the face's agents hand off to, and an agent for plain states."""
    app = bp.App("elsewhere")

    @app.agent("write", accepts=face.Notes, hands_to={"review": face.Draft})
    def write(notes: face.Notes, ctx: bp.SyncContext) -> bp.Handoff:
        return ctx.hand_off("review", face.Draft(text="; ".join(notes.facts)))

    @app.agent("review", accepts=face.Draft, returns=face.Report)
    def review(draft: face.Draft) -> face.Report:
        return face.Report(body=f"{draft.text}: fine")

    @app.agent("approval", accepts=bp.State, returns=bp.State)
    def approval(state: bp.State) -> bp.State:
        return bp.State.model_validate({**state.as_dict(), "approved": True})

    return app


@asynccontextmanager
async def working(app: bp.App, url: str) -> AsyncIterator[None]:
    async with bp.connect(url, app=app) as coordinator, app.worker(coordinator):
        yield


@pytest.fixture(params=["memory", "sqlite", "redis"])
def url(request: pytest.FixtureRequest) -> str:
    return "memory://" if request.param == "memory" else str(request.getfixturevalue(f"{request.param}_url"))


async def test_a_job_goes_through_two_apps_and_comes_back_typed(store_url: str, elsewhere: bp.App) -> None:
    async with working(elsewhere, store_url):
        assert await face.in_this_process(store_url) == face.Report(body="rain has 4 letters: fine")
        report = await to_thread.run_sync(face.job_runs_without_await, store_url)  # the same key: the same job
        assert report == face.Report(body="rain has 4 letters: fine")
    async with bp.connect(store_url, app=face.app) as coordinator:
        [info] = await coordinator.jobs()
        assert (info.path, info.key) == (("research", "write", "review"), "ticket-4821")
        [checkpoint] = await coordinator.timeline(thread=info.id)
        assert (checkpoint.agent, checkpoint.step, checkpoint.hop) == ("research", "fetch", 0)
        assert (await coordinator.restore(checkpoint.id)).state == {"fetch": ["rain has 4 letters"]}


async def test_a_graph_of_the_face_hands_on(sqlite_url: str, elsewhere: bp.App) -> None:
    async with (
        working(elsewhere, sqlite_url),
        bp.connect(sqlite_url, app=face.app) as coordinator,
        face.app.worker(coordinator, agents=["triage"]),
    ):
        job = await coordinator.submit("triage", face.Topic(text="snow"), returns=face.Report)
        assert await job.result(timeout=DEADLINE) == face.Report(body="snow has 4 letters: fine")
        assert {cp.framework for cp in await coordinator.timeline(thread=job.id)} == {"langgraph"}


async def test_the_five_operations(url: str, elsewhere: bp.App) -> None:
    async with bp.connect(url, app=elsewhere) as coordinator:
        told = await face.five_operations(coordinator)
        assert told.startswith("{'total': 12} {'invoice': 'INV-4821'} None validate 0 python 20")
        assert told.endswith(" 0:validate")
        assert await coordinator.timeline(thread="run-001") == []
        assert await coordinator.latest(thread="run-001") is None


def test_the_five_operations_without_await(url: str, elsewhere: bp.App) -> None:
    with bp.connect(url, app=elsewhere) as coordinator:
        told = face.five_operations_without_await(coordinator)
        assert told.startswith("{'total': 12} {'invoice': 'INV-4821'} None validate 0 python 20")
        assert told.endswith(" 0:validate")
        assert coordinator.timeline(thread="run-001") == []
        assert coordinator.latest(thread="run-001") is None


async def test_a_connection_is_opened_without_a_with(url: str, elsewhere: bp.App) -> None:
    connection = bp.connect(url, app=elsewhere)
    assert repr(connection).startswith(f"<connection to {url.partition('?')[0]}")
    with pytest.raises(AttributeError, match=r"coordinator = await connect\(\.\.\.\)\.aopen\(\)"):
        getattr(connection, "submit")  # noqa: B009
    coordinator = await connection.aopen()
    job = await coordinator.submit("write", face.Notes(facts=[]))
    assert [known.id for known in await coordinator.jobs()] == [job.id]
    await connection.aclose()


async def test_a_coordinator_says_where_it_is(own_redis: RedisServer) -> None:
    with own_redis.client() as admin:
        admin.execute_command("ACL", "SETUSER", "u", "on", ">secret", "~*", "&*", "+@all")
    place = f"127.0.0.1:{own_redis.port}"
    async with bp.connect(f"redis://u:secret@{place}", namespace="desk") as coordinator:
        assert repr(coordinator) == f"<Coordinator redis://{place}/0, namespace 'desk'>"
    with bp.connect("memory://", codec=bp.Codec(encrypt={"k": b"k" * 32})) as without_await:
        assert repr(without_await) == "<SyncCoordinator memory://, namespace 'default'>"


async def test_a_thread_is_a_line_of_checkpoints(url: str) -> None:
    async with bp.connect(url) as coordinator:
        saved = [
            await coordinator.save(thread="run", agent="a", state={"n": n}, step=f"s{n}", context={"n": n})
            for n in range(5)
        ]
        assert [cp.step_index for cp in saved] == [0, 1, 2, 3, 4]
        assert [cp.parent_id for cp in saved] == [None, *(cp.id for cp in saved[:4])]
        newest = await coordinator.timeline(thread="run", limit=2)
        assert [(cp.id, cp.step, dict(cp.context)) for cp in newest] == [
            (saved[4].id, "s4", {"n": 4}),
            (saved[3].id, "s3", {"n": 3}),
        ]
        older = await coordinator.timeline(thread="run", before=newest[-1].id)
        assert [cp.step for cp in older] == ["s2", "s1", "s0"]
        assert await coordinator.restore(saved[2].id) == saved[2]
        assert (await coordinator.latest(thread="run")) == saved[4]
        assert abs(saved[0].created_at - datetime.now(UTC)) < timedelta(minutes=1)
        kept = await coordinator.save(thread="run", agent="a", state={}, ttl=3600)
        assert kept.expires_at is not None
        assert kept.expires_at - kept.created_at == timedelta(hours=1)


async def test_hand_off_gives_an_agent_the_state(url: str, elsewhere: bp.App) -> None:
    async with bp.connect(url, app=elsewhere) as coordinator, elsewhere.worker(coordinator):
        cp = await coordinator.save(thread="run", agent="invoices", state={"total": 12})
        job = await coordinator.hand_off(cp.id, to="approval")
        result = await job.result(timeout=DEADLINE)
        assert result.as_dict() == {"total": 12, "approved": True}
        assert (await job.info()).thread == job.id
        asked = await coordinator.hand_off(cp.id, to="write", payload=face.Notes(facts=["x"]))
        assert (await asked.result(timeout=DEADLINE)) == face.Report(body="x: fine")
        with pytest.raises(bp.ContractViolation, match="facts"):
            await coordinator.hand_off(cp.id, to="write")
        with pytest.raises(bp.UnknownAgent):
            await coordinator.hand_off(cp.id, to="nobody")
        assert len(await coordinator.jobs()) == 2


async def test_the_same_key_is_the_same_job(url: str, elsewhere: bp.App) -> None:
    async with bp.connect(url, app=elsewhere) as coordinator:
        first = await coordinator.submit("write", face.Notes(facts=["a"]), key="k")
        assert (await coordinator.submit("write", {"facts": ["a"]}, key="k")).id == first.id
        with pytest.raises(bp.KeyConflict, match=f"by job {first.id}"):
            await coordinator.submit("write", face.Notes(facts=["b"]), key="k")
        assert (await coordinator.submit("review", face.Draft(text="a"), key="k")).id != first.id


async def test_a_client_without_the_app_gets_a_mapping(store_url: str, elsewhere: bp.App) -> None:
    stranger = bp.App("stranger")
    async with working(elsewhere, store_url), bp.connect(store_url, app=stranger) as coordinator:
        job = await coordinator.submit("review", {"text": "x"})
        result = await job.result(timeout=DEADLINE)
        assert isinstance(result, bp.Payload)
        assert (str(result.ref), dict(result)) == ("desk.report@1", {"body": "x: fine"})
        assert await (await coordinator.submit("review", {"text": "x"}, returns=face.Report)).result(
            timeout=DEADLINE
        ) == face.Report(body="x: fine")
        with pytest.raises(bp.ContractViolation, match="text"):
            await coordinator.submit("review", {"body": "x"})


async def test_events_are_followed_as_they_come(url: str, elsewhere: bp.App) -> None:
    seen: list[str] = []
    async with bp.connect(url, app=elsewhere) as coordinator, anyio.create_task_group() as tasks:
        job = await coordinator.submit("review", face.Draft(text="x"))

        async def follow() -> None:
            async for event in coordinator.events(job=job.id, follow=True):
                seen.append(event.type.removeprefix("batonpass."))
                if seen[-1] == "job.completed":
                    tasks.cancel_scope.cancel()

        tasks.start_soon(follow)
        with anyio.fail_after(DEADLINE):
            async with elsewhere.worker(coordinator):
                await anyio.sleep_forever()
    assert seen == ["job.submitted", "job.started", "job.completed"]


async def test_a_timeout_says_who_could_do_the_job(sqlite_url: str, elsewhere: bp.App) -> None:
    async with bp.connect(sqlite_url, app=elsewhere) as coordinator:
        job = await coordinator.submit("review", face.Draft(text="x"))
        with pytest.raises(bp.ResultTimeout, match=r"is submitted \(ready\) .* no live worker accepts it: start one"):
            await job.result(timeout=0)
        await elsewhere.declare(coordinator)
        assert (await coordinator.job(job.id).info()).state == bp.JobState.SUBMITTED


def test_decorated_functions_stay_callable() -> None:
    decorator = bp.App("one").agent("a", accepts=face.Topic, returns=face.Report)
    agent = decorator(lambda topic: face.Report(body=topic.text))
    assert agent(face.Topic(text="x")) == face.Report(body="x")
    assert face.app["research"] is face.research
    face.app.check()


def test_wrong_types_are_refused_when_declared(elsewhere: bp.App) -> None:
    with pytest.raises(bp.BadSetup, match="is not a contract"):
        elsewhere.agent("x", accepts=str, returns=face.Report)(print)  # type: ignore[type-var]
    with pytest.raises(bp.BadSetup, match="two agents named 'write'"):
        elsewhere.agent("write", accepts=face.Notes, returns=face.Report)(print)
    with pytest.raises(bp.BadSetup, match="has no outcome"):
        elsewhere.agent("y", accepts=face.Notes)(print)
