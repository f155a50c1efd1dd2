"""Tokens: what whoever shows one may do."""

from __future__ import annotations

from hmac import compare_digest
from typing import Literal, TypeAlias

from .settings import Settings

Access: TypeAlias = Literal["full", "read"]
READS_ONLY = "this is the service's read token, which changes nothing: use its full token"


class Tokens:
    """The service's tokens."""

    def __init__(self, settings: Settings) -> None:
        self.by_access: dict[Access, str] = {"full": settings.token}
        if settings.read_token is not None:
            self.by_access["read"] = settings.read_token

    def access(self, shown: bytes) -> Access | None:
        """What a token gives. It is compared with all of them, in a time that does not depend on its content."""
        fitting: Access | None = None
        for access, token in self.by_access.items():
            if compare_digest(shown, token.encode()):
                fitting = access
        return fitting
