"""Webhooks to a real web server that fails, hangs, redirects and dies: every event arrives, signed, with one id."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.coordinator.calls import adrive, webhooks
from batonpass.coordinator.commands import TrimEvents
from tests.cli.commandline import CommandLine
from tests.harness.waiting import wait_until
from tests.sqlite.beside import other

from .couriers import all_done, delivering, save, until
from .receiver import CUT, HANG, TRICKLE, Receiver, serving

GOOD_AND_BAD = {"good": "active", "bad": "paused"}


async def paused(coordinator: bp.Coordinator) -> str:
    with anyio.fail_after(20):
        while (found := await coordinator.webhooks())[0].state != "paused":
            await anyio.sleep(0.01)
    return found[0].error


@pytest.fixture(params=["sqlite", "redis"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'hooks.db'}"
    return f"{request.getfixturevalue('redis_server')}?namespace={tmp_path.name}-{id(tmp_path)}"


async def test_every_event_arrives(url: str, receiver: Receiver) -> None:
    """Events arrive in order, and each is accepted once, whatever the address answers before."""
    async with bp.connect(url) as coordinator:
        await save(coordinator, "before")
        receiver.secret = await coordinator.webhook("w", receiver.url, types="checkpoint.*", plain_http=True)
        receiver.answers = [500, HANG, 307, CUT, 200, 503]
        async with delivering(coordinator):
            await save(coordinator, *"abcde")
            await until(lambda: len(receiver.accepted) == 5)
            await all_done(coordinator)
        kept = [event async for event in coordinator.events(types="checkpoint.saved")][1:]
        [info] = await coordinator.webhooks()
    assert receiver.ids == [event.cloud_event()["id"] for event in kept]
    assert receiver.paths == {"/hook"}  # a redirect is not followed
    assert len(set(receiver.asked[:5])) == 1  # one event, one id, however often it is sent
    assert len(receiver.ports) == 3  # one connection, until it hangs or is cut
    assert [event["data"]["step"] for event in receiver.accepted] == list("abcde")
    first, source = receiver.accepted[0], f"/{coordinator.store.namespace}/webhooks/w"
    assert (first["specversion"], first["source"], first["subject"]) == ("1.0", source, "run")
    assert (info.state, info.failures, info.lag) == ("active", 0, 0)


async def test_a_response_that_never_ends_is_one(url: str, receiver: Receiver) -> None:
    async with bp.connect(url) as coordinator, delivering(coordinator, timeout=0.5):
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [TRICKLE]
        await save(coordinator, "a", "b")
        await until(lambda: len(receiver.accepted) == 2)
    assert [event["data"]["step"] for event in receiver.accepted] == ["a", "b"]


async def test_an_address_that_refuses_is_left_alone_for_a_while(url: str, receiver: Receiver) -> None:
    """Longer each time, as docs/running.md says."""
    async with bp.connect(url) as coordinator, delivering(coordinator, pauses=(0.1, 0.3)):
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [500, 503]
        await save(coordinator, "a")
        await until(lambda: len(receiver.accepted) == 1)
    first, second, third = receiver.times
    assert second - first >= 0.1
    assert third - second >= 0.3


async def test_one_that_is_gone_waits_until_it_goes_on(url: str, receiver: Receiver) -> None:
    async with bp.connect(url) as coordinator, delivering(coordinator):
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [200, 410]
        await save(coordinator, *"abc")
        assert await paused(coordinator) == "it answered 410 (1 attempts)"
        await coordinator.resume_webhook("w")
        await until(lambda: len(receiver.accepted) == 3)
        assert receiver.asked[1] == receiver.asked[2]
        receiver.answers = [500] * 5
        await save(coordinator, "d")
        assert await paused(coordinator) == "it answered 500 (5 attempts)"
        await coordinator.resume_webhook("w")
        await until(lambda: len(receiver.accepted) == 4)
        await coordinator.delete_webhook("w")
        assert await coordinator.webhooks() == []
    assert [event["data"]["step"] for event in receiver.accepted] == list("abcd")


async def test_one_that_is_too_far_behind_says_how_to_go_on(url: str, receiver: Receiver) -> None:
    async with bp.connect(url) as coordinator:
        receiver.secret = await coordinator.webhook("my pager", receiver.url, plain_http=True)
        await save(coordinator, *"abc")
        await coordinator.store.acall(TrimEvents(1))
        async with delivering(coordinator):
            told = await paused(coordinator)
            assert "batonpass groups move 'webhook:my pager' --to begin" in told
            assert "batonpass webhooks resume 'my pager'" in told
            await coordinator.move_group("webhook:my pager", to="begin")
            await coordinator.resume_webhook("my pager")
            await until(lambda: len(receiver.accepted) == 1)
    assert receiver.accepted[0]["data"]["step"] == "c"


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/", "http://xn--/"])
async def test_an_address_that_is_none_does_not_keep_others_waiting(address: str, receiver: Receiver) -> None:
    async with bp.connect("memory://") as coordinator:
        await coordinator.webhook("bad", address, plain_http=True)
        receiver.secret = await coordinator.webhook("good", receiver.url, plain_http=True)
        async with delivering(coordinator):
            await save(coordinator, "a")
            await until(lambda: len(receiver.accepted) == 1)
            with anyio.fail_after(20):
                while {info.name: info.state for info in await coordinator.webhooks()} != GOOD_AND_BAD:
                    await anyio.sleep(0.01)


async def test_many_that_hang_do_not_keep_others_waiting(receiver: Receiver) -> None:
    dead = Receiver(answers=[HANG] * 120)
    async with bp.connect("memory://") as coordinator:
        with serving(dead):
            for number in range(120):
                await coordinator.webhook(f"dead {number}", dead.url, plain_http=True)
            receiver.secret = await coordinator.webhook("good", receiver.url, plain_http=True)
            async with delivering(coordinator, timeout=60):
                await save(coordinator, *"abc")
                await until(lambda: len(receiver.accepted) == 3)


@pytest.mark.parametrize("change", [{"failures": 1}, {"paused": "gone"}])
async def test_what_its_user_changed_meanwhile_stays(url: str, change: dict[str, Any]) -> None:
    """Also the secret stays, and the pause that another courier set."""

    async def kept() -> webhooks.Webhook:
        [row] = await adrive(coordinator.store, webhooks.listed())
        return webhooks.read(row)

    async def no_news(of: webhooks.Webhook) -> None:
        before = await kept()
        with pytest.raises(bp.NotFound):
            await adrive(coordinator.store, webhooks.note(replace(of, **change)))
        assert await kept() == before

    async with bp.connect(url) as coordinator:
        await coordinator.webhook("w", "https://old.example/")
        first = await kept()
        await coordinator.webhook("w", "https://new.example/", secret=first.secret)
        await no_news(first)
        second = await kept()
        await coordinator.webhook("w", "https://new.example/", secret="whsec_" + "c2VjcmV0" * 6)
        await no_news(second)
        third = await kept()
        await adrive(coordinator.store, webhooks.note(replace(third, paused="it answered 410")))
        await no_news(third)
        await coordinator.resume_webhook("w")
        await adrive(coordinator.store, webhooks.note(replace(third, **change)))
        assert await kept() == replace(third, **change)


async def test_an_event_that_is_never_taken_is_passed(url: str, receiver: Receiver) -> None:
    """As docs/running.md says."""
    async with bp.connect(url) as coordinator, delivering(coordinator):
        receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
        receiver.answers = [410]
        await save(coordinator, *"ab")
        await paused(coordinator)
        await coordinator.move_group("webhook:w", to="now")
        await coordinator.resume_webhook("w")
        await save(coordinator, "c")
        await until(lambda: len(receiver.accepted) == 1)
    assert [event["data"]["step"] for event in receiver.accepted] == ["c"]


async def test_a_webhook_that_is_changed_keeps_its_secret(url: str) -> None:
    """Its receiver knows that secret. If it changed, a program that declares its webhook at each start would be
    refused."""
    async with bp.connect(url) as coordinator:
        made = await coordinator.webhook("w", "https://old.example/")
        assert await coordinator.webhook("other", "https://old.example/") != made
        assert await coordinator.webhook("w", "https://new.example/", types="job.failed") == made
        given = "whsec_" + "c2VjcmV0" * 6
        assert await coordinator.webhook("w", "https://new.example/", secret=given) == given
        await coordinator.delete_webhook("w")
        assert await coordinator.webhook("w", "https://new.example/") not in (made, given)


async def test_a_server_that_dies(url: str) -> None:
    receiver = Receiver()
    async with bp.connect(url) as coordinator, delivering(coordinator):
        with serving(receiver) as port:
            receiver.secret = await coordinator.webhook("w", receiver.url, plain_http=True)
            await save(coordinator, "a")
            await until(lambda: len(receiver.accepted) == 1)
        await save(coordinator, *"bc")
        assert "ConnectError" in await paused(coordinator)
        with serving(receiver, port):
            await coordinator.resume_webhook("w")
            await until(lambda: len(receiver.accepted) == 3)
    assert [event["data"]["step"] for event in receiver.accepted] == list("abc")


async def test_one_that_can_not_be_read_does_not_keep_others_waiting(tmp_path: Path, receiver: Receiver) -> None:
    """It is listed with what is wrong, and can be removed."""
    path = tmp_path / "hooks.db"
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        await coordinator.webhook("bad", receiver.url, plain_http=True)
        receiver.secret = await coordinator.webhook("good", receiver.url, plain_http=True)
        with other(path) as db:
            db.execute("UPDATE consumer_group SET about = 'no JSON' WHERE name = 'webhook:bad'")
        async with delivering(coordinator):
            await save(coordinator, "a")
            await until(lambda: len(receiver.accepted) == 1)
        bad, good = sorted(await coordinator.webhooks(), key=lambda info: info.name)
        assert (bad.name, bad.state, good.state) == ("bad", "unreadable", "active")
        assert "the webhook of group 'webhook:bad' is not what Batonpass writes" in bad.error
        await coordinator.resume_webhook("good")
        await coordinator.delete_webhook("bad")
        assert [info.name for info in await coordinator.webhooks()] == ["good"]


WRONG = ["no JSON", '{"name": "bad", "news": 1}', None]


@pytest.mark.parametrize("about", WRONG, ids=["damaged", "newer", "secret"])
async def test_one_that_becomes_unreadable_while_it_is_served_keeps_none_waiting(
    about: str | None, tmp_path: Path, receiver: Receiver, caplog: pytest.LogCaptureFixture
) -> None:
    """However the sending of the current event ends, it can't be recorded."""
    path, held = tmp_path / "hooks.db", Receiver(answers=[HANG])
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        await coordinator.webhook("bad", receiver.url, plain_http=True)
        receiver.secret = await coordinator.webhook("good", receiver.url, plain_http=True)
        with serving(held):
            held.secret = await coordinator.webhook("bad", held.url, plain_http=True)
            async with delivering(coordinator, timeout=60):
                await save(coordinator, "a")
                await until(lambda: len(held.asked) == 1 and len(receiver.accepted) == 1)
                with other(path) as db:
                    kept = db.execute("SELECT about FROM consumer_group WHERE name = 'webhook:bad'").fetchone()[0]
                    wrong = about or json.dumps({**json.loads(kept), "secret": "whsec_?"})
                    db.execute("UPDATE consumer_group SET about = ? WHERE name = 'webhook:bad'", (wrong,))
                held.over.set()
                await until(lambda: "not served" in caplog.text)
                await save(coordinator, "b")
                await until(lambda: len(receiver.accepted) == 2)
        states = {info.name: info.state for info in await coordinator.webhooks()}
        assert states == {"good": "active", "bad": "unreadable"}


