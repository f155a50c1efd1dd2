"""Rendering: views as HTML, and the headers by which every response of the page restricts the browser."""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from batonpass.contracts.visible import visible_lines

from ..refusing import Problem
from . import words

_FOLDER = Path(__file__).parent.parent / "templates"
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}

# What a browser sends back as it is, in attributes and as the content of inputs. (In values, "<" and ">" are escaped.)
_SENT = re.compile("(<textarea.*?</textarea>|<[^>]*>)", re.DOTALL)


class Sealed:
    """An application whose responses all have the page's headers."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sealed)


def rendered(request: Request, template: str, status: int = 200, **values: Any) -> Response:
    """A page. What is not valid Unicode in a text is escaped, and so are control characters: who approves "$1000" must
    not be shown a "0001$" that is written backwards."""
    asked = request.url
    text = (
        _templates()
        .get_template(template)
        .render(
            proof=getattr(request.state, "proof", None),
            # Links begin with `root`, the path of a proxy before us.
            root=request.scope.get("root_path", ""),
            acts=getattr(request.state, "access", None) != "read",
            path=asked.path,
            shown=request.method == "GET",  # not what a form's address answered, which can't be opened again
            watching=request.query_params.get("watch") == "1",
            watched=f"?{asked.include_query_params(watch=1).remove_query_params('done').query}",
            unwatched=f"?{asked.remove_query_params(['watch', 'done']).query}",
            style=style()[0],
            **values,
        )
    )
    parts = _SENT.split(text)
    parts[::2] = map(visible_lines, parts[::2])
    return Response("".join(parts).encode("utf-8", "backslashreplace"), status, media_type="text/html")


def told(request: Request, problem: Problem) -> Response:
    """A problem as a page."""
    response = rendered(request, "problem.html", problem.status, problem=problem)
    response.headers.update(problem.headers)
    return response


@cache
def style() -> tuple[str, bytes]:
    """The style sheet: its address, which changes with its content, and its content."""
    sheet = (_FOLDER / "style.css").read_bytes()
    return f"/ui/style.css?{sha256(sheet).hexdigest()[:12]}", sheet


@cache
def _templates() -> Environment:
    made = Environment(
        loader=FileSystemLoader(_FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    filters: dict[str, Any] = made.filters
    filters.update({word.__name__: word for word in (words.exactly, words.plural, words.span, words.when)})
    return made
