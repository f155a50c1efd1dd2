"""Gate: who may ask what. Every request must have a token, and one that changes something the full one. One that posts
something must be JSON, which no form on another site's page can send. (Nor can it send a DELETE.)"""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .refusing import SAFE, Problem, told
from .tokens import READS_ONLY, Access, Tokens

_CHALLENGE = {"www-authenticate": "Bearer"}


class Gate:
    """An application behind bearer tokens."""

    def __init__(self, app: ASGIApp, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        access = self._admits(headers.get("authorization", ""))
        scope.setdefault("state", {})["access"] = access
        if access is None:
            text = "this needs the header Authorization: Bearer TOKEN, with the service's token"
            await told(Problem(401, text, headers=_CHALLENGE))(scope, receive, send)
        elif access == "read" and scope["method"] not in SAFE:
            await told(Problem(403, READS_ONLY))(scope, receive, send)
        elif scope["method"] == "POST" and media_type(headers) != "application/json":
            await told(Problem(415, "send Content-Type: application/json"))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _admits(self, authorization: str) -> Access | None:
        scheme, _, shown = authorization.partition(" ")
        # Headers come in as Latin-1.
        access = self._tokens.access(shown.strip().encode("latin-1"))
        return access if scheme.lower() == "bearer" else None


def media_type(headers: Headers) -> str:
    """The type that a body is said to have."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
