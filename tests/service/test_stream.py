"""A job's live output, and what happens, for programs in any language: as server-sent events."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager

import anyio
import httpx
import pytest
from langchain_core.messages import ToolMessage

import batonpass as bp
from batonpass.service import streaming
from batonpass.service.bodies import Events

from ..workers.serving import DEADLINE, Ask, Reply, reached, serving
from .service import TOKEN, caller, process, service_of

app = bp.App("stream")


IMAGE = ToolMessage("seen", tool_call_id="1", artifact=b"\xff\xd8")


@app.agent("see", accepts=Ask, returns=bp.State)
async def see(ask: Ask, ctx: bp.Context) -> bp.State:
    await ctx.emit(IMAGE)
    return bp.State(image=await ctx.step("look", lambda: IMAGE))


@app.agent("tell", accepts=Ask, returns=Reply)
async def tell(ask: Ask, ctx: bp.Context) -> Reply:
    await ctx.step("first", ctx.emit, "one\ntwo", {"number": float("nan")})
    await ctx.ask("more?")
    await ctx.emit("three")
    if ask.text == "lines":
        await ctx.emit("a\u2028b\u2029c\x85d")
    return Reply(text="told")


class Reader:
    """A client, as a browser's `EventSource`."""

    def __init__(self, address: str, path: str) -> None:
        self._address, self._path = address, path
        self.first = self.last = ""

    @asynccontextmanager
    async def open(self) -> AsyncIterator[AsyncIterator[tuple[str, object]]]:
        async with self._connected() as response:
            yield self._events(response)

    async def begin(self) -> None:
        """Only learn where it begins."""
        async with self._connected() as response:
            line = await anext(response.aiter_lines())
        name, _, self.last = line.partition(": ")
        assert name == "id"

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[httpx.Response]:
        headers = {"authorization": f"Bearer {TOKEN}"} | ({"last-event-id": self.last} if self.last else {})
        async with (
            httpx.AsyncClient(base_url=self._address, timeout=DEADLINE, headers=headers) as http,
            http.stream("GET", self._path) as response,
        ):
            assert response.status_code == 200
            assert response.headers["content-type"].startswith("text/event-stream")
            yield response

    async def _events(self, response: httpx.Response) -> AsyncIterator[tuple[str, object]]:
        kind, data = "message", ""
        async for line in response.aiter_lines():
            name, _, value = line.partition(": ")
            if name == "id":
                self.last, self.first = value, self.first or value
            elif name == "event":
                kind = value
            elif name == "data":
                data = value
            elif not line and data:
                yield kind, json.loads(data)
                kind, data = "message", ""


