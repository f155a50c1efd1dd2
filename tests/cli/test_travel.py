"""The command line's commands about history: what they print, for people and for programs, and their exit codes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from pydantic import BaseModel

import batonpass as bp
from batonpass.coordinator.paths import put

from ..workers.serving import DEADLINE, Ask, only, serving
from .commandline import CommandLine, kept


@pytest.fixture
def run(sqlite_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(sqlite_url, capsys, monkeypatch)


@pytest.fixture
def saved(run: CommandLine) -> list[str]:
    """Four checkpoints of a thread, oldest first."""
    with bp.connect(run.url) as coordinator:
        ids = []
        for n in range(4):
            state = {"n": n, "messages": [{"text": f"message {i}"} for i in range(n)]}
            made = coordinator.save(thread="run", agent="ab"[n % 2], state=state, step=f"s{n}", context={"k": n})
            ids.append(made.id)
    return ids


def listed(run: CommandLine, *options: str) -> list[str]:
    return [found["id"] for found in run("timeline", "run", "--json", *options).json]


def test_lists_of_what_fits(run: CommandLine, saved: list[str]) -> None:
    assert listed(run) == saved[::-1]
    assert listed(run, "--agent", "a") == [saved[2], saved[0]]
    assert listed(run, "--step", "s1", "--framework", "python") == [saved[1]]
    assert listed(run, "--context", "k=2") == [saved[2]]
    assert listed(run, "--branches") == [saved[3]]
    assert listed(run, "--named") == []
    assert "not JSON" in run("timeline", "run", "--context", "k=x").complaint


@bp.state_type("cli.image")
class Image(BaseModel):
    data: bytes = b"\xff\xd8"
    marks: dict[frozenset[int], str] = {frozenset({1}): "x"}


def test_a_model_with_what_json_lacks_is_shown(run: CommandLine) -> None:
    """It ended with a traceback."""
    image, shown = Image(), {"data": "_9g=", "marks": {"frozenset({1})": "x"}}

    async def see(ask: Ask, ctx: bp.Context) -> bp.State:
        await ctx.step("look", lambda: image)
        await ctx.emit({"image": image})
        return bp.State(image=image)

    app = only(see, returns=bp.State)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, run.url)) as coordinator:

        async def ended() -> str:
            job = await coordinator.submit("a", Ask())
            await job.result(timeout=DEADLINE)
            return job.id

        job = portal.call(ended)
    [made] = [found["id"] for found in run("timeline", job, "--json").json]
    with bp.connect(run.url) as store:
        other = store.fork(made, state={"look": 1}).id
        assert store.restore(made).as_dict()["state"] == {"look": shown}
    assert run("restore", made).json == run("restore", made, "--json").json["state"] == {"look": shown}
    assert run("diff", made, other, "--json").json["changed"][0]["old"] == shown
    assert run("show", job, "--json").json["result"] == {"image": shown}
    assert run("stream", job, "--json").json["data"] == {"image": shown}
    assert all('"data": "_9g="' in run(*command).out for command in (["show", job], ["restore", made]))
    assert '"data":"_9g="' in run("stream", job).out


def test_the_threads_are_listed(run: CommandLine, saved: list[str]) -> None:
    with bp.connect(run.url) as coordinator:
        for name in ("b 2", "\u00fc"):
            coordinator.save(thread=name, agent="a", state=1, step="s")
        assert coordinator.threads() == ["b 2", "run", "\u00fc"]
        assert coordinator.threads(limit=1, after="b 2") == ["run"]
        for wrong in ({"limit": -1}, {"after": 7}):
            with pytest.raises(bp.BadSetup):
                coordinator.threads(**wrong)  # type: ignore[arg-type]
    assert run("threads").out.splitlines() == ["THREAD", "b 2", "run", "\u00fc"]
    first = run("threads", "--limit", "1")
    assert (first.out.splitlines(), first.err) == (["THREAD", "b 2"], "more: --after 'b 2'\n")
    assert run("threads", "--after", "b 2", "--json").json == ["run", "\u00fc"]


def test_a_thread_that_is_not_there(run: CommandLine, saved: list[str]) -> None:
    for options in ([], ["--json"], ["--branches"], ["--agent", "a"]):
        complaint = run("timeline", "nothing", *options).complaint
        assert complaint == "there is no thread 'nothing' with checkpoints: `batonpass threads` lists the threads"
    app = bp.App("not begun")

    @app.agent("a", accepts=bp.State, returns=bp.State)
    def a(state: bp.State) -> bp.State:
        return state

    with bp.connect(run.url, app=app) as coordinator:
        job = coordinator.submit(a, bp.State()).id
        coordinator.submit(a, bp.State(), thread="failed").cancel()
        newest = coordinator.submit(a, bp.State(), thread="failed").id
    for options in ([], ["--branches"], ["--agent", "none"]):
        told = run("timeline", "failed", *options)
        assert (told.code, told.err) == (
            0,
            f"batonpass: 'failed' has no checkpoints yet, but jobs: see `batonpass show {newest}`, the newest\n",
        )
    assert run("timeline", "failed", "--json").json == []
    for thread in (job, "run"):  # a job that has not begun, and a thread that has others
        told = run("timeline", thread, "--agent", "none")
        assert (told.code, told.err) == (0, f"batonpass: {thread!r} has no such checkpoints\n")
    for options in ([], ["--branches"]):
        assert run("timeline", job, *options).err == f"batonpass: {job!r} has no checkpoints yet\n"


def test_pages_of_another_thread_are_refused(run: CommandLine, saved: list[str]) -> None:
    with bp.connect(run.url) as coordinator:
        coordinator.save(thread="other", agent="a", state={})
    assert run("timeline", "other", "--before", saved[0]).complaint.startswith(
        f"checkpoint {saved[0]} is not on thread 'other': before= must be a checkpoint of its timeline"
    )


def test_a_list_names_what_needs_a_key(run: CommandLine, saved: list[str]) -> None:
    with bp.connect(run.url, codec=bp.Codec(encrypt={"k": b"k" * 32}, plain=True)) as coordinator:
        made = coordinator.save(thread="run", agent="a", state={"n": 4})
    told = run("timeline", "run")
    assert (told.code, len(told.out.splitlines())) == (0, 6)
    assert told.err.startswith(
        f"batonpass: not all of checkpoint {made.id} can be read: it is damaged, or needs the keys"
    )
    assert run("timeline", "run", "--json").json[0]["unreadable"] == ["record"]


def test_names(run: CommandLine, saved: list[str]) -> None:
    assert run("name", saved[1], "good").out == f"{saved[1]} good\n"
    assert listed(run, "--named") == [saved[1]]
    assert re.search(rf"{saved[1]} +good", run("timeline", "run").out)
    assert run("restore", "good", "--thread", "run").json == {"n": 1, "messages": [{"text": "message 0"}]}
    assert run("name", saved[2], "good").complaint.startswith(
        f"checkpoint {saved[1]} of thread 'run' is already named 'good'"
    )
    assert run("name", saved[1], "", "--json").json == {"id": saved[1], "name": None}
    assert "no checkpoint of thread 'run' is named 'good'" in run("restore", "good", "--thread", "run").complaint


def test_restore_prints_what_json_lacks(run: CommandLine) -> None:
    state = {"at": datetime(2026, 1, 2, tzinfo=UTC), "cost": Decimal("1.50"), "raw": b"\xff", ("a", 1): {1}}
    with bp.connect(run.url) as coordinator:
        made = coordinator.save(thread="run", agent="a", state=state)
    assert run("restore", made.id).json == {
        "at": "2026-01-02T00:00:00Z",
        "cost": "1.50",
        "raw": "_w==",
        "('a', 1)": [1],
    }
    whole = run("restore", made.id, "--json").json
    assert (whole["id"], whole["thread"], whole["state"]["cost"]) == (made.id, "run", "1.50")
    assert "there is no checkpoint" in run("restore", "c" * 24).complaint


def test_diff(run: CommandLine, saved: list[str]) -> None:
    assert run("diff", saved[1], saved[2]).out.splitlines() == [
        "+ state['messages'][1]: {'text': 'message 1'}",
        "~ state['n']: 1 -> 2",
    ]
    found = run("diff", saved[2], saved[1], "--json").json
    assert found["removed"] == [{"path": "state['messages'][1]", "old": {"text": "message 1"}, "new": None}]
    assert run("diff", saved[1], saved[1]).out == ""
    assert run("diff", saved[1], "nothing").code == 2


def test_fork(run: CommandLine, saved: list[str]) -> None:
    edits = ("--set", 'messages[1].text="edited"', "--add", "state['new']={\"a\": [1]}")
    fork = run("fork", saved[2], *edits).out.strip()
    assert run("diff", saved[2], fork).out.splitlines() == [
        "+ state['new']: {'a': [1]}",
        "~ state['messages'][1]['text']: 'message 1' -> 'edited'",
    ]
    assert listed(run, "--branches") == [fork, saved[3]]
    other = run("fork", saved[2], "--thread", "other", "--key", "k", "--json").json["id"]
    assert run("fork", saved[2], "--thread", "other", "--key", "k").out.strip() == other
    before = kept(run.url)
    assert "'other' already exists" in run("fork", saved[2], "--thread", "other").complaint
    assert "an agent 'nobody'" in run("fork", saved[2], "--agent", "nobody").complaint
    assert "leave out --thread" in run("fork", saved[2], "--agent", "a", "--thread", "x").complaint
    for wrong in ("n", "=1", "n=x", "a.b=1", "messages[9].text=1", "n.x=1", "messages[text]=1", "a..b=1"):
        assert run("fork", saved[2], "--set", wrong).code == 2
    assert "nothing at 'mesages', only n, messages. To add" in run("fork", saved[2], "--set", "mesages=[]").complaint
    assert "nothing at 'txt', only text. To add" in run("fork", saved[2], "--set", "messages[0].txt=1").complaint
    assert "'messages' is there already" in run("fork", saved[2], "--add", "messages=[]").complaint
    assert kept(run.url) == before


elsewhere = bp.App("elsewhere")


@elsewhere.agent("elsewhere", accepts=bp.State, returns=bp.State)
def echo(state: bp.State) -> bp.State:
    return state


def test_a_fork_for_an_agent_is_a_job(run: CommandLine, saved: list[str]) -> None:
    app = bp.App("forks")

    @app.agent("go", accepts=bp.State, returns=bp.State)
    def go(state: bp.State) -> bp.State:
        return state

    with bp.connect(run.url) as coordinator:
        coordinator.declare(app)
    job = run("fork", saved[2], "--agent", "go", "--set", "n=7").out.strip()
    assert run("show", job, "--json").json["checkpoint_id"] == saved[2]
    given = run("fork", saved[2], "--agent", "go", "--set", "n=7", "--payload", '{"n": 8}').out.strip()
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(serving(app, run.url)),
        bp.connect(run.url, app=app) as coordinator,
    ):
        assert coordinator.job(given).result(timeout=30) == bp.State(n=8)
    other = run("fork", saved[2], "--agent", "elsewhere", "--app", f"{__name__}:elsewhere").out.strip()
    assert run("show", other, "--json").json["agent"] == "elsewhere"
    assert "--app needs --agent" in run("fork", saved[2], "--app", f"{__name__}:elsewhere").complaint
    assert "--payload needs --agent" in run("fork", saved[2], "--payload", "{}").complaint


def test_rollback(run: CommandLine, saved: list[str]) -> None:
    made = run("rollback", "run", saved[0], "--json").json
    assert made["to"] == saved[0]
    assert run("restore", made["id"]).json == {"n": 0, "messages": []}
    run("name", saved[2], "good")
    again = run("rollback", "run", "good").out.strip()
    assert listed(run)[0] == again
    assert "on thread 'run', not 'other'" in run("rollback", "other", saved[0]).complaint


def test_copy_prune_delete(run: CommandLine, saved: list[str]) -> None:
    assert run("copy", "run", "twin").out == "copied 4 checkpoint(s) of run to twin\n"
    assert run("copy", "run", "twin").code == 2
    run("name", saved[0], "first")
    assert run("prune", "run", "--keep-last", "1").out == "freed 2 checkpoints\n"
    assert listed(run) == [saved[3], saved[0]]
    assert run("prune", "run", "--keep-last", "1", "--named", "--json").json == {"checkpoints": 1}
    assert run("prune", "--older-than", "30d").out == "freed 0 checkpoints\n"
    assert run("prune", "--older-than", "0", "--keep-last", "2").out == "freed 2 checkpoints\n"
    assert run("delete", "twin").out == "deleted 2 checkpoint(s) and 0 job(s) of twin\n"
    assert run("delete", "run", "--json").json == {"thread": "run", "checkpoints": 1, "jobs": 0}
    for wrong in ((), ("--older-than", "3x"), ("--jobs",), ("--jobs", "--older-than", "1d", "--keep-last", "1")):
        assert run("prune", *wrong).code == 2


def test_jobs_go(run: CommandLine) -> None:
    app = bp.App("jobs")

    @app.agent("go", accepts=bp.State, returns=bp.State)
    def go(state: bp.State) -> bp.State:
        return state

    with bp.connect(run.url, app=app) as coordinator:
        jobs = [coordinator.submit("go", {"n": n}) for n in range(3)]
        jobs[0].cancel()
        jobs[1].cancel()
    assert "cancel it" in run("delete", jobs[2].id).complaint
    assert run("delete", jobs[0].id).out == f"deleted job {jobs[0].id}\n"
    assert run("prune", "--jobs", "--older-than", "1d").out == "freed 0 jobs\n"
    assert run("prune", "--jobs", "--older-than", "0s", "--json").json == {"jobs": 1}
    assert [job["id"] for job in run("jobs", "--json").json] == [jobs[2].id]


PLACES: list[tuple[str, Any]] = [
    ("a", {"a": 9, "b": [{"c": 1}]}),
    ("b[0].c", {"a": 1, "b": [{"c": 9}]}),
    ("state['b'][0]['c']", {"a": 1, "b": [{"c": 9}]}),
    ("b[-1]", {"a": 1, "b": [9]}),
    ("b[1]", {"a": 1, "b": [{"c": 1}, 9]}),
]
NEW_NAMES: list[tuple[str, Any]] = [
    ("['x y']", {"a": 1, "b": [{"c": 1}], "x y": 9}),
    ("b[0][(1, 'k')]", {"a": 1, "b": [{"c": 1, (1, "k"): 9}]}),
]


@pytest.mark.parametrize(("place", "expected"), PLACES)
def test_places(place: str, expected: Any) -> None:
    assert put({"a": 1, "b": [{"c": 1}]}, place, 9) == expected


@pytest.mark.parametrize(("place", "expected"), NEW_NAMES)
def test_new_names(place: str, expected: Any) -> None:
    state = {"a": 1, "b": [{"c": 1}]}
    with pytest.raises(bp.BadSetup, match="To add a new name, use --add"):
        put(state, place, 9)
    assert put(state, place, 9, new=True) == expected
    with pytest.raises(bp.BadSetup, match="is there already"):
        put(state, place, 9, new=True)


class Turn(BaseModel, frozen=True):
    text: str
    tags: list[str] = []


@dataclass(frozen=True)
class Seen:
    turn: Turn
    at: int = 0


def test_places_in_objects() -> None:
    """What `diff` prints of a model or a dataclass can be set."""
    state = {"seen": [Seen(Turn(text="hi", tags=["a"]))]}
    changed = put(put(state, "seen[0].turn.text", "hello"), "state['seen'][0].at", 3)
    assert changed == {"seen": [Seen(Turn(text="hello", tags=["a"]), 3)]}
    assert put(changed, "seen[0].turn.tags[1]", "b")["seen"][0].turn.tags == ["a", "b"]
    with pytest.raises(bp.BadSetup, match=r"a Turn has text, tags, not 'txt'"):
        put(changed, "seen[0].turn.txt", "x")
    with pytest.raises(
        bp.BadSetup, match=r"'seen\[0\].turn.text' can't be that in a Turn: Input should be a valid string"
    ):
        put(changed, "seen[0].turn.text", 7)
