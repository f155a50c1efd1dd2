"""Webhooks: calls about groups of consumers that send events to an address."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from secrets import token_bytes
from typing import Any
from urllib.parse import urlsplit

from ...contracts.errors import BadSetup, BatonpassError, NotFound
from ...contracts.lean import dataclass
from ...contracts.understood import understood
from ...contracts.webhook import WebhookInfo
from ..coded.codec import check_open
from ..commands import DeleteGroup, GroupRow, JoinGroup, ListGroups
from ..urls import address_without_secrets, without_quotes, without_secrets
from . import Call
from .events import which
from .groups import WEBHOOK, is_now
from .inputs import bounded, text

_SECRET = "whsec_"
_SECRET_BYTES = range(24, 65)  # from the Standard Webhooks specification


@dataclass(frozen=True)
class Webhook:
    """What is stored with a webhook's group. `paused` says why it is paused, or ""."""

    name: str
    url: str
    types: tuple[str, ...]
    secret: str
    paused: str = ""
    failures: int = 0
    error: str = ""

    @property
    def group(self) -> str:
        """Its consumers' group."""
        return WEBHOOK + self.name

    @property
    def settings(self) -> Webhook:
        """Its settings, without its state."""
        return replace(self, paused="", failures=0, error="")


def add(
    name: str, url: str, types: str | Sequence[str], secret: str | None, start: str, *, plain_http: bool
) -> Call[str]:
    """Make a webhook, or change the existing one, which keeps its position, and its secret if none is given, because
    its receiver knows that. Returns the secret."""
    if not name:
        raise BadSetup("a webhook needs a name")
    if secret:
        secret = _checked_secret(secret)
    kinds = which(types, None, None).types
    made = Webhook(bounded(name, "name"), _checked_url(url, plain_http), kinds, secret or "")
    now = is_now(start, "webhook")
    if not secret:
        rows: list[GroupRow] = yield ListGroups()
        secret = next((read(row).secret for row in rows if row.name == made.group and row.about), _new_secret())
        made = replace(made, secret=secret)
    yield JoinGroup(made.group, now, about=_packed(made))
    return secret


def listed(*, unfinished: bool = False) -> Call[list[GroupRow]]:
    """All webhooks as stored. Each is opened by `read` alone, so that a damaged one does not affect the others."""
    rows: list[GroupRow] = yield ListGroups(WEBHOOK if unfinished else "")
    return [row for row in rows if row.name.startswith(WEBHOOK) and row.about]


def infos() -> Call[list[WebhookInfo]]:
    """All webhooks, as users see them: without secrets."""
    rows = yield from listed(unfinished=True)
    return [_info(row) for row in rows]


def _info(row: GroupRow) -> WebhookInfo:
    lag = row.lag + row.unfinished  # a courier takes events long before a receiver that is down accepts them
    try:
        each = read(row)
    except BatonpassError as error:  # also if only this process lacks its key: those beside it must be shown
        name = row.name.removeprefix(WEBHOOK)
        return WebhookInfo(name=name, url="", types=(), state="unreadable", failures=0, error=str(error), lag=lag)
    return WebhookInfo(
        name=each.name,
        url=address_without_secrets(each.url),
        types=each.types,
        state="paused" if each.paused else "active",
        failures=each.failures,
        error=each.paused or each.error,
        lag=lag,
    )


def note(webhook: Webhook) -> Call[None]:
    """Record a webhook's state. `NotFound` if it has been deleted, changed or paused since. (What happens between that
    check and the write is overwritten.)"""
    kept = yield from _named(webhook.name)
    if kept.paused or kept.settings != webhook.settings:
        raise NotFound(f"webhook {webhook.name!r} was changed or paused meanwhile")
    yield from _change(webhook)


def resume(name: str) -> Call[None]:
    """Let a paused webhook go on where it stopped, and one that waits for its next attempt make it now: couriers look
    for that. It counts as failing until an attempt succeeds."""
    kept = yield from _named(name)
    yield from _change(kept.settings if kept.paused else replace(kept, failures=min(kept.failures, 1)))


def _named(name: str) -> Call[Webhook]:
    rows = yield from listed()
    for row in rows:
        if row.name == WEBHOOK + name:
            return read(row)
    raise NotFound(f"there is no webhook {name!r}")


def _change(webhook: Webhook) -> Call[None]:
    yield JoinGroup(webhook.group, about=_packed(webhook), known=True)


def delete(name: str) -> Call[None]:
    """Delete a webhook."""
    try:
        yield DeleteGroup(WEBHOOK + text(name, "name"))
    except NotFound:
        raise NotFound(f"there is no webhook {name!r}") from None


def _packed(webhook: Webhook) -> bytes:
    return json.dumps(asdict(webhook)).encode()


@understood("the webhook of group {0.name!r:.80}")
def read(row: GroupRow) -> Webhook:
    """The webhook that is stored with a group."""
    check_open(row.about, f"the webhook of group {row.name!r:.80}")
    kept: dict[str, Any] = json.loads(row.about)
    kept["types"] = tuple(kept["types"])
    found = Webhook(**kept)
    try:
        _checked_url(found.url, plain_http=True)
        _checked_secret(found.secret)
    except BadSetup as error:
        raise ValueError(error) from None
    return found


def _checked_url(url: str, plain_http: bool) -> str:
    try:
        parts = urlsplit(text(url, "URL"))
        _ = parts.port  # only parsed when it is read
    except ValueError as error:
        raise BadSetup(f"{without_secrets(url)!r} is not a URL: {without_quotes(url, error)}") from None
    if not url.isprintable() or " " in url:
        shown = without_secrets(url)
        raise BadSetup(f"{shown!r} is not a URL: write a space as %20, and other unprintable characters as %XX")
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise BadSetup(f"{without_secrets(url)!r} is not a web URL: write https://host/path")
    if parts.scheme == "http" and not plain_http:
        shown = address_without_secrets(url)
        raise BadSetup(f"{shown!r} is not encrypted: write https://, or allow it (plain_http=True, --plain-http)")
    return url


def _new_secret() -> str:
    return _SECRET + base64.b64encode(token_bytes(32)).decode()


def _checked_secret(secret: str) -> str:
    try:
        decoded = base64.b64decode(text(secret, "secret").removeprefix(_SECRET), validate=True)
    except (binascii.Error, ValueError):
        decoded = b""
    if len(decoded) not in _SECRET_BYTES:
        raise BadSetup(
            "a webhook's secret (--secret, BATONPASS_WEBHOOK_SECRET) is whsec_ and 24 to 64 random bytes in base64; "
            "leave it out to get one"
        )
    return secret
