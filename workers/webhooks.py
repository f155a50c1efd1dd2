"""Webhooks: sends events to the URLs that subscribe to them."""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from shlex import quote as quoted
from typing import TYPE_CHECKING
from urllib.parse import quote

import anyio

from ..contracts.errors import BadSetup, BatonpassError, Corrupted, MissingExtra, NotFound, Trimmed, Unavailable
from ..contracts.event import Event
from ..contracts.names import digest
from ..coordinator.calls import adrive, webhooks
from ..coordinator.calls.groups import Work
from ..coordinator.calls.webhooks import Webhook
from ..coordinator.client import Coordinator
from ..coordinator.commands import GroupRow, Which
from ..coordinator.consumer import Consumer
from .single import single
from .trouble import Troubles

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger("batonpass.webhooks")
# Seconds between an event's attempts: some four hours in all, after which the webhook is paused.
PAUSES = (1.0, 5.0, 30.0, 120.0, 600.0, 1800.0, 3600.0, 7200.0)
# Seconds that a URL may take to respond.
_TIMEOUT = 15.0
# Seconds between two looks for new and changed webhooks, and between two signs of life of one that waits.
_LOOK, _SIGN = 1.0, 20.0
# ... and before a webhook that could not be served at all is tried again.
_REST = 60.0
# ... and how long events belong to the courier that has taken them, and how many it takes at once.
_LEASE, _BATCH = 60.0, 20
_GONE = 410
_ALL = ""  # who is in trouble if the webhooks themselves can't be read: no webhook has this name
# Bytes of a response's body that are read, and the seconds for that: a server that is hung up on may take back what it
# did.
_BODY, _HEAR = 65_536, 1.0


class Failure(Exception):
    """An event was not accepted. `final` means that retrying is pointless."""

    def __init__(self, text: str, *, final: bool = False) -> None:
        super().__init__(text)
        self.final = final


async def _hear_out(reply: httpx.Response) -> None:
    """Read the end of a short response, so that the connection serves the next event, too. The status is known."""
    read = 0
    with anyio.move_on_after(_HEAR), suppress(Exception):
        async for piece in reply.aiter_raw():
            read += len(piece)
            if read > _BODY:
                return


