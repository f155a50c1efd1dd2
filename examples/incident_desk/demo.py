"""`batonpass demo`: the incident desk on a real log, with a worker killed and a worker paused in the middle."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qs, urlsplit

import typer
from pydantic_core import to_json

import batonpass as bp

from .app import app
from .contracts import Incident, Report
from .ending import Ending
from .log import check_readable
from .models.endpoint import endpoint
from .screen import Screen
from .staff import STAGES, Staff
from .story import Story, Stuck

HOME = Path("batonpass-demo")
RECORDED = Path(__file__).parent / "data" / "cache-outage.log"


def command(
    log: Annotated[Path | None, typer.Option("--input", help="A text log (default: a recorded one)")] = None,
    store: Annotated[
        str | None,
        typer.Option("--store", help="sqlite:///file.db or redis://host:6379 (default: a file in ./batonpass-demo)"),
    ] = None,
    kill: Annotated[str, typer.Option("--kill", help="Whose workers to stop: triage, write, review or none")] = "write",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the outcome as JSON (the story goes to stderr)")
    ] = False,
) -> None:
    """Show a job go from LangGraph to CrewAI to AutoGen, and survive kill -9."""
    if kill not in (*STAGES, "none"):
        raise bp.BadSetup(f"--kill {kill}: there is no such stage, write {', '.join(STAGES)} or none")
    path = (log or RECORDED).absolute()
    check_readable(path)
    title = f"What happened in {path.name}?" if log else "Orders were lost in the sale"
    _check_frameworks()
    screen = Screen(aside=as_json)
    signal.signal(signal.SIGTERM, _stop)
    try:
        ending = _run(screen, Incident(title=title, log=str(path)), store, None if kill == "none" else kill)
    except Stuck as error:
        screen.say("demo", str(error), tone="bad")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        screen.say("demo", "stopped; no worker is left running", tone="bad")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(to_json(ending.as_dict(), indent=2))
    raise typer.Exit(0 if ending.good else 1)


def _run(screen: Screen, incident: Incident, store: str | None, kill: str | None) -> Ending:
    run = f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{os.getpid()}"
    if store and urlsplit(store).scheme == "memory":
        raise bp.BadSetup("memory:// is one process's own, and the demo has several: use sqlite:/// or redis://")
    folder = HOME / run
    url = store or f"sqlite:///{folder}/desk.db"
    # A namespace of its own keeps the demo's agents apart from whatever else the store serves.
    namespace = parse_qs(urlsplit(url).query).get("namespace", [f"demo-{run}"])[-1] if store else None
    options = ["--store", url, *(["--namespace", namespace] if namespace else [])]
    if not store:
        _make(folder)
    with bp.connect(url, namespace=namespace, app=app) as coordinator:
        _make(folder)
        evidence = folder / "evidence.txt"
        _introduce(screen, incident, coordinator.url)
        with Staff(folder, options, {"BATONPASS_DEMO_EVIDENCE": str(evidence.absolute())}) as staff:
            story = Story(coordinator, staff, screen, evidence)
            job: bp.SyncJob[Report] = story.tell(incident, kill)
        ending = Ending(coordinator, job, story, incident, evidence, kill)
        ending.show(screen, _next(coordinator.url, options[2:], job.id))
        return ending


def _stop(signum: int, frame: object) -> None:
    """End as Ctrl-C does, so that SIGTERM leaves no worker behind either."""
    raise KeyboardInterrupt


def _check_frameworks() -> None:
    for extra, package in {"langgraph": "langgraph", "crewai": "crewai", "autogen": "autogen_agentchat"}.items():
        if find_spec(package) is None:
            hint = f"pip install 'batonpass[{extra}]', or [all] for all three"
            if extra == "crewai" and sys.version_info >= (3, 14):
                hint = "use Python 3.11 to 3.13, because CrewAI refuses to be installed on newer ones"
            raise bp.MissingExtra(f"the demo needs {package}: {hint}")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise bp.BadSetup(f"{folder} can't be made ({error.strerror}): run the demo in a folder of yours") from None


def _introduce(screen: Screen, incident: Incident, url: str) -> None:
    real = endpoint()
    screen.heading("Incident desk: triage (LangGraph) -> write (CrewAI) -> review (AutoGen)")
    screen.row(f"input  {incident.log}")
    screen.row(f"store  {url}")
    offline = "offline rules behind each framework's own model interface"
    screen.row(f"models {f'{real.model} at {real.base_url}' if real else offline}")
    screen.raw("")


def _next(url: str, options: list[str], job_id: str) -> list[str]:
    """Commands that show more of the job."""
    beside = Path(sys.executable).with_name("batonpass")
    program = os.path.relpath(beside) if beside.exists() else f"{os.path.relpath(sys.executable)} -m batonpass"
    program = "batonpass" if shutil.which("batonpass") else program
    where = shlex.join(["--store", url, *options])
    return [
        f"{program} show {job_id} {where}",
        f"{program} timeline {job_id} {where}",
        f"{program} events --job {job_id} {where}",
        f"{program} demo --kill review --input YOUR.log",
    ]
