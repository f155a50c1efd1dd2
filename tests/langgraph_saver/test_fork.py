"""A saver's thread in the other tools: what they show of it, and that graphs find what they fork."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.types import Command

import batonpass as bp
from batonpass.adapters.langgraph import BatonpassSaver
from batonpass.adapters.langgraph.record.bookkeeping import FORMAT
from batonpass.adapters.langgraph.record.fork import branch_of
from batonpass.contracts.checkpoint import Checkpoint
from batonpass.coordinator.branching import Origin
from batonpass.coordinator.rows import Place
from tests.cli.commandline import CommandLine
from tests.service.service import caller, service

from .graphs import Runner, ask, chat, delta, fan, nested, say
from .telling import values

pytestmark = pytest.mark.capability("langgraph")


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


def key_of(config: Any) -> str:
    key: str = config["configurable"]["checkpoint_id"]
    return key


def test_what_is_shown(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        runner = Runner(fan(saver), thread, "sync")
        runner.run({"trace": ["in"]})
        keys = [key_of(state.config) for state in runner.history()]
    line = run("timeline", thread, "--json").json
    assert [each["step"] for each in line] == ["last", "join", "work x3", "left, right", "input", "input"]
    assert [each["context"]["source"] for each in line] == ["loop"] * 5 + ["input"]
    assert {each["framework"] for each in line} == {"langgraph"}
    told = run("diff", line[1]["id"], line[0]["id"]).out
    assert told.splitlines() == ["+ state['trace'][7]: 'last'"]
    assert len(run("restore", line[0]["id"]).json["trace"]) == 8
    assert [each["framework_id"] for each in line] == keys
    heading, *rows = run("timeline", thread).out.splitlines()
    assert heading.endswith("FRAMEWORK'S ID")
    assert all(row.endswith(key) for row, key in zip(rows, keys, strict=True))
    assert "left, right" in rows[3]


def test_a_fork_is_found_by_the_graph(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        talk = Runner(chat(saver), thread, "sync")
        talk.run(say("hello"))
        talk.run(say("again"))
        before = talk.history()
        line = run("timeline", thread, "--json").json
        made = run("fork", line[2]["id"], "--set", "turns=40", "--json").json["id"]
        state = talk.state()
        assert state.values["turns"] == 40
        assert (state.metadata["source"], state.metadata["step"]) == ("update", before[2].metadata["step"] + 1)
        assert state.parent_config == before[2].config
        assert state.next == before[2].next
        history = talk.history()
        assert [each.config for each in history[1:]] == [each.config for each in before]
        assert key_of(history[0].config) > key_of(history[1].config)
        assert talk.run(None)["turns"] == 41
        found = saver.get_tuple(state.config)
        origin = saver.get_tuple(before[2].config)
    assert found is not None
    assert origin is not None
    changed, same = (
        {name for name, one in origin.checkpoint["channel_versions"].items()
         if (found.checkpoint["channel_versions"][name] != one) is is_new}
        for is_new in (True, False)
    )  # fmt: skip
    assert changed == {"turns"}
    assert set(found.checkpoint["updated_channels"] or ()) == {"turns", *(origin.checkpoint["updated_channels"] or ())}
    assert "messages" in same
    [shown] = [each for each in run("timeline", thread, "--json").json if each["id"] == made]
    assert (shown["parent_id"], shown["step"]) == (line[2]["id"], "fork")
    assert run("diff", line[2]["id"], made).out == "~ state['turns']: 1 -> 40\n"


def test_what_is_forked_goes_on_as_after_update_state(store_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(store_url) as saver, bp.connect(store_url) as coordinator:
        results: list[Any] = []
        for way in ("fork", "update"):
            talk = Runner(chat(saver), f"{thread} {way}", "sync")
            talk.run(say("hello"))
            at = next(state for state in talk.history() if state.next == ("answer",))
            added = [HumanMessage("and this")]
            if way == "fork":
                [origin] = [
                    each
                    for each in coordinator.timeline(talk.config["configurable"]["thread_id"])
                    if each.context["step"] == 0
                ]
                coordinator.fork(origin.id, append={"messages": added})
            else:
                talk.update(at.config, {"messages": added}, as_node="__start__")
            state = talk.state()
            done = talk.run(None)
            results.append(
                [values(state.values), state.next, state.metadata["source"], state.metadata["step"], values(done)]
            )
        assert results[0] == results[1]


def test_rollbacks_and_forks_to_other_threads_are_found(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        talk = Runner(chat(saver), thread, "sync")
        talk.run(say("hello"))
        talk.run(say("again"))
        first = next(
            each
            for each in run("timeline", thread, "--json").json
            if each["step"] == "answer" and each["context"]["step"] == 1
        )
        other = Runner(chat(saver), f"{thread} 2", "sync")
        assert run("fork", first["id"], "--thread", f"{thread} 2", "--key", "k").code == 0
        made = other.state()
        assert (made.values["turns"], made.parent_config, made.metadata["source"]) == (1, None, "fork")
        assert run("fork", first["id"], "--thread", f"{thread} 2", "--key", "k").code == 0
        assert other.run(say("on"))["turns"] == 2
        assert run("rollback", thread, first["id"]).code == 0
        assert talk.state().values["turns"] == 1
        assert talk.run(say("anew"))["turns"] == 2
        assert isinstance(talk.state().values["messages"][-1], AIMessage)


def test_a_fork_where_a_graph_asks(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        asking = Runner(ask(saver), thread, "sync")
        asking.run({"trace": ["in"]})
        [newest, *_] = run("timeline", thread, "--json").json
        assert run("fork", newest["id"], "--set", 'trace=["edited"]').code == 0
        assert asking.run(None).get("__interrupt__")  # the tasks of the fork are its own: they ask again
        done = asking.run(Command(resume={each.id: "yes" for each in asking.state().interrupts}))
    assert done["trace"][0] == "edited"
    assert sorted(done["trace"][1:]) == ["close 2", "free", "one", "two"]


def test_what_can_not_be_forked_is_refused(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        lines = Runner(delta(saver), thread, "sync")
        for turn in range(2):
            lines.run({"turns": turn})
        outer = Runner(nested(saver), f"{thread} nested", "sync")
        outer.run({"trace": ["in"]})
        configs: list[Any] = [each.config for each in saver.list(outer.config)]
        inner = [config for config in configs if config["configurable"]["checkpoint_ns"]]
        [newest, *_] = run("timeline", thread, "--json").json
        assert "lines are delta channels" in run("fork", newest["id"], "--set", "turns=9").complaint
        ids = {each["id"]: each for each in run("timeline", f"{thread} nested", "--json").json}
        subs = [each for each, about in ids.items() if about["context"].get("parents")]
        assert len(subs) == len(inner)
        assert "is a subgraph's (part:" in run("fork", subs[0], "--thread", f"{thread} new").complaint
        assert run("fork", subs[0], "--set", 'trace=["in", "first", "edited"]').code == 0
        done = outer.run(Command(resume="yes"))
    assert "edited" in done["trace"]


def test_keys_grow_whatever_the_latest_is() -> None:
    def key(latest: str) -> str:
        native = {"v": FORMAT, "frame": [4, 0, "", {"a": 3, "b": 1.5}, {}, None]}
        checkpoint: Any = Checkpoint.__new__(Checkpoint)
        for name, value in {"id": "c", "native": native, "context": {}}.items():
            object.__setattr__(checkpoint, name, value)
        made = branch_of(Origin(checkpoint, Place("", latest), ["a", "b", "c"], latest, False))
        assert {name: version[0] for name, version in made.native["frame"][3].items()} == {"a": 4, "b": 2, "c": 1}
        return made.key

    ahead = "ff1e5a7e-be2b-6fff-bfff-ffffffffffff"
    assert key(ahead) > ahead
    assert key("") > "1f0"
    assert key("0") > "1f0"
    with pytest.raises(bp.BadSetup, match="no new UUID"):
        key("z")


def test_a_copy_from_the_command_line_goes_on_where_the_graph_asked(run: CommandLine, thread: str) -> None:
    with BatonpassSaver.from_url(run.url) as saver:
        Runner(ask(saver), thread, "sync").run({"trace": ["in"]})
        assert run("copy", thread, f"{thread} copy").code == 0
        copy = Runner(ask(saver), f"{thread} copy", "sync")
        done = copy.run(Command(resume={each.id: "yes" for each in copy.state().interrupts}))
    assert done["trace"] == ["in", "free", "one", "two", "close 2"]  # "free" had finished, and did not run again


WRITTEN: list[Any] = [
    {"type": "human", "content": "z"},
    {"role": "user", "content": "z"},
    ["user", "z"],
    "z",
    HumanMessage("z"),
]


@pytest.mark.parametrize("written", WRITTEN)
def test_messages_that_were_written_are_messages(written: Any, shared_url: str, thread: str) -> None:
    """JSON has no messages. Graphs would find a dict among them."""
    with BatonpassSaver.from_url(shared_url) as own, bp.connect(shared_url) as coordinator:
        runner = Runner(chat(own), thread, "sync")
        runner.run(say("hi"))
        tip = coordinator.latest(thread=thread)
        assert tip
        count = len(tip.state["messages"])
        coordinator.fork(tip.id, append={"messages": [written]}, thread="appended")
        coordinator.fork(tip.id, changes={"messages": [written, *tip.state["messages"]]}, thread="changed")
        coordinator.fork(tip.id, state={**tip.state, "messages": [written]}, thread="stated")
        for name, at, length in (("appended", -1, count + 1), ("changed", 0, count + 1), ("stated", 0, 1)):
            found = Runner(chat(own), name, "sync").state().values["messages"]
            assert len(found) == length
            assert (type(found[at]), found[at].content) == (HumanMessage, "z")


def test_all_of_a_message_that_was_written_is_kept(shared_url: str, thread: str) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    call = {"name": "t", "args": {"n": 1}, "id": "c", "type": "tool_call"}
    message = AIMessage("z", id="i", usage_metadata=usage, tool_calls=[call], response_metadata={"m": 1})
    with BatonpassSaver.from_url(shared_url) as own, bp.connect(shared_url) as coordinator:
        Runner(chat(own), thread, "sync").run(say("hi"))
        tip = coordinator.latest(thread=thread)
        assert tip
        made = coordinator.fork(tip.id, append={"messages": [message.model_dump()]})
        assert coordinator.restore(made.id).state["messages"][-1] == message
        again = [coordinator.fork(tip.id, append={"messages": ["z"]}, thread="keyed", key="k").id for _ in range(2)]
        assert again[0] == again[1]


WRONG: list[Any] = [
    *(3, None, {}, {"type": "human"}),
    {"type": "bogus", "content": ""},
    {"type": "tool", "content": "x"},
    {"type": "human", "content": {"a": 1}},
    {"type": "remove", "content": "", "id": "q"},
]


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_message_is_refused(wrong: Any, shared_url: str, thread: str) -> None:
    with BatonpassSaver.from_url(shared_url) as own, bp.connect(shared_url) as coordinator:
        Runner(chat(own), thread, "sync").run(say("hi"))
        tip = coordinator.latest(thread=thread)
        assert tip
        with pytest.raises(bp.BadSetup, match=r"^the new messages\[0\] is no message \(") as told:
            coordinator.fork(tip.id, append={"messages": [wrong]})
        assert "\n" not in str(told.value)
        with pytest.raises(bp.BadSetup, match="is a list of messages, and would be a"):
            coordinator.fork(tip.id, changes={"messages": wrong})
        assert coordinator.latest(thread=thread) == tip


async def test_what_is_sent_over_http_becomes_messages(shared_url: str, thread: str) -> None:
    """The service's process has not imported LangChain before."""
    with BatonpassSaver.from_url(shared_url) as own, bp.connect(shared_url) as coordinator:
        Runner(chat(own), thread, "sync").run(say("hi"))
        tip = coordinator.latest(thread=thread)
        assert tip
        with service(shared_url) as address:
            async with caller(address) as http:
                body = {"append": {"messages": [{"role": "user", "content": "z"}]}, "thread": "over"}
                assert (await http.post(f"/checkpoints/{tip.id}/fork", json=body)).status_code == 200
                body = {"append": {"messages": [7]}, "thread": "over"}
                assert (await http.post(f"/checkpoints/{tip.id}/fork", json=body)).status_code == 422
        found = Runner(chat(own), "over", "sync").state().values["messages"]
        assert [type(each) for each in found] == [*(type(each) for each in tip.state["messages"]), HumanMessage]
