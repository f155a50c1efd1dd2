"""Sessions: browsers that have shown the service's token. A signed cookie says so, and nothing is kept here.

Each token has sessions of its own, which may do what the token may. The cookie opens only pages, never the JSON routes.
A form from another site has no `proof`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time

from starlette.requests import Request
from starlette.responses import Response

from ..tokens import Access

_LASTS = 12 * 3600  # seconds


class Sessions:
    """Makes a token's sessions, and recognizes them, also after a restart with the same token."""

    def __init__(self, token: str, access: Access = "full", root: str = "") -> None:
        self.access: Access = access
        self._token = token.encode()
        self._path = f"{root}/ui"
        # Cookies know no ports: each service on a machine has its own.
        self.cookie = f"batonpass-{hashlib.sha256(b'batonpass cookie' + self._token).hexdigest()[:8]}"
        self._key = hmac.digest(self._token, b"batonpass page", hashlib.sha256)

    def begin(self, request: Request, response: Response, shown: str) -> bool:
        """Have the browser keep a session, if `shown` is the token."""
        if not hmac.compare_digest(shown.strip().encode("utf-8", "surrogatepass"), self._token):
            return False
        about = f"{int(time.time()) + _LASTS}.{secrets.token_urlsafe(16)}"
        response.set_cookie(
            self.cookie,
            f"{about}.{self._sign('session', about)}",
            path=self._path,
            httponly=True,
            samesite="strict",
            secure=_encrypted(request),
        )
        return True

    def end(self, response: Response) -> None:
        """Have the browser forget its session."""
        response.delete_cookie(self.cookie, path=self._path, httponly=True, samesite="strict")

    def known(self, request: Request) -> str | None:
        """A request's session. None if it has no valid one."""
        cookie = request.cookies.get(self.cookie, "")
        about, _, signature = cookie.rpartition(".")
        ends, _, _ = about.partition(".")
        if not _same(signature, self._sign("session", about)) or int(ends) < time.time():
            return None
        return about

    def proof(self, session: str) -> str:
        """What every form of a session's pages sends along."""
        return self._sign("form", session)

    def proven(self, session: str, proof: str) -> bool:
        """Whether a form came from one of the session's pages."""
        return _same(proof, self.proof(session))

    def _sign(self, purpose: str, about: str) -> str:
        return hmac.new(self._key, f"{purpose} {about}".encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _encrypted(request: Request) -> bool:
    """Whether the browser came by https: a proxy before us says so."""
    return "https" in (request.url.scheme, request.headers.get("x-forwarded-proto", "").partition(",")[0].strip())
