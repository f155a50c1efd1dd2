"""Lists for people say when they go on, and how to see the rest."""

from __future__ import annotations

import anyio
import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..workers.serving import DEADLINE, Ask, Reply, only, serving
from .commandline import CommandLine


def work(ask: Ask, ctx: bp.SyncContext) -> Reply:
    if ask.text == "ask":
        ctx.ask("sure?")
    raise ValueError("no")


app = only(work, retries=1)


async def asked(url: str, number: int) -> None:
    """Wait until so many questions are open."""
    async with bp.connect(url) as coordinator:
        with anyio.fail_after(DEADLINE):
            while len(await coordinator.inbox()) < number:
                await anyio.sleep(0.02)


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    """A command line on a store with three jobs that failed, three that ask, and three checkpoints of a thread."""
    with bp.connect(store_url, app=app) as coordinator:
        for number in range(3):
            coordinator.save(thread="t", agent="a", state=number)
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, store_url)):
            jobs = [coordinator.submit("a", Ask(text=text)) for text in ("fail", "ask") * 3]
            for job in jobs[::2]:
                with pytest.raises(bp.JobFailed):
                    job.result(timeout=DEADLINE)
            portal.call(asked, store_url, 3)
    return CommandLine(store_url, capsys, monkeypatch)


LISTS = [("jobs",), ("dead-letters",), ("inbox",), ("timeline", "t")]


@pytest.mark.parametrize("command", LISTS, ids=lambda command: command[0])
def test_a_full_page_names_the_next(run: CommandLine, command: tuple[str, ...]) -> None:
    option = "--after" if command == ("inbox",) else "--before"
    ids = [each["id"] for each in run(*command, "--json").json]
    first = run(*command, "--limit", "2")
    assert (first.code, first.err, first.out.count("\n")) == (0, f"more: {option} {ids[1]}\n", 3)
    rest = run(*command, *first.err.split()[1:])
    assert (rest.err, [each in rest.out for each in ids[:3]]) == ("", [False, False, True])
    whole = run(*command, "--limit", str(len(ids)))
    assert (whole.err, whole.out.count("\n")) == ("", len(ids) + 1)
    told = run(*command, "--limit", "2", "--json")
    assert (told.err, [each["id"] for each in told.json]) == ("", ids[:2])


def test_branches_go_on_with_a_higher_limit(run: CommandLine) -> None:
    with bp.connect(run.url) as coordinator:
        first = coordinator.timeline("t")[-1].id
        for number in range(2):
            coordinator.fork(first, state=-number)
    assert run("timeline", "t", "--branches", "--limit", "2").err == "more: --limit 4\n"
    assert run("timeline", "t", "--branches", "--limit", "4").err == ""
