"""Operation: one thing that programs can ask the service for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import getdoc
from typing import Any, Literal

from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from .bodies import Query, body, parameters
from .refusing import refusing


@dataclass(frozen=True)
class Operation:
    """A method of a path.

    `takes` is the form of its parameters (a `Query`) or of its body, whose values `endpoint` is called with. None: it
    ignores both. `gives` is the type of its answer, in the form `media`. An `open` one needs no token.
    """

    method: Literal["GET", "POST", "DELETE"]
    path: str
    endpoint: Callable[[Request, Any], Awaitable[Response]]
    takes: type[BaseModel] | None
    gives: Any
    open: bool = False
    media: str = "application/json"

    @property
    def name(self) -> str:
        """Its name in clients that are made from the service's document."""
        return self.endpoint.__name__

    @property
    def asks(self) -> bool:
        """Whether it takes parameters, and not a body."""
        return self.takes is not None and issubclass(self.takes, Query)

    @property
    def summary(self) -> str:
        """What it does, in a line."""
        return getdoc(self.endpoint) or ""

    async def ask(self, request: Request) -> Response:
        """The answer to a request. One that does not fit its form does not get as far as the endpoint."""
        return await refusing(self._ask)(request)

    async def _ask(self, request: Request) -> Response:
        return await self.endpoint(request, await self._given(request))

    async def _given(self, request: Request) -> BaseModel | None:
        if self.takes is None:
            return None
        if issubclass(self.takes, Query):
            return parameters(request, self.takes)
        return await body(request, self.takes)
