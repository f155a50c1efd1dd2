"""Gate: who may ask. Everybody shows the token, and what changes something is sent as JSON: no form of a page can."""

from __future__ import annotations

from hmac import compare_digest

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .refusing import BadRequest, refusal

_CHALLENGE = {"www-authenticate": "Bearer"}


class Gate:
    """An application behind a bearer token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        if not self._admits(headers.get("authorization", "")):
            missing = BadRequest(
                "this needs the header Authorization: Bearer TOKEN, with the service's token", status=401
            )
            await refusal(missing, _CHALLENGE)(scope, receive, send)
        elif scope["method"] == "POST" and _media_type(headers) != "application/json":
            await refusal(BadRequest("send Content-Type: application/json", status=415))(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _admits(self, authorization: str) -> bool:
        scheme, _, shown = authorization.partition(" ")
        # Headers are Latin-1 on the way in; compared as bytes, in a time that does not depend on them.
        return compare_digest(shown.strip().encode("latin-1"), self._token) and scheme.lower() == "bearer"


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()