class Courier:
    """Serves all webhooks of a namespace. Couriers share the work. `pauses` and `timeout` are in seconds."""

    def __init__(
        self, coordinator: Coordinator, *, pauses: Sequence[float] = PAUSES, timeout: float = _TIMEOUT
    ) -> None:
        try:
            import httpx
            from standardwebhooks import Webhook as Signer
        except ImportError:
            raise MissingExtra("webhooks need httpx and standardwebhooks: pip install 'batonpass[webhooks]'") from None
        self._coordinator = coordinator
        self._pauses = pauses
        self._timeout = timeout
        self._signer = Signer
        self._served: dict[str, tuple[Webhook, anyio.CancelScope]] = {}
        self._unread: dict[str, str] = {}  # what is wrong with a group's webhook, as logged
        self._looks = 0
        self._seen: dict[str, tuple[int, int]] = {}  # each webhook's failures as stored, and at which look
        self._failing: set[str] = set()  # the webhooks whose failures are logged
        self._trouble = Troubles("webhooks wait for the store", _log)  # of all of them together
        # No redirects: they could lead a signed event anywhere. Any number of connections: addresses that hang must not
        # use up what others need; each webhook sends one event at a time.
        limits = httpx.Limits(max_connections=None)
        self._http = httpx.AsyncClient(follow_redirects=False, timeout=timeout, limits=limits)

    async def run(self) -> None:
        """Serve until cancelled. What is being sent then is sent again by the next courier."""
        served = self._served
        async with self._http, anyio.create_task_group() as tasks:
            while True:
                self._looks += 1
                try:
                    rows = await adrive(self._coordinator.store, webhooks.listed())
                except Unavailable as error:
                    self._trouble.met(_ALL, error)
                else:
                    self._trouble.over(_ALL)
                    found = self._readable(rows)
                    self._seen = {each.name: (self._looks, each.failures) for each in found}
                    wanted = {each.name: each.settings for each in found if not each.paused}
                    for name in [name for name, (settings, _) in served.items() if wanted.get(name) != settings]:
                        served.pop(name)[1].cancel()
                    for each in found:
                        if each.name in wanted and each.name not in served:
                            served[each.name] = (wanted[each.name], anyio.CancelScope())
                            tasks.start_soon(self._serve, each, served[each.name][1])
                await anyio.sleep(_LOOK)

    def _readable(self, rows: Sequence[GroupRow]) -> list[Webhook]:
        found: list[Webhook] = []
        before, self._unread = self._unread, {}
        for row in rows:
            try:
                found.append(webhooks.read(row))
            except BatonpassError as error:
                self._unread[row.name] = str(error)
                if before.get(row.name) != str(error):
                    _log.error("a webhook is not served: %s", error)
        return found

    async def _serve(self, webhook: Webhook, scope: anyio.CancelScope) -> None:
        with scope:
            await self._work(webhook)
        self._failing.discard(webhook.name)
        if self._served.get(webhook.name, (None, None))[1] is scope:
            del self._served[webhook.name]

    async def _work(self, webhook: Webhook) -> None:
        """Send until it is paused, changed or deleted."""
        try:
            await self._consume(webhook)
        except NotFound as error:
            _log.info("webhook %s is no longer served: %s", webhook.name, error)
        except Exception as error:  # whatever is wrong with one, others must be served
            told = single(error)
            if isinstance(told, BadSetup):  # none can be served: the store's user lacks a permission
                raise
            trace = None if isinstance(told, BatonpassError) else told
            _log.error("webhook %s is not served for %g s: %s", webhook.name, _REST, told, exc_info=trace)
            await anyio.sleep(_REST)  # a change ends this

    async def _consume(self, webhook: Webhook) -> None:
        try:
            async with self._consumer(webhook) as events:
                async for event in events:
                    webhook = await self._delivered(webhook, event, events)
                    if webhook.paused:
                        return
        except Trimmed:
            await self._pause(webhook, "events that it has not sent are not kept any more", "begin")
        except Corrupted as error:
            await self._pause(webhook, f"an event can't be read ({error})", "now")

    async def _pause(self, webhook: Webhook, why: str, to: str) -> None:
        move, resume = f"groups move {quoted(webhook.group)} --to {to}", f"webhooks resume {quoted(webhook.name)}"
        text = f"{why}: `batonpass {move}`, then `batonpass {resume}`"
        await self._note(replace(webhook, paused=text))
        _log.error("webhook %s is paused: %s", webhook.name, text)

    def _consumer(self, webhook: Webhook) -> Consumer:
        where = self._coordinator
        which = Which(types=webhook.types)
        work = Work(webhook.group, which, start="begin", lease=_LEASE, batch=_BATCH, source=where.url)
        return Consumer(where.store, work)

    async def _delivered(self, webhook: Webhook, event: Event, events: Consumer) -> Webhook:
        """Send an event until it is accepted or given up. Returns the webhook as it is then."""
        while True:
            try:
                await self._send(webhook, event)
            except Failure as failure:
                webhook = await self._failed(webhook, failure)
                if webhook.paused:
                    return webhook
                await self._wait(webhook, events)
                continue
            if webhook.failures:
                webhook = await self._recovered(webhook)
            await self._until_done(webhook, events.ack)
            return webhook

    async def _failed(self, webhook: Webhook, failure: Failure) -> Webhook:
        """Record that an attempt failed, and log it if it is the first: it may be hours before the webhook pauses."""
        name, over = webhook.name, failure.final or webhook.failures >= len(self._pauses)
        webhook = replace(webhook, failures=webhook.failures + 1, error=str(failure))
        if over:
            webhook = replace(webhook, paused=f"{failure} ({webhook.failures} attempts)")
            _log.error("webhook %s is paused: %s", name, webhook.paused)
            self._failing.discard(name)
        elif name not in self._failing:
            pause = self._pauses[webhook.failures - 1]
            _log.warning("webhook %s could not send an event, and tries again in %g s: %s", name, pause, failure)
            self._failing.add(name)
        await self._note(webhook)
        return webhook

    async def _recovered(self, webhook: Webhook) -> Webhook:
        told = "webhook %s: its receiver accepts events again, after %d attempt(s) failed"
        _log.info(told, webhook.name, webhook.failures)
        self._failing.discard(webhook.name)
        webhook = replace(webhook, failures=0, error="")
        await self._note(webhook)
        return webhook

    def _signed(self, webhook: Webhook, event: Event) -> tuple[str, dict[str, str]]:
        """An event's body and headers."""
        namespace = self._coordinator.store.namespace
        told = event.cloud_event(source=f"/{quote(namespace, safe='')}/webhooks/{quote(webhook.name, safe='')}")
        body = json.dumps(told, ensure_ascii=False)
        # The same for all webhooks, so that a receiver of two takes the event once. But each namespace counts from 1.
        id_, now = f"evt_{digest(namespace, told['id'])}", datetime.now(UTC)
        return body, {
            "content-type": "application/cloudevents+json; charset=utf-8",
            "user-agent": "batonpass",
            "webhook-id": id_,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": self._signer(webhook.secret).sign(id_, now, body),
        }

    async def _send(self, webhook: Webhook, event: Event) -> None:
        body, headers = self._signed(webhook, event)
        status = 0
        try:
            with anyio.move_on_after(self._timeout):  # even if the response trickles in
                async with self._http.stream("POST", webhook.url, content=body.encode(), headers=headers) as reply:
                    status = reply.status_code
                    await _hear_out(reply)
        except Exception as error:  # whatever the libraries raise for one URL, others must be served
            found = single(error)
            raise Failure(f"{type(found).__name__}: {found}"[:200]) from None
        if not status:
            raise Failure(f"no answer within {self._timeout:g} s")
        if not 200 <= status < 300:
            raise Failure(f"it answered {status}", final=status == _GONE)

    async def _wait(self, webhook: Webhook, events: Consumer) -> None:
        """Wait until the next attempt, and keep the event's lease. Ends early if the webhook is resumed, or if another
        courier's event shows that the receiver may be back."""
        since, now = self._looks, anyio.current_time()
        end, sign = now + self._pauses[webhook.failures - 1], now + _SIGN
        while (now := anyio.current_time()) < end:
            await anyio.sleep(min(end - now, _LOOK))
            look, failures = self._seen.get(webhook.name, (0, webhook.failures))
            # What an earlier look has found may be older than the failure that was noted last. The attempts count on,
            # whatever was stored: else an event that is always refused could be tried for ever.
            if look > since and failures <= 1 < webhook.failures:
                return
            if anyio.current_time() >= sign:
                await self._until_done(webhook, events.keep)
                sign = anyio.current_time() + _SIGN
        await self._until_done(webhook, events.keep)

    async def _note(self, webhook: Webhook) -> None:
        await self._until_done(webhook, lambda: adrive(self._coordinator.store, webhooks.note(webhook)))

    async def _until_done(self, webhook: Webhook, act: Callable[[], Awaitable[object]]) -> None:
        """Do it, however long the store is away."""
        try:
            while True:
                try:
                    await act()
                except Unavailable as error:
                    self._trouble.met(webhook.name, error)
                else:
                    return self._trouble.over(webhook.name)
                await anyio.sleep(_LOOK)
        finally:
            self._trouble.gave_up(webhook.name)  # it was changed, or the store refuses, which says nothing about others
