"""Bad input: one line on standard error that says what to do, exit code 2, and nothing written."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from .cli.commandline import CommandLine, Ran, kept
from .workers import processes
from .workers.serving import serving

APP = """
import batonpass as bp

class Topic(bp.Contract, name="bad.topic"):
    text: str
    number: int = 0

app = bp.App("desk")

@app.agent("research", accepts=Topic, returns=Topic)
def research(topic):
    return topic
"""
MODULES = {
    "desk": APP,
    "syntax": "def broken(:\n",
    "raises": "raise RuntimeError('no\\nluck')\n",
    "needs": "import nosuchpackage\n",
    "keyless": "import os\nkey = os.environ['NO_SUCH_KEY']\n",
    "deep": "import keyless\n",
    "exits": "import sys\nsys.exit(3)\n",
    "killed": "import os, sys, threading\nif 'batonpass.workers.children.zygote' in sys.orig_argv:\n"
    "    os.kill(os.getpid(), 9)\nthreading.Thread(target=threading.Event().wait, daemon=True).start()\n"  # not forked
    + APP
    + "\n@app.agent('write', accepts=Topic, returns=Topic, isolation='process')\ndef write(topic): ...\n",
    "empty": "",
    "notapp": "app = 7\n",
    "noagents": "import batonpass as bp\napp = bp.App('empty')\n",
    "crew": APP + "\n@app.crewai('write', accepts=Topic, returns=Topic)\ndef write(): ...\n",
    "graph": APP + "\n@app.langgraph('write', accepts=Topic, returns=Topic)\ndef write(): ...\n",
    "team": APP + "\n@app.autogen('write', accepts=Topic, returns=Topic)\ndef write(): ...\n",
    "third": APP + "\n@app.agent('write', accepts=Topic, returns=Topic, kind='nosuch')\ndef write(): ...\n",
    "clash": APP + "\nclass Other(bp.Contract, name='bad.topic'):\n    more: int\n"
    "\n@app.agent('write', accepts=Other, returns=Topic)\ndef write(other): ...\n",
    "odd": APP + "\n@app.agent('write', accepts=Topic, hands_to={'odd': Topic})\ndef write(topic): ...\n"
    "\nclass Other(bp.Contract, name='bad.other'):\n    more: int\n"
    "\n@app.agent('odd', accepts=Other, returns=Topic)\ndef odd(other): ...\n",
}
# Runs the command line as if the package that the first argument names were not installed.
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Rest(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] == missing else super().find_spec(name, path, target)

missing = sys.argv.pop(1)
sys.meta_path[:] = [Rest if finder is PathFinder else finder for finder in sys.meta_path]
from batonpass.cli import main
main()
"""


GONE = """
import os, tempfile
os.chdir(tempfile.mkdtemp())
os.rmdir(os.getcwd())
from batonpass.cli import main
main()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with apps in it, good and bad."""
    folder = tmp_path / "here"
    folder.mkdir()
    for name, source in MODULES.items():
        (folder / f"{name}.py").write_text(source)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return folder


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandLine]:
    """The command line, on a store that has seen a worker and a job; the test may add nothing to it."""

    class Topic(bp.Contract, name="bad.topic"):
        text: str
        number: int = 0

    app = bp.App("desk")
    app.agent("research", accepts=Topic, returns=Topic)(print)
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
        coordinator.submit("research", Topic(text="first"), key="first")
    before = kept(store_url)
    assert len(before) > 3
    yield CommandLine(store_url, capsys, monkeypatch)
    assert kept(store_url) == before


def process(*command: str) -> Ran:
    """Runs a command as a process of its own, to see what it imports and how it fails at that."""
    ran = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=60)
    return Ran(ran.returncode, ran.stdout, ran.stderr)


