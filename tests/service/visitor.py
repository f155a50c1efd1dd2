"""Visitor: a browser without windows, for the tests of the page."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from html import unescape

import httpx

from ..workers.serving import DEADLINE
from .service import TOKEN

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


class Visitor:
    """A browser without windows: keeps cookies, and sends the forms that it was shown."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self.http = http
        self.page = ""

    async def open(self, path: str, status: int = 200) -> str:
        return self._seen(await self.http.get(path), status)

    async def send(self, path: str, status: int = 200, **typed: str) -> str:
        """Send a form of the page that is open."""
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="(.*?)">', self.page))
        reply = await self.http.post(path, data={**hidden, **typed}, follow_redirects=True)
        return self._seen(reply, status)

    def _seen(self, reply: httpx.Response, status: int) -> str:
        self.page = reply.text
        shown = unescape(" ".join(re.sub("<[^>]*>", " ", self.page).split()))
        assert (reply.status_code, "Traceback" in shown) == (status, False), shown
        assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS
        assert "<script" not in self.page
        return shown


@asynccontextmanager
async def visiting(address: str, token: str = TOKEN) -> AsyncIterator[Visitor]:
    """Somebody who has signed in."""
    async with httpx.AsyncClient(base_url=address, timeout=DEADLINE) as http:
        visitor = Visitor(http)
        assert "Overview" in await visitor.send("/ui/sign-in", token=token)
        yield visitor
