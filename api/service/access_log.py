"""Access log: who did what. Never what was sent, and never a token."""

from __future__ import annotations

import logging
from urllib.parse import quote

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .refusing import SAFE

_log = logging.getLogger("batonpass.service.access")


class AccessLog:
    """An application whose requests leave a line each: those that would change something, those with a wrong token, and
    with `everything` all others, too."""

    def __init__(self, app: ASGIApp, *, everything: bool) -> None:
        self._app = app
        self._everything = everything

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})  # where the rest tells which token it was

        async def noted(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._note(scope, message["status"])
            await send(message)

        await self._app(scope, receive, noted)

    def _note(self, scope: Scope, status: int) -> None:
        wrong = status == 401 and "authorization" in Headers(scope=scope)
        if not (self._everything or wrong or scope["method"] not in SAFE):
            return
        client = scope.get("client")
        fields: dict[str, str | int] = {
            "method": scope["method"],
            "path": _path(scope, status),
            "status": status,
            "token": scope["state"].get("access") or "none",
            # A proxy that is believed may pass on anything.
            "client": quote(client[0], safe=":") if client else "unknown",
        }
        method, path, _, *rest = fields
        told = " ".join(f"{name}={fields[name]}" for name in rest)
        _log.info("%s %s %s %s", fields[method], fields[path], status, told, extra={"fields": fields})


def _path(scope: Scope, status: int) -> str:
    """The path as the documentation has it. A DELETE that was understood may name what it deletes in its parameters,
    which then are known ones: others might hold anything."""
    path = quote(scope["path"].removeprefix(scope.get("root_path", "")))
    query = scope["query_string"].decode("ascii", "replace") if scope["method"] == "DELETE" and status < 400 else ""
    return f"{path}?{query}" if query else path
