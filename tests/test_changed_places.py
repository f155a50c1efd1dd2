"""`changes=` of places in a state's values, as `--set` takes them: in Python, over HTTP, and on the command line."""

from __future__ import annotations

from typing import Any

import pytest
from anyio.to_thread import run_sync
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState

import batonpass as bp
from batonpass.coordinator.paths import edited
from batonpass.testing import serving

from .apps import langgraph_kit
from .apps.langgraph_app import Topic
from .cli.commandline import CommandLine
from .service.service import caller, service_of

STATE: dict[str, Any] = {"messages": [{"content": "hi", "by": {"name": "Ann"}}], "a.b": 1, "n": 1, "a.b[0]": 2}


async def saved(coordinator: bp.Coordinator) -> str:
    return (await coordinator.save(thread="t", agent="x", state=STATE)).id


@pytest.mark.parametrize(
    ("changes", "after"),
    [
        ({"messages[0].content": "x"}, {"messages": [{"content": "x", "by": {"name": "Ann"}}]}),
        ({"state['messages'][0]['content']": "x"}, {"messages": [{"content": "x", "by": {"name": "Ann"}}]}),
        (
            {"messages[0].content": "x", "messages[0].by.name": "Bob", "n": 2},
            {"messages": [{"content": "x", "by": {"name": "Bob"}}], "n": 2},
        ),
        ({"messages": [], "messages[0]": "x"}, {"messages": ["x"]}),
        ({"messages[1]": "new"}, {"messages": [*STATE["messages"], "new"]}),
        ({"a.b": 5, "a.b[0]": 6}, {"a.b": 5, "a.b[0]": 6}),
        ({"other.name": 1, "new": 2}, {"other.name": 1, "new": 2}),
    ],
)
async def test_a_forks_changes(changes: dict[str, Any], after: dict[str, Any], store_url: str) -> None:
    async with bp.connect(store_url) as coordinator:
        origin = await saved(coordinator)
        fork = await coordinator.fork(origin, changes=changes, thread="other")
        assert (await coordinator.restore(fork.id)).state == {**STATE, **after}
        assert (await coordinator.restore(origin)).state == STATE


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (
            {"changes": {"messages[0].nosuch": 1}},
            "only content, by. To add a new name, use --add on the command line, or",
        ),
        ({"changes": {"messages[5].content": 1}}, r"there is no 'messages\[5\].content': a list of 1 has no 5"),
        ({"changes": {"mesages[0].content": 1}}, "has nothing at 'mesages', only messages, a.b, n"),
        ({"changes": {"messages[": 1}}, r"'messages\[' is not a place in a state"),
        ({"changes": {"n.m": 1}}, "there is no 'n.m': what holds 'm' is a int"),
        ({"append": {"messages[0].content": "x"}}, r"append= takes the names of values: to change 'messages\[0\]"),
    ],
)
async def test_a_place_that_is_not_there(edit: dict[str, Any], complaint: str, store_url: str) -> None:
    async with bp.connect(store_url) as coordinator:
        origin = await saved(coordinator)
        with pytest.raises(bp.BadSetup, match=complaint):
            await coordinator.fork(origin, **edit)
        assert len(await coordinator.timeline("t")) == 1


@pytest.mark.parametrize("key", ["-" * 3000 + "1", "{1:2}", "{{}:1}"], ids=("minus", "dict", "of a dict"))
def test_keys_in_brackets_that_python_does_not_read(key: str) -> None:
    """What is nested deeply was an error of Python's parser."""
    with pytest.raises(bp.BadSetup, match="write texts in brackets with quotes"):
        edited({"a": {"x": 1}}, [(f"a[{key}]", 1)], ())


def talk() -> tuple[bp.App, list[str]]:
    """A graph that fails where it has spoken, until it is told otherwise."""
    down = ["down"]

    def first(state: Any) -> Any:
        return {"messages": [AIMessage("x")]}

    def second(state: Any) -> Any:
        if down:
            raise OSError("the network is down")
        said = "|".join(str(each.content) for each in state["messages"])
        return {"messages": [AIMessage(f'{{"notes": ["{said}"]}}')]}

    return langgraph_kit.only(lambda: langgraph_kit.graph(first, second, state=MessagesState), retries=1), down


@pytest.mark.capability("langgraph")
@pytest.mark.parametrize("way", ["python", "http"])
async def test_a_redrives_changes(way: str, store_url: str) -> None:
    app, down = talk()
    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        down.clear()
        unknown, known = "there is no 'nosuch': the graph's state has only messages", {"messages[0].content": "snow"}
        if way == "python":
            with pytest.raises(bp.BadSetup, match=unknown):
                await coordinator.redrive(job.id, changes={"nosuch": 1})
            await coordinator.redrive(job.id, changes=known)
        else:
            with service_of(app, store_url) as address:
                async with caller(address) as http:
                    reply = await http.post(f"/jobs/{job.id}/redrive", json={"add": {"nosuch": 1}})
                    assert (reply.status_code, reply.json()["error"]) == (422, unknown)
                    reply = await http.post(f"/jobs/{job.id}/redrive", json={"changes": {"nosuch": 1}})
                    assert reply.status_code == 422
                    assert "there is no 'nosuch': the state has only messages" in reply.json()["error"]
                    reply = await http.post(f"/jobs/{job.id}/redrive", json={"changes": known})
                    assert reply.status_code == 200
        assert (await job.result(timeout=60)).notes == ["snow|x"]


@pytest.mark.capability("langgraph")
async def test_the_command_line_after_a_rollback(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It changes the state from which the job goes on, and not the job's last one."""
    app, down = talk()
    run = CommandLine(store_url, capsys, monkeypatch)
    async with serving(app, url=store_url) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        with pytest.raises(bp.JobFailed, match="network"):
            await job.result(timeout=60)
        down.clear()
        [begun] = [each for each in await coordinator.timeline(thread=job.id) if each.step == "input"]
        assert (await run_sync(run, "rollback", job.id, begun.id)).code == 0
        refused = await run_sync(run, "redrive", job.id, "--add", "nosuch=1")
        assert refused.complaint == "there is no 'nosuch': the graph's state has only messages"
        assert (await run_sync(run, "redrive", job.id, "--set", 'messages[0].content="snow"')).code == 0
        assert (await job.result(timeout=60)).notes == ["snow|x"]
        assert len((await coordinator.restore((await job.info()).checkpoint_id or "")).state["messages"]) == 3
