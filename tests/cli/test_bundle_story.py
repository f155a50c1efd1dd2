"""A job that failed in production, on Redis, comes to a laptop: looked at, forked, and continued with new code."""

from __future__ import annotations

import json
import operator
from collections import Counter
from pathlib import Path
from typing import Annotated, Any, TypedDict

import anyio
import pytest
from langgraph.graph import START, StateGraph
from langgraph.types import Command, interrupt

import batonpass as bp
from batonpass.coordinator.commands import Restore
from batonpass.langgraph import BatonpassSaver

from ..workers.serving import Ask, Reply, only, reached, serving
from .commandline import CommandLine, kept

FIRST, SECOND = "research", "outline"


class Code:
    """An agent of two recorded steps, which in production can't finish."""

    def __init__(self, *, mended: bool) -> None:
        self.ran: Counter[str] = Counter()
        self._mended = mended

    def __call__(self, ask: Ask, ctx: bp.SyncContext) -> Reply:
        found = ctx.step(FIRST, self._paid, FIRST, ask.text)
        outline = ctx.step(SECOND, self._paid, SECOND, found)
        if not self._mended:
            raise ValueError("the outline is too long")
        return Reply(text=outline)

    def _paid(self, name: str, text: str) -> str:
        self.ran[name] += 1
        return f"{name} of {text}"

    def app(self) -> bp.App:
        """With this agent, and one for forks."""

        def agent(ask: Ask, ctx: bp.SyncContext) -> Reply:
            return self(ask, ctx)

        made = only(agent, retries=1)

        @made.agent("again", accepts=bp.State, returns=Reply)
        def again(state: bp.State) -> Reply:
            return Reply(text=f"again with {state[FIRST]}")

        return made


async def _failed(app: bp.App, url: str, **payload: Any) -> str:
    async with serving(app, url) as coordinator:
        job = await coordinator.submit("a", payload, key="once")
        with pytest.raises(bp.JobFailed):
            await job.result(timeout=30)
    return job.id


