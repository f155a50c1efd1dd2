"""Gate: who may ask. Every request must have the token. One that posts something must be JSON, which no form on another
site's page can send. (Nor can it send a DELETE.)"""

from __future__ import annotations

from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .refusing import Problem, told

_CHALLENGE = {"www-authenticate": "Bearer"}


class Gate:
    """An application behind a bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not self._admits(headers.get("authorization", "")):
            text = "this needs the header Authorization: Bearer TOKEN, with the service's token"
            await told(Problem(401, text, headers=_CHALLENGE))(scope, receive, send)
        elif scope["method"] == "POST" and media_type(headers) != "application/json":
            await told(Problem(415, "send Content-Type: application/json"))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _admits(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        # Headers come in as Latin-1. They are compared as bytes, in a time that does not depend on their content.
        return compare_digest(shown.strip().encode("latin-1"), self._token) and scheme.lower() == "bearer"


def media_type(headers: Headers) -> str:
    """The type that a body is said to have."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