async def test_an_event_that_can_not_be_read_pauses_those_that_get_it(tmp_path: Path, receiver: Receiver) -> None:
    path = tmp_path / "hooks.db"
    async with bp.connect(f"sqlite:///{path}") as coordinator:
        await coordinator.webhook("bad", receiver.url, plain_http=True)
        await save(coordinator, "a")
        receiver.secret = await coordinator.webhook("good", receiver.url, plain_http=True)
        with other(path) as db:
            db.execute("UPDATE event SET fields = json_set(fields, '$.time', 'noon')")
        async with delivering(coordinator):
            await save(coordinator, "b")
            await until(lambda: len(receiver.accepted) == 1)
            with anyio.fail_after(20):
                while {info.name: info.state for info in await coordinator.webhooks()} != GOOD_AND_BAD:
                    await anyio.sleep(0.01)
        [told] = [info.error for info in await coordinator.webhooks() if info.name == "bad"]
    assert "an event can't be read (event '" in told
    assert "`batonpass groups move webhook:bad --to now`, then `batonpass webhooks resume bad`" in told


@pytest.mark.timeout(90)
def test_the_command_line(
    tmp_path: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process is killed while it sends; the next one goes on."""
    url = f"sqlite:///{tmp_path / 'hooks.db'}"
    line = CommandLine(url, capsys, monkeypatch)
    assert "plain-http" in line("webhooks", "add", "w", receiver.url).complaint
    receiver.secret = line("webhooks", "add", "w", receiver.url, "--plain-http", "--types", "checkpoint.*").out.strip()
    receiver.answers = [200, HANG]
    command = [sys.executable, "-m", "batonpass", "webhooks", "run", "--store", url]
    with bp.connect(url) as coordinator:
        for step in "abc":
            coordinator.save(thread="run", agent="a", state=1, step=step)
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: len(receiver.asked) == 2)
            process.kill()
        coordinator.move_group("webhook:w", to="begin")  # rather than wait for its lease to be over
        with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
            wait_until(lambda: len(receiver.accepted) >= 4)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    assert [event["data"]["step"] for event in receiver.accepted] == list("aabc")
    assert len(set(receiver.asked)) == 3
    [listed] = line("webhooks", "list", "--json").json
    assert (listed["name"], listed["state"], listed["types"]) == ("w", "active", ["batonpass.checkpoint.*"])
    assert "secret" not in json.dumps(listed)
    assert line("webhooks", "remove", "w").code == 0
    assert "no webhook" in line("webhooks", "resume", "w").complaint


@pytest.mark.parametrize(
    ("address", "more"),
    [
        ("http://a.example/x", {}),
        ("ftp://a.example/x", {}),
        ("https://", {}),
        ("https://[", {}),
        ("https://a.example:99999/", {}),
        ("https://a example/x", {}),
        ("https://a.example/x\n", {}),
        ("https://a.example/x", {"secret": "whsec_short"}),
        ("https://a.example/x", {"secret": "no base64!"}),
        ("https://a.example/x", {"start": "later"}),
        ("https://a.example/x", {"types": "*.x"}),
    ],
)
def test_what_is_wrong_with_a_webhook(address: str, more: dict[str, Any]) -> None:
    with bp.connect("memory://") as coordinator, pytest.raises(bp.BadSetup):
        coordinator.webhook("w", address, **more)


def test_a_secret_is_coded_with_the_store(tmp_path: Path) -> None:
    codec = bp.Codec(encrypt={"k": b"k" * 32})
    secret = "whsec_" + "c2VjcmV0" * 6
    with bp.connect(f"sqlite:///{tmp_path / 'x.db'}", codec=codec) as coordinator:
        coordinator.webhook("w", "https://a.example/", secret=secret)
        assert [info.name for info in coordinator.webhooks()] == ["w"]
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("x.db*"))
    assert b"c2VjcmV0" not in stored
