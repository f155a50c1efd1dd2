"""The command line: what each command prints, for people and for programs, and its exit codes."""

from __future__ import annotations

import base64
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..harness.waiting import wait_until
from ..workers.serving import serving
from .commandline import CommandLine


class Order(bp.Contract, name="cli.order"):
    text: str
    tags: tuple[str, ...] = ()


class Bill(bp.Contract, name="cli.bill"):
    text: str
    total: float = 1.5


app = bp.App("cli")


@app.agent("bill", accepts=Order, returns=Bill)
def bill(order: Order, ctx: bp.SyncContext) -> Bill:
    return Bill(text=ctx.step("write", str.upper, order.text))


@app.agent("ask", accepts=Order, returns=Bill)
async def ask(order: Order, ctx: bp.Context) -> Bill:
    return Bill(text=repr(await ctx.ask({"question": "how much?", "for": order.text})))


@app.agent("fail", accepts=Order, returns=Bill, retries=1)
def fail(order: Order) -> Bill:
    raise ValueError(f"no {order.text}\nand no more")


@app.agent("reject", accepts=Order, returns=Bill)
def reject(order: Order, ctx: bp.SyncContext) -> Bill:
    ctx.reject("closed")


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """The command line on a store that knows the app's agents."""
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


@pytest.fixture
def worker(cli: CommandLine) -> Callable[[], AbstractContextManager[None]]:
    """A worker that runs beside the test during a block."""

    @contextmanager
    def working() -> Iterator[None]:
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, cli.url)):
            yield

    return working


def process(*arguments: str, url: str, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "batonpass", *arguments, "--store", url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


Worker = Callable[[], AbstractContextManager[None]]


def test_submit_prints_the_id_and_with_wait_the_result(cli: CommandLine, worker: Worker) -> None:
    submitted = cli("submit", "bill", '{"text": "tea"}', "--key", "k")
    job = submitted.out.strip()
    assert (submitted.code, re.fullmatch(r"j\w{23}", job) is not None) == (0, True)
    assert cli("submit", "bill", '{"text": "tea"}', "--key", "k", "--json").json == {"id": job}
    with worker():
        done = cli("submit", "bill", '{"text": "tea"}', "--key", "k", "--wait", "--timeout", "30")
    assert (done.code, done.err.splitlines()[0], done.json) == (0, f"job {job}", {"text": "TEA", "total": 1.5})


def test_submit_reads_the_payload_from_a_file_or_standard_input(
    cli: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    payload = tmp_path / "order.json"
    payload.write_text('{"text": "from a file, with ü"}')
    assert cli("submit", "bill", f"@{payload}").code == 0
    with payload.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert cli("submit", "bill", "-", "--thread", "mine").code == 0
    with bp.connect(cli.url, app=app) as coordinator:
        assert next(info.thread for info in coordinator.jobs()) == "mine"
    assert [job["thread"] for job in cli("jobs", "--json", "--thread", "mine").json] == ["mine"]


def test_submit_waits_in_vain_and_says_why(cli: CommandLine) -> None:
    late = cli("submit", "bill", '{"text": "tea"}', "--wait", "--timeout", "3.01s")
    assert (late.code, late.out) == (1, "")
    [_, soon, end] = late.err.splitlines()
    assert re.match(r"waiting: job .* no live worker accepts it: start one$", soon)
    assert "no live worker accepts it: start one" in end
    delayed = cli("submit", "bill", '{"text": "tea"}', "--delay", "60", "--json").json["id"]
    shown = cli("show", delayed, "--json").json
    assert (shown["state"], shown["reason"], shown["due_at"] > shown["created_at"]) == ("submitted", "scheduled", True)


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        ("fail", r"failed at agent 'fail', hop 0 \(attempts\): ValueError: no tea and no more \(.+ in fail\)"),
        ("reject", r"was rejected by agent 'reject': closed"),
    ],
)
def test_a_job_that_does_not_end_well_is_exit_code_1(cli: CommandLine, worker: Worker, agent: str, says: str) -> None:
    with worker():
        ended = cli("submit", agent, '{"text": "tea"}', "--wait")
    assert (ended.code, ended.out) == (1, "")
    [about, *_, complaint] = ended.err.splitlines()
    assert re.fullmatch(rf"batonpass: job j\w+ {says}", complaint)
    listed = cli("jobs", "--state", "failed" if agent == "fail" else "rejected")
    assert about.removeprefix("job ") in listed.out, (listed, ended)
    assert "ValueError: no tea and no more" in listed.out if agent == "fail" else listed.out.rstrip().endswith("closed")