def worker(out: Path, *arguments: str) -> Ran:
    """Runs a worker that can't serve, forked off a warm parent. What it prints on standard output counts as errors."""
    code = processes.ran("worker", *arguments, out=out)
    return Ran(code, "", out.read_text())


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["submit", "nosuch", "{}"], "no app here or in the store has an agent 'nosuch'; known agents: research"),
        (["submit", "research", "{}"], "not a valid bad.topic@1: text: Field required"),
        (
            ["submit", "research", '{"text": 7, "number": "x"}'],
            "not a valid bad.topic@1: text: 7 is not of type 'string'; number: 'x' is not of type 'integer'",
        ),
        (["submit", "research", "[1]"], "the payload is a list, but it must be a JSON object"),
        (["submit", "research", "{text: 1}"], "the payload is not JSON: "),
        (["submit", "research", '{"text": [-1e400]}'], "the payload is not JSON: the number -1e400 is too large"),
        (["submit", "research", "@nosuch.json"], "the payload can't be read: "),
        (
            ["submit", "research", '{"text": "other"}', "--key", "first"],
            "the key 'first' was already used with another payload",
        ),
        (
            ["submit", "research", "{}", "--app", "nosuch:app"],
            "there is no module 'nosuch' to import 'nosuch:app' from",
        ),
        (["show", "nonsense"], "'nonsense' is neither a job nor a checkpoint"),
        (["answer", "j00", "x"], "'j00' is neither a question's id nor a job's"),
        (["submit", "research", '{"text": "x"}', "--key", ""], "key='' is the same for every job"),
        (["submit", "research", '{"text": "x"}', "--thread", ""], "thread='' names no thread"),
        (["answer", "j" + "0" * 23, "x"], "there is no job j00"),
        (["cancel", "c" + "0" * 23], "is not a job id: those are a j and 23 more letters and digits"),
        (["timeline", "T", "--before", "x"], "'x' is not a checkpoint id"),
        (["jobs", "--namespace", ""], "the namespace is empty"),
        (["submit", "research", '{"text": "x"}', "--timeout", "3"], "--timeout needs --wait"),
        (
            ["submit", "research", '{"text": "x"}', "--deadline", "soon"],
            "is not a time: write seconds, a duration such as 2h, or e.g. 2031-05",
        ),
        (
            ["submit", "research", '{"text": "x"}', "--deadline", "2020-05-01T09:00Z"],
            "is over: the job would fail at once",
        ),
        (
            ["submit", "research", '{"text": "x"}', "--delay", "soon"],
            "--delay 'soon': write seconds, or a number with s",
        ),
        (["submit", "research", '{"text": "x"}', "--expires", "5y"], "--expires '5y': write seconds, or a number with"),
        (["submit", "research", '{"text": "x"}', "--wait", "--timeout", "-1"], "--timeout '-1': write seconds, or a"),
        (["prune", "--older-than", "nan"], "--older-than 'nan': write seconds, or a number with s, m, h, d or w"),
        (["submit", "research", '{"text": "x"}', "--deadline", "0"], "deadline=0.0 seconds, but it must be from 0.001"),
        (
            ["events", "--types", "job.failed, job.done"],
            "'job.done' is not an event type: write e.g. job.* for all that start with job., or one of",
        ),
        (["events", "--job", "j" + "0" * 23], "there is no job j00"),
        (["events", "--job", "j" + "0" * 23, "--follow"], "there is no job j00"),
        (["events", "--job", "T"], "is not a job id: those are a j and 23 more letters and digits"),
        (["demo", "--kill", "lunch"], "--kill lunch: there is no such stage"),
    ],
)
def test_bad_arguments(cli: CommandLine, here: Path, arguments: list[str], complaint: str) -> None:
    assert complaint in cli(*arguments).complaint


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("redis://127.0.0.1:1", "no Redis at redis://127.0.0.1:1/0: "),
        ("redis://nosuch.invalid", "no Redis at redis://nosuch.invalid:6379/0: "),
        ("redis://127.0.0.1:99999", "can't be used: Port out of range"),
        ("mysql://localhost/x", "store URL 'mysql://localhost/x' can't be used: write sqlite:///file.db, redis://"),
        ("desk.db", "store URL 'desk.db' can't be used: write sqlite:///file.db"),
        ("", "store URL '' can't be used"),
        ("sqlite://desk.db", "names no file: write sqlite:///file.db"),
        ("sqlite:desk.db", "names no file: write sqlite:///file.db"),
        ("sqlite:/desk.db", "names no file: write sqlite:///file.db"),
        ("sqlite:///c#/desk.db", "a store URL can't contain #: in a name or a password, write %23"),
        ("redis://:pass#word@127.0.0.1:1", "a store URL can't contain #: in a name or a password, write %23"),
        ("memory://", "memory:// exists only in its own process, so a command's work would be lost"),
        ("sqlite:///:memory:", "use memory://"),
        ("sqlite:////nosuch/folder/desk.db", "there is no folder /nosuch/folder"),
        ("sqlite:///desk.py", "is not a Batonpass store"),
        ("sqlite:///.", "can't be opened"),
        ("sqlite:///desk.db?namspace=x", "has an unknown option 'namspace': only events and namespace are possible"),
        ("sqlite:///desk.db?namespace=", "the namespace is empty"),
        ("redis://127.0.0.1:1?frob=1", "can't be used"),
    ],
)
@pytest.mark.parametrize("command", [["jobs"], ["submit", "research", '{"text": "x"}']])
def test_a_store_that_can_not_be_used(
    url: str,
    complaint: str,
    command: list[str],
    here: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cli = CommandLine("sqlite:///unused.db", capsys, monkeypatch)
    assert complaint in cli(*command, "--store", url).complaint
    assert {path.name for path in here.iterdir()} == {f"{name}.py" for name in MODULES}
    assert (here / "desk.py").read_text() == APP


@pytest.mark.parametrize("command", [["serve", "--port", "0"], ["webhooks", "run"], ["worker", "desk:app"]])
def test_half_of_a_bracket_in_a_url(
    command: list[str], here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commands that look at the URL before they open the store."""
    cli = CommandLine("sqlite:///unused.db", capsys, monkeypatch)
    complaint = cli(*command, "--store", "redis://:secret@[::1").complaint
    assert complaint == "store URL 'redis://:***@[::1' can't be used: Invalid IPv6 URL"


@pytest.mark.parametrize(
    ("app", "complaint"),
    [
        ("nosuch:app", "there is no module 'nosuch' to import 'nosuch:app' from (in "),
        ("desk.nosuch:app", "there is no module 'desk.nosuch'"),
        ("./sub/desk.py", "'./sub/desk.py' names a file: write the module as Python imports it, sub.desk:app"),
        ("needs:app", "app 'needs:app' can't be imported: No module named 'nosuchpackage' (needs.py, line 1)"),
        ("syntax:app", "app 'syntax:app' can't be imported: SyntaxError: "),
        ("raises:app", "app 'raises:app' can't be imported: RuntimeError: no luck (raises.py, line 1)"),
        ("deep:app", "app 'deep:app' can't be imported: KeyError: 'NO_SUCH_KEY' (keyless.py, line 2)"),
        ("exits:app", "app 'exits:app' can't be imported: SystemExit: 3 (exits.py, line 2)"),
        ("empty:app", "'empty:app' is not a batonpass.App: name one as MODULE:APP"),
        ("notapp", "'notapp' is not a batonpass.App"),
        ("desk:Topic", "'desk:Topic' is not a batonpass.App: name one as desk:app"),
        (":app", "':app' names no module: write MODULE:APP"),
        ("noagents:app", "app 'empty' has no agents: declare some with @app.agent(...)"),
        (
            "clash:app",
            "two contracts are named bad.topic@1 but have different fields: give one of them a higher version=",
        ),
        ("odd:app", "agent 'write' hands bad.topic@1 to 'odd', which accepts bad.other@1"),
        ("third:app", "no adapter for agents of kind 'nosuch': installed kinds: autogen, crewai, function, langgraph"),
    ],
)
def test_an_app_that_can_not_be_served(app: str, complaint: str, here: Path, tmp_path: Path, cli: CommandLine) -> None:
    assert complaint in worker(tmp_path / "printed", app).complaint


@pytest.mark.skipif(sys.platform != "linux", reason="a folder in which even root can make no file")
def test_where_no_store_can_be_made(cli: CommandLine) -> None:
    complaint = cli("submit", "research", "{}", "--store", "sqlite:////proc/x.db").complaint
    assert complaint.startswith("there is no store /proc/x.db, and none can be made there (")
    assert complaint.endswith("): name one with --store or BATONPASS_URL")


@pytest.mark.skipif(sys.platform != "linux", reason="children are forked on Linux")
def test_how_the_process_died_that_imports_the_app(here: Path) -> None:
    ran = process("-m", "batonpass", "worker", "killed:app", "--store", "sqlite:///killed.db")
    *_, complaint = ran.err.splitlines()  # on a busy machine the worker says before that it is still starting it
    assert (ran.code, complaint) == (2, "batonpass: the process that imports 'killed:app' was killed by SIGKILL")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--agents", "research,nosuch"], "app 'desk' has no agent 'nosuch'; it has research"),
        (["--agents", "nosuch", "--agents", "research"], "app 'desk' has no agent 'nosuch'; it has research"),
        (["--store", "redis://127.0.0.1:1"], "no Redis at redis://127.0.0.1:1/0"),
        (["--agents", ""], "agents= (--agents) is empty: leave it out to serve all agents"),
        (["--agents", ","], "agents= (--agents) is empty: leave it out to serve all agents"),
        (["--store", "mysql://x"], "can't be used"),
        (["--lease", "0.1"], "--lease '0.1' is too short for heartbeats, and workers would take over each other's"),
        (["--lease", "0m"], "running jobs: give 0.5 (seconds) or more, and 1 or more on a busy machine"),
        (["--lease", "60w"], "lease=36288000.0 seconds, but it must be from a millisecond to a year"),
        (["--lease", "2y"], "--lease '2y': write seconds, or a number with s, m, h, d or w"),
        (["--grace", "-1"], "--grace '-1': write seconds, or a number with s, m, h, d or w"),
    ],
)
def test_a_worker_that_can_not_start(
    options: list[str], complaint: str, here: Path, tmp_path: Path, cli: CommandLine
) -> None:
    assert complaint in worker(tmp_path / "printed", "desk:app", *options).complaint


@pytest.mark.parametrize(
    ("package", "arguments", "extra"),
    [
        ("crewai", ["worker", "crew:app"], "crewai"),
        ("langgraph", ["worker", "graph:app"], "langgraph"),
        ("autogen_agentchat", ["worker", "team:app"], "autogen"),
        ("redis", ["jobs", "--store", "redis://127.0.0.1:1"], "redis"),
    ],
)
def test_a_missing_extra_names_its_pip_command(
    package: str, arguments: list[str], extra: str, here: Path, cli: CommandLine
) -> None:
    assert f"pip install 'batonpass[{extra}]'" in process("-c", WITHOUT, package, *arguments).complaint


@pytest.mark.parametrize(
    ("module", "package"), [("langgraph", "langchain_core"), ("crewai", "crewai"), ("testing", "pytest")]
)
def test_a_module_for_a_missing_framework_names_its_pip_command(module: str, package: str) -> None:
    importing = WITHOUT.replace("from batonpass.cli import main\nmain()", f"import batonpass.{module}")
    ran = subprocess.run([sys.executable, "-c", importing, package], capture_output=True, text=True)
    [*_, last] = ran.stderr.splitlines()
    assert last.startswith("batonpass.contracts.errors.MissingExtra: ")
    assert f"No module named '{package}'): pip install 'batonpass[{module}]'" in last


def test_a_connection_that_is_not_opened_says_so() -> None:
    unopened: Any = bp.connect("memory://")
    with pytest.raises(AttributeError, match=r"no 'submit': write `async with connect\(\.\.\.\) as coordinator:`"):
        unopened.submit("research", {})


def test_an_undeclared_handoff_ends_the_job_and_goes_nowhere(
    store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job failed here, not the command, so the exit code is 1."""

    class Topic(bp.Contract, name="bad.topic"):
        text: str

    app = bp.App("desk")
    app.agent("other", accepts=Topic, returns=Topic)(lambda topic: topic)

    @app.agent("research", accepts=Topic, returns=Topic)
    def research(topic: Topic, ctx: bp.SyncContext) -> bp.Handoff:
        return ctx.hand_off("other", topic)

    cli = CommandLine(store_url, capsys, monkeypatch)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, store_url)):
        ended = cli("submit", "research", '{"text": "x"}', "--wait")
    [*_, complaint] = ended.err.splitlines()
    assert (ended.code, ended.out) == (1, "")
    assert complaint.endswith("agent 'research' may not hand off to 'other': it declares nobody (hands_to=)")
    [job] = cli("jobs", "--json").json
    assert (job["state"], job["agent"], job["hop"], job["path"]) == ("failed", "research", 0, ["research"])


@pytest.mark.parametrize("command", [["jobs", "--store", "sqlite:///desk.db"], ["worker", "desk:app"]])
def test_a_folder_that_is_gone_is_one_line(command: list[str], cli: CommandLine) -> None:
    """A release's folder was deleted, and a shell is still in it."""
    # -P: without a working directory, an import in `python -c` of 3.13.0 fails on its own (a SystemError).
    assert "the working directory no longer exists" in process("-P", "-c", GONE, *command).complaint
