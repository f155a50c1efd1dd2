"""`batonpass stream`: what a job's agents stream, for people and for programs."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..workers.serving import DEADLINE, serving
from .commandline import CommandLine


class Topic(bp.Contract, name="stream.topic"):
    fails: bool = False


app = bp.App("stream")


@app.agent("tell", accepts=Topic, returns=Topic, retries=1)
async def tell(topic: Topic, ctx: bp.Context) -> Topic:
    await ctx.emit("It ", "rains.", {"words": 2}, "And\n", "more")
    if topic.fails:
        raise ValueError("no more words")
    return topic


@pytest.fixture
def cli(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine(store_url, capsys, monkeypatch)


def told(cli: CommandLine, topic: Topic) -> str:
    """A job that has ended."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, cli.url)) as coordinator:

        async def run() -> str:
            job = await coordinator.submit("tell", topic)
            with suppress(bp.JobFailed):
                await job.result(timeout=DEADLINE)
            return job.id

        return portal.call(run)


def test_text_as_it_comes_and_values_in_lines(cli: CommandLine) -> None:
    ran = cli("stream", told(cli, Topic()))
    assert (ran.code, ran.out) == (0, 'It rains.\n{"words":2}\nAnd\nmore\n')


def test_for_programs_each_part_with_its_cursor(cli: CommandLine) -> None:
    job = told(cli, Topic())
    lines = [json.loads(line) for line in cli("stream", job, "--json").out.splitlines()]
    assert [line["data"] for line in lines] == ["It ", "rains.", {"words": 2}, "And\n", "more"]
    assert cli("stream", job, "--after", lines[2]["cursor"]).out == "And\nmore\n"


def test_a_job_that_fails_says_why(cli: CommandLine) -> None:
    ran = cli("stream", told(cli, Topic(fails=True)))
    assert (ran.code, ran.out.startswith("It rains.")) == (1, True)
    assert "no more words" in ran.err


def test_there_has_to_be_a_job(cli: CommandLine) -> None:
    with bp.connect(cli.url):
        assert "there is no job" in cli("stream", "j" + "0" * 23).complaint
        assert "cursor" in cli("stream", told(cli, Topic()), "--after", "no cursor").complaint