def test_jobs_lists_what_is_asked_for(cli: CommandLine, worker: Worker) -> None:
    first = cli("submit", "bill", '{"text": "tea"}').out.strip()
    second = cli("submit", "ask", '{"text": "tea"}').out.strip()
    assert [job["id"] for job in cli("jobs", "--json").json] == [second, first]
    assert [job["id"] for job in cli("jobs", "--json", "--limit", "1").json] == [second]
    assert [job["id"] for job in cli("jobs", "--json", "--agent", "bill").json] == [first]
    assert cli("jobs", "--json", "--state", "completed").json == []
    [heading, line, _] = cli("jobs").out.splitlines()
    assert heading.split() == ["JOB", "STATE", "AGENT", "HOP", "TRY", "CREATED", "ERROR"]
    assert line.split()[:6] == [second, "submitted", "(ready)", "ask", "0", "1"]
    with worker():
        wait_until(lambda: cli("jobs", "--json", "--state", "completed").json, what="the job's end")
    assert cli("jobs", "--state", "nosuch").code == 2


def test_show_tells_all_about_a_job_and_a_checkpoint(cli: CommandLine, worker: Worker) -> None:
    with worker():
        cli("submit", "bill", '{"text": "tea"}', "--key", "k", "--wait")
        [job] = cli("jobs", "--json").json
    told = cli("show", job["id"], "--json").json
    assert (told["payload"], told["result"]) == ({"text": "tea"}, {"text": "TEA", "total": 1.5})
    wanted = {
        "state": "completed",
        "agent": "bill",
        "contract": "cli.order@1",
        "path": ["bill"],
        "key": "k",
        "attempt": 1,
    }
    assert {name: told[name] for name in wanted} == wanted
    text = cli("show", job["id"]).out
    assert re.search(r"^state +completed$", text, re.MULTILINE)
    assert '"text": "TEA"' in text

    checkpoint = cli("show", told["checkpoint_id"], "--json").json
    assert (checkpoint["state"], checkpoint["step"], checkpoint["job"]) == ({"write": "TEA"}, "write", job["id"])
    assert re.search(r"^step +write$", cli("show", told["checkpoint_id"]).out, re.MULTILINE)
    assert cli("show", "nonsense").complaint.startswith("'nonsense' is neither a job nor a checkpoint")
    assert cli("show", "j" + "0" * 23).complaint.startswith("there is no job j000")
    assert cli("show", "c" + "0" * 23).complaint.startswith("there is no checkpoint c000")


@pytest.mark.parametrize(
    ("value", "got"),
    [("yes [or no]", "'yes [or no]'"), ("7", "7"), ('{"a": [1, null]}', "{'a': [1, None]}"), ('"[a] b"', "'[a] b'")],
)
def test_answer_resumes_a_job_that_asks(cli: CommandLine, worker: Worker, value: str, got: str) -> None:
    with worker():
        job = cli("submit", "ask", '{"text": "tea"}').out.strip()
        asking = ["jobs", "--state", "input_required", "--json"]
        [info] = wait_until(lambda: cli(*asking).json, what="the question")
        assert info["question"] == {"question": "how much?", "for": "tea"}
        assert "how much?" in cli("show", job).out
        broken = "'{\"a\": 1' begins like JSON, but Expecting ',' delimiter: line 1 column 8 (char 7): mend it, or"
        assert f'{broken} quote it to give it as text, \'"{{\\"a\\": 1"\'' in cli("answer", job, '{"a": 1').complaint
        assert cli("answer", job, value, "--by", "ann").out.startswith(f"answered {job}: ask asked ")
        assert '"by":"ann"' in cli("events", "--job", job, "--json").out
        wait_until(lambda: cli("jobs", "--state", "completed", "--json").json, what="the end")
        assert cli("show", job, "--json").json["result"]["text"] == got
    assert "it has no open question" in cli("answer", job, "late", "--json").complaint