@pytest.fixture
def laptop(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(f"sqlite:///{tmp_path}/laptop.db", capsys, monkeypatch)


async def _on(laptop: CommandLine, *arguments: str) -> Any:
    ran = await anyio.to_thread.run_sync(lambda: laptop(*arguments))
    assert ran.code == 0, ran
    return ran


async def _brought(laptop: CommandLine, url: str, job: str, tmp_path: Path) -> None:
    """Exported from production, which is not touched, and imported."""
    file = str(tmp_path / "run.bundle")
    before = kept(url)
    ran = await _on(laptop, "export", job, file, "--store", url)
    assert f"exported thread {job} with" in ran.out
    assert kept(url) == before
    ran = await _on(laptop, "import", file)
    assert f"job {job} at a: failed (attempts): `batonpass redrive {job}` continues it here" in ran.out


async def test_a_plain_job(redis_url: str, laptop: CommandLine, tmp_path: Path) -> None:
    job = await _failed(Code(mended=False).app(), redis_url, text="rain")
    await _brought(laptop, redis_url, job, tmp_path)

    [outline, first] = (await _on(laptop, "timeline", job, "--json")).json
    shown = (await _on(laptop, "show", job, "--json")).json
    assert (shown["state"], shown["reason"], shown["payload"]["text"]) == ("failed", "attempts", "rain")
    assert "too long" in shown["error"]
    [change] = (await _on(laptop, "diff", first["id"], outline["id"], "--json")).json["added"]
    assert change["path"] == f"state[{SECOND!r}]"
    happened = list(map(json.loads, (await _on(laptop, "events", "--job", job, "--json")).out.splitlines()))
    assert {event["type"] for event in happened} == {"batonpass.event.imported"}
    assert [event["data"]["was"] for event in happened] == ["job.submitted", "job.started", "job.failed"]

    code = Code(mended=True)
    async with serving(code.app(), laptop.url) as local:
        assert (await local.job(job).info()).state is bp.JobState.FAILED
        fork = await local.fork(first["id"], agent="again", changes={FIRST: "another research"})
        assert (await fork.result(timeout=30)) == Reply(text="again with another research")
        await _on(laptop, "redrive", job)
        assert (await local.job(job).result(timeout=30)) == Reply(text="outline of research of rain")
        assert code.ran == {}
        assert (await local.submit("a", Ask(text="rain"), key="once")).id != job


class Words(TypedDict):
    text: str
    number: int
    notes: Annotated[list[str], operator.add]


class Graph:
    """A graph whose second node fails in production, and asks if it does not."""

    def __init__(self, *, mended: bool) -> None:
        self.ran: Counter[str] = Counter()
        self._mended = mended

    def __call__(self) -> StateGraph[Any, None, Any, Any]:
        made = StateGraph(Words)
        made.add_sequence([("draft", self._draft), ("check", self._check), ("publish", self._publish)])
        made.add_edge(START, "draft")
        return made

    def _draft(self, state: Words) -> dict[str, Any]:
        self.ran["draft"] += 1
        return {"notes": [f"draft on {state['text']} " + "x" * 3000]}

    def _check(self, state: Words) -> dict[str, Any]:
        self.ran["check"] += 1
        if not self._mended:
            raise ValueError("no checker here")
        return {"notes": [interrupt("fine?")]}

    def _publish(self, state: Words) -> dict[str, Any]:
        return {"text": " ".join(note[:20] for note in state["notes"])}

    def app(self) -> bp.App:
        """With this agent."""
        made = bp.App("graphs")
        made.langgraph("a", accepts=Ask, returns=Reply, retries=1)(self.__call__)
        return made


@pytest.mark.capability("langgraph")
async def test_a_graph(redis_url: str, laptop: CommandLine, tmp_path: Path) -> None:
    """With its framework's state: it continues at the failed node. A question of it travels, too."""
    job = await _failed(Graph(mended=False).app(), redis_url, text="rain", number=1)
    await _brought(laptop, redis_url, job, tmp_path)
    code = Graph(mended=True)
    async with serving(code.app(), laptop.url) as local:
        await local.redrive(job)
        await reached(local.job(job), bp.JobState.INPUT_REQUIRED)
        await local.export_bundle(job, tmp_path / "asking")
    other = f"sqlite:///{tmp_path}/other.db"
    async with serving(code.app(), other) as there:
        await there.import_bundle(tmp_path / "asking")
        assert [ask.question for ask in await there.inbox()] == ["fine?"]
        await there.job(job).answer("very")
        assert (await there.job(job).result(timeout=30)).text.endswith("very")
    assert code.ran == {"check": 2}


@pytest.mark.capability("langgraph")
def test_a_thread_of_a_saver(redis_url: str, sqlite_url: str, tmp_path: Path) -> None:
    """Without jobs: it continues at its question, with what was written before it."""
    code = Graph(mended=True)
    about: Any = {"configurable": {"thread_id": "chat"}}
    given: Any = {"text": "rain", "notes": []}
    with BatonpassSaver.from_url(redis_url) as saver:
        code().compile(checkpointer=saver).invoke(given, about)
        before = [each.config for each in code().compile(checkpointer=saver).get_state_history(about)]
    with bp.connect(redis_url) as production, bp.connect(sqlite_url) as laptop:
        production.export_bundle("chat", tmp_path / "chat")
        laptop.import_bundle(tmp_path / "chat")
    with BatonpassSaver.from_url(sqlite_url) as saver:
        graph = code().compile(checkpointer=saver)
        assert [each.config for each in graph.get_state_history(about)] == before
        assert [each.value for each in graph.get_state(about).interrupts] == ["fine?"]
        assert graph.invoke(Command(resume="very"), about)["text"].endswith("very")
    assert code.ran == {"draft": 1, "check": 2}


async def test_what_is_encrypted(redis_url: str, tmp_path: Path) -> None:
    """The file is as protected as the store, and a laptop needs the key, unless it was to be plain."""
    codec = bp.Codec(encrypt={"prod": b"k" * 32})
    async with bp.connect(redis_url, codec=codec) as production:
        said = [f"the moon is made of cheese {n}, " * 20 for n in range(70)]
        for n in range(70):
            await production.save(thread="run", agent="a", state={"said": said[: n + 1]})
        await production.copy("run", to="twin")
        copies = await production.timeline("twin", limit=100)
        await production.export_bundle("twin", tmp_path / "copies")
        info = await production.export_bundle("run", tmp_path / "coded")
        plain = await production.export_bundle("run", tmp_path / "plain", plain=True)
    assert (info.encrypted, plain.encrypted) == (True, False)
    assert b"cheese" not in (tmp_path / "coded").read_bytes()
    assert b"cheese" in (tmp_path / "plain").read_bytes()
    async with bp.connect("memory://") as laptop:
        with pytest.raises(bp.BadSetup, match=r"is encrypted.*BATONPASS_ENCRYPT_KEYS"):
            await laptop.import_bundle(tmp_path / "coded")
        await laptop.import_bundle(tmp_path / "plain")
        await _has(laptop, said)
    for other in (bp.Codec(encrypt={"prod": b"o" * 32}), bp.Codec(encrypt={"mine": b"k" * 32})):
        async with bp.connect("memory://", codec=other) as laptop:
            for file in ("coded", "plain"):
                with pytest.raises((bp.Corrupted, bp.BadSetup)):
                    await laptop.import_bundle(tmp_path / file)
            assert await laptop.latest(thread="run") is None
    mine = bp.Codec(encrypt={"mine": b"m" * 32, "prod": b"k" * 32}, compress=True)
    async with bp.connect(f"sqlite:///{tmp_path}/laptop.db", codec=mine) as laptop:
        await laptop.import_bundle(tmp_path / "coded")
        await _has(laptop, said)
        await laptop.import_bundle(tmp_path / "copies")
        assert await laptop.timeline("twin", limit=100) == copies
    assert b"cheese" not in (tmp_path / "laptop.db").read_bytes()


async def _has(laptop: bp.Coordinator, said: list[str]) -> None:
    found = (await laptop.timeline("run", limit=100))[::-1]
    assert [(await laptop.restore(each.id)).state["said"] for each in found] == [
        said[: n + 1] for n in range(len(said))
    ]


def test_an_encrypted_thread_that_is_pruned_meanwhile(tmp_path: Path) -> None:
    with bp.connect("memory://", codec=bp.Codec(encrypt={"prod": b"k" * 32})) as production:
        ids = [production.save(thread="run", agent="a", state={"n": n}).id for n in range(5)]
        call = production.store.call

        def pruning(command: Any) -> Any:
            if isinstance(command, Restore) and command.checkpoint_id == ids[1]:
                production.expire(ids[2])
            return call(command)

        production.store.call = pruning  # type: ignore[method-assign]
        assert production.export_bundle("run", tmp_path / "run", plain=True).checkpoints == 4
    with bp.connect("memory://") as laptop:
        laptop.import_bundle(tmp_path / "run")
        assert [each.id for each in laptop.timeline("run")] == [ids[4], ids[3], ids[1], ids[0]]


def test_a_context_that_other_code_can_not_load(tmp_path: Path) -> None:
    """It is not looked at before somebody asks for it."""

    class Point:
        pass

    def load(_: Any) -> Point:
        raise ValueError("of another release")

    bp.state_type("test_bundle_story.point", Point, dump=lambda _: 1, load=load)
    with bp.connect("memory://") as production, bp.connect("memory://") as laptop:
        production.save(thread="run", agent="a", state={"n": 1}, context={"at": Point()})
        production.export_bundle("run", tmp_path / "run")
        assert laptop.import_bundle(tmp_path / "run").checkpoints == 1