async def test_parts_as_they_come_and_after_a_lost_connection_the_rest(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with serving(app, store_url) as coordinator:
            job = await coordinator.submit("tell", Ask())
            reader = Reader(address, f"/jobs/{job.id}/stream")
            with anyio.fail_after(DEADLINE):
                async with reader.open() as events:
                    assert [await anext(events) for _ in range(2)] == [
                        ("message", "one\ntwo"),
                        ("message", {"number": "NaN"}),
                    ]
                await reached(job, bp.JobState.INPUT_REQUIRED)
                async with reader.open() as events:
                    await job.answer("yes")
                    assert await anext(events) == ("message", "three")
                    assert [event async for event in events] == [("end", {"id": job.id, "state": "completed"})]
        async with caller(address) as http:
            whole = await http.get(f"/jobs/{job.id}/stream")
            assert (whole.text.count("data: "), whole.text.count("event: "), "\r" in whole.text) == (4, 1, False)
            assert (await http.get(f"/jobs/{job.id}/stream", params={"after": reader.last})).text.count("id: ") == 0
            again = {"last-event-id": reader.last}  # as an EventSource that connects again to the address it was given
            told = await http.get(f"/jobs/{job.id}/stream", params={"after": reader.first}, headers=again)
            assert told.text.count("id: ") == 0
            assert (await http.get(f"/jobs/{'j' + '0' * 23}/stream")).status_code == 404
            assert (await http.get(f"/jobs/{job.id}/stream", params={"after": "no cursor"})).status_code == 422
            of_another = {"last-event-id": "0" if store_url.startswith("redis") else "5-5"}
            assert (await http.get(f"/jobs/{job.id}/stream", headers=of_another)).status_code == 422
        async with caller(address, token="") as http:
            assert (await http.get(f"/jobs/{job.id}/stream")).status_code == 401


async def test_bytes_in_a_message(sqlite_url: str) -> None:
    """The connection broke, so that an EventSource connected again for ever. Jobs and checkpoints gave a 500."""
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit("see", Ask())
            await job.result(timeout=DEADLINE)
            [step] = await coordinator.timeline(job.id)
            assert '"artifact":"_9g="' in (await http.get(f"/jobs/{job.id}/stream")).text
            assert (await http.get(f"/jobs/{job.id}")).json()["result"]["image"]["artifact"] == "_9g="
            assert (await http.get(f"/checkpoints/{step.id}")).json()["state"]["look"]["artifact"] == "_9g="


async def test_separators_of_lines_are_escaped(sqlite_url: str) -> None:
    """Clients that read lines as Python's `splitlines` does would take a value apart there."""
    with service_of(app, sqlite_url) as address:
        async with serving(app, sqlite_url) as coordinator, caller(address) as http:
            job = await coordinator.submit("tell", Ask(text="lines"))
            await reached(job, bp.JobState.INPUT_REQUIRED)
            await job.answer("yes")
            await job.result(timeout=DEADLINE)
            told = (await http.get(f"/jobs/{job.id}/stream")).text
    assert told.splitlines() == told.split("\n")[:-1]
    assert json.loads(told.split("data: ")[-2].split("\n")[0]) == "a\u2028b\u2029c\x85d"


async def test_what_happens_from_now_on_and_after_a_lost_connection_the_rest(store_url: str) -> None:
    with service_of(app, store_url) as address:
        async with bp.connect(store_url, app=app) as coordinator:
            await coordinator.submit("tell", Ask())
            reader = Reader(address, "/events/stream?types=job.*,checkpoint.saved&after=now")
            with anyio.fail_after(DEADLINE):
                await reader.begin()
                job = (await coordinator.submit("tell", Ask())).id  # while the connection is lost
                async with reader.open() as events:
                    _, told = await anext(events)
                assert isinstance(told, dict)
                assert (told["type"], told["subject"]) == ("batonpass.job.submitted", job)
                await coordinator.job(job).cancel()
                async with reader.open() as events:
                    _, told = await anext(events)
                assert isinstance(told, dict)
                assert (told["type"], told["subject"]) == ("batonpass.job.canceled", job)
            async with caller(address) as http:
                page = (await http.get("/events", params={"after": "now"})).json()
                assert (page["events"], page["after"]) == ([], reader.last)
                assert (await http.get("/events/stream", params={"types": "job.done"})).status_code == 422
                assert (await http.get("/events/stream", params={"after": "nonsense"})).status_code == 422
                assert (await http.get("/events/stream", params={"job": "nonsense"})).status_code == 404


async def test_who_wants_rare_events_is_told_how_far_it_has_looked(
    store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else its last id would be from before what is not kept any more, and it would be told that it missed that."""
    monkeypatch.setattr(streaming, "_ALIVE", 0.05)
    async with (
        bp.connect(store_url, app=app) as coordinator,
        aclosing(streaming.events_of(coordinator, Events(types="schedule.failed"))) as sent,
    ):
        assert (await anext(sent)).id == ""
        for _ in range(3):
            await (await coordinator.submit("tell", Ask())).cancel()
        [*_, newest] = [event.cursor async for event in coordinator.events()]
        with anyio.fail_after(DEADLINE):
            async for each in sent:
                assert (each.data, each.event) == (None, None)
                if each.id == newest:
                    break


async def test_events_that_are_gone_end_it(sqlite_url: str) -> None:
    with service_of(app, sqlite_url) as address:
        async with bp.connect(sqlite_url, app=app) as coordinator:
            for _ in range(3):
                await (await coordinator.submit("tell", Ask())).cancel()
            first, *_, last = [event async for event in coordinator.events()]
            await coordinator.trim_events(keep=1)
        with anyio.fail_after(DEADLINE):
            async with Reader(address, f"/events/stream?after={first.cursor}").open() as events:
                [(kind, told)] = [event async for event in events]
            assert isinstance(told, dict)
            async with Reader(address, f"/events/stream?after={told['after']}").open() as events:
                _, following = await anext(events)
    assert (kind, "are not kept any more" in told["error"], told["type"], told["fields"]) == (
        "error",
        True,
        "Trimmed",
        [],
    )
    assert isinstance(following, dict)
    assert following["cursor"] == last.cursor


async def test_what_can_not_be_read_ends_it(sqlite_url: str) -> None:
    codec = bp.Codec(encrypt={"a": b"k" * 32})
    async with bp.connect(sqlite_url, app=app, codec=codec) as coordinator, app.worker(coordinator):
        job = await coordinator.submit("tell", Ask())
        await reached(job, bp.JobState.INPUT_REQUIRED)
    with process(sqlite_url, "--json", BATONPASS_TOKEN=TOKEN) as running:
        assert running.stdout is not None
        reader = Reader(json.loads(running.stdout.readline())["url"], f"/jobs/{job.id}/stream")
        with anyio.fail_after(DEADLINE):
            async with reader.open() as events:
                [(kind, told)] = [event async for event in events]
    assert (kind, "BATONPASS_ENCRYPT_KEYS" in str(told)) == ("error", True)


@pytest.mark.parametrize("path", ["/jobs/{}/stream", "/events/stream"])
async def test_a_client_that_hangs_up_leaves_nothing(redis_url: str, path: str) -> None:
    """No connection to the store, and no error in the log."""
    async with bp.connect(redis_url, app=app) as coordinator:
        job = await coordinator.submit("tell", Ask())
        with process(redis_url, "--json", BATONPASS_TOKEN=TOKEN) as running:
            assert running.stdout is not None
            address = json.loads(running.stdout.readline())["url"]

            async def begin_and_leave() -> None:
                async with Reader(address, path.format(job.id)).open():
                    pass

            def open_files() -> int:
                return len(os.listdir(f"/proc/{running.pid}/fd"))

            await begin_and_leave()
            before = open_files()
            async with anyio.create_task_group() as tasks:
                for _ in range(20):
                    tasks.start_soon(begin_and_leave)
            with anyio.fail_after(DEADLINE):
                while open_files() > before + 3:
                    await anyio.sleep(0.02)
            running.send_signal(signal.SIGTERM)
            told = running.communicate(timeout=DEADLINE)[1]
    assert "Traceback" not in told


@pytest.mark.parametrize("order", [signal.SIGTERM, signal.SIGINT])
async def test_a_service_that_stops_hangs_up(sqlite_url: str, order: signal.Signals) -> None:
    """And the client, which connects again, goes on."""
    async with bp.connect(sqlite_url, app=app) as coordinator:
        job = await coordinator.submit("tell", Ask())
    with process(sqlite_url, "--json", BATONPASS_TOKEN=TOKEN) as running:
        assert running.stdout is not None
        reader = Reader(json.loads(running.stdout.readline())["url"], f"/jobs/{job.id}/stream")
        with anyio.fail_after(DEADLINE):
            async with reader.open() as events:
                running.send_signal(order)
                with pytest.raises((httpx.RemoteProtocolError, StopAsyncIteration)):
                    await anext(events)
        told = running.communicate(timeout=DEADLINE)[1]
    assert (running.returncode, told) == (0, "")