def test_jobs_that_can_not_be_read_take_no_others_along(
    cli: CommandLine, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BATONPASS_SIGN_KEYS", f"k:{base64.b64encode(bytes(32)).decode()}")
    with worker():
        asking = cli("submit", "ask", '{"text": "tea"}').out.strip()
        wait_until(lambda: cli("show", asking, "--json").json["state"] == "input_required")
    monkeypatch.delenv("BATONPASS_SIGN_KEYS")
    plain = cli("submit", "bill", '{"text": "milk"}').out.strip()
    listed = cli("jobs", "--json").json
    assert [(job["id"], job["unreadable"], job["path"]) for job in listed] == [
        (plain, [], ["bill"]),
        (asking, ["envelope", "question"], []),
    ]
    [item] = cli("inbox", "--json").json
    assert (item["job"], item["question"], item["unreadable"]) == (asking, None, True)
    assert f"not all of job {asking} can be read" in cli("inbox").err
    told = cli("jobs")
    assert (told.code, len(told.out.splitlines())) == (0, 3)
    assert re.match(f"batonpass: not all of job {asking} can be read: .*BATONPASS_SIGN_KEYS", told.err)
    assert re.search("unreadable +envelope, question\n", cli("show", asking).out)


def test_cancel_ends_a_job_once(cli: CommandLine) -> None:
    job, other = (cli("submit", "bill", '{"text": "tea"}').out.strip() for _ in range(2))
    assert cli("cancel", other, "no id").code == 2  # nothing is canceled if one is wrong
    assert cli("cancel", job).out == f"canceled {job}\n"
    assert cli("cancel", job, other).out == f"{job} had already ended\ncanceled {other}\n"
    assert cli("cancel", job, "--json").json == {"canceled": []}
    assert cli("show", job, "--json").json["state"] == "canceled"


def test_timeline_lists_checkpoints_newest_first(cli: CommandLine, worker: Worker) -> None:
    with worker():
        cli("submit", "bill", '{"text": "tea"}', "--thread", "T", "--wait")
    with bp.connect(cli.url, app=app) as coordinator:
        saved = coordinator.save(thread="T", agent="by hand", state={}, step="after", context={"invoice": "I-1"})
    [job] = cli("jobs", "--json").json
    for name in ("T", job["id"]):
        rows = cli("timeline", name, "--json").json
        assert [(row["step_index"], row["step"], row["agent"]) for row in rows] == [
            (1, "after", "by hand"),
            (0, "write", "bill"),
        ]
        assert rows[0]["parent_id"] == rows[1]["id"]
        assert "state" not in rows[0]
    assert [row["step"] for row in cli("timeline", "T", "--before", saved.id, "--json").json] == ["write"]
    assert [row["step"] for row in cli("timeline", "T", "--limit", "1", "--json").json] == ["after"]
    [heading, newest, oldest] = cli("timeline", "T").out.splitlines()
    assert heading.split() == ["#", "CHECKPOINT", "NAME", "AGENT", "HOP", "FRAMEWORK", "STEP", "SAVED", "CONTEXT"]
    assert newest.startswith(f"1  {saved.id}  -     by hand")
    assert newest.endswith("{'invoice': 'I-1'}")
    assert "write" in oldest


def test_events_are_printed_oldest_first(cli: CommandLine, worker: Worker) -> None:
    with worker():
        cli("submit", "bill", '{"text": "tea"}', "--wait")
        cli("submit", "bill", '{"text": "milk"}', "--wait")
    events = [json.loads(line) for line in cli("events", "--json").out.splitlines()]
    each = ["job.submitted", "job.started", "checkpoint.saved", "job.completed"]
    assert [event["type"] for event in events] == [f"batonpass.{kind}" for kind in each * 2]
    second = events[-1]["subject"]
    assert len(cli("events", "--job", second).out.splitlines()) == 4
    kinds = [line.split()[2] for line in cli("events", "--types", "job.submitted, checkpoint.*").out.splitlines()]
    assert kinds == ["job.submitted", "checkpoint.saved"] * 2
    later = [json.loads(line) for line in cli("events", "--json", "--after", events[5]["cursor"]).out.splitlines()]
    assert later == events[6:]
    assert re.search(rf"job\.started +{second} +agent=bill hop=0 worker=\S+ token=\d+ attempt=1", cli("events").out)
    assert "is not an event cursor" in cli("events", "--after", "nonsense").complaint
    told = cli("events", "--job", second).out.splitlines()
    cli("delete", second)
    assert cli("events", "--job", second).out.splitlines()[: len(told)] == told  # they stay


def test_events_are_followed_until_ctrl_c(cli: CommandLine) -> None:
    first = cli("submit", "bill", '{"text": "tea"}').out.strip()
    with process("events", "--follow", "--json", url=cli.url) as following:
        try:
            assert following.stdout is not None
            assert json.loads(following.stdout.readline())["subject"] == first
            second = cli("submit", "bill", '{"text": "milk"}').out.strip()
            event = json.loads(following.stdout.readline())  # comes only while it follows
            assert (event["subject"], event["type"]) == (second, "batonpass.job.submitted")
            following.send_signal(signal.SIGINT)
            out, err = following.communicate(timeout=30)
        finally:
            following.kill()
    assert (out, err, following.returncode) == ("", "", 130)


def test_a_reader_that_goes_away_ends_it_quietly(cli: CommandLine) -> None:
    cli("submit", "bill", '{"text": "tea"}')
    with process("events", "--follow", url=cli.url) as following:
        try:
            assert following.stdout is not None
            following.stdout.readline()
            following.stdout.close()
            cli("submit", "bill", '{"text": "milk"}')
            assert following.wait(30) == 141
            assert following.stderr is not None
            assert following.stderr.read() == ""
        finally:
            following.kill()


def test_a_long_error_takes_no_room_from_ids(cli: CommandLine, worker: Worker) -> None:
    with worker():
        ended = cli("submit", "fail", json.dumps({"text": "tea " * 2000}), "--wait")
    job = ended.err.splitlines()[0].removeprefix("job ")
    assert len(ended.err.splitlines()[-1]) < 1100
    for command in ("jobs", "dead-letters"):
        [_, line] = cli(command).out.splitlines()
        assert (line.split()[0], line.endswith(" …"), len(line) < 400) == (job, True, True)
    assert len(cli("show", job).out) > 5000


@pytest.mark.parametrize("terminal", [False, True])
def test_no_escape_codes_where_nobody_wants_them(cli: CommandLine, terminal: bool) -> None:
    """Not in a pipe, and not in a terminal whose user set NO_COLOR."""
    cli("submit", "fail", '{"text": "tea"}')
    leader, follower = pty.openpty()
    streams = {"stdin": follower, "stdout": follower, "stderr": follower}
    if not terminal:
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    environment = {**os.environ, "TERM": "xterm-256color", **({"NO_COLOR": "1"} if terminal else {})}
    shown = b""
    for command in ("jobs", "events", "--help", "show"):
        call: Any = {"args": [sys.executable, "-m", "batonpass", command], "env": environment, **streams}
        ran = cast("subprocess.Popen[bytes]", subprocess.Popen(**call))
        out, _ = ran.communicate(timeout=30)
        shown += os.read(leader, 65536) if terminal else out
    os.close(leader)
    os.close(follower)
    assert b"JOB" in shown
    assert b"job.submitted" in shown
    assert b"Usage" in shown
    assert b"\x1b" not in shown


def test_the_store_comes_from_the_option_then_the_environment_then_the_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    cli = CommandLine(f"sqlite:///{tmp_path}/environment.db", capsys, monkeypatch)
    begin = ("webhooks", "add", "pager", "https://example.com")
    assert cli(*begin, "--store", f"sqlite:///{tmp_path}/option.db").code == 0
    assert [path.name for path in tmp_path.glob("*.db")] == ["option.db"]
    assert cli(*begin).code == 0
    assert (tmp_path / "environment.db").exists()
    monkeypatch.delenv("BATONPASS_URL")
    assert f"there is no store {tmp_path}/batonpass.db: name one with --store" in cli("jobs").complaint
    assert not (tmp_path / "batonpass.db").exists()
    assert cli(*begin).code == 0
    assert cli("jobs", "--json").json == []


def test_namespaces_keep_jobs_apart(cli: CommandLine) -> None:
    with bp.connect(cli.url, app=app, namespace="other") as coordinator:
        coordinator.declare(app)
    job = cli("submit", "bill", '{"text": "tea"}', "--namespace", "other").out.strip()
    assert [info["id"] for info in cli("jobs", "--namespace", "other", "--json").json] == [job]
    assert cli("jobs", "--json").json == []


def test_agents_are_those_of_the_store_not_those_of_the_demo(cli: CommandLine) -> None:
    """The demo, whose command this process has imported too, has an agent `review` with another contract."""
    reviewing = bp.App("reviewing")
    reviewing.agent("review", accepts=Order, returns=Bill)(print)
    assert "known agents: ask, bill, fail, reject" in cli("submit", "review", "{}").complaint
    with bp.connect(cli.url, app=reviewing) as coordinator:
        coordinator.declare(reviewing)
    assert cli("submit", "review", '{"text": "tea"}').code == 0


def test_a_missing_package_is_one_line(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "standardwebhooks", None)
    ran = cli("webhooks", "run")
    assert (ran.code, ran.err.splitlines()[-1].partition(": ")[0]) == (2, "batonpass")
    assert "pip install 'batonpass[webhooks]'" in ran.err


def test_the_version_is_printed(cli: CommandLine) -> None:
    assert cli("--version").out == f"batonpass {bp.__version__}\n"


@pytest.mark.parametrize("arguments", [["submit", "bill", "{}", "--app"], ["worker", "--json"]])
def test_a_warning_about_the_store_is_one_line(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "careless.py").write_text(
        "import warnings\nimport batonpass as bp\n"
        "warnings.warn('100 % of the disk is a network', bp.UnsafeStore)\napp = bp.App('careless')\n"
    )
    ran = process(*arguments, "careless:app", url=f"sqlite:///{tmp_path}/store.db", cwd=tmp_path)
    _, err = ran.communicate(timeout=30)
    warning = err.splitlines()[0]
    told = json.loads(warning)["message"] if "--json" in arguments else warning.removeprefix("batonpass: ")
    assert (told, ran.returncode) == ("100 % of the disk is a network", 2)
