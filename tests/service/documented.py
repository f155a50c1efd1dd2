"""Whether what the service answers is what its OpenAPI document says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import httpx
from jsonschema import Draft202012Validator, FormatChecker

_formats = FormatChecker(())


@_formats.checks("date-time", raises=ValueError)
def is_time(value: object) -> bool:
    """With a zone, as RFC 3339 wants it."""
    return not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is not None


class Documented:
    """Checks each answer of a service. What is not in the document, such as the page, is not checked."""

    def __init__(self, address: str, token: str) -> None:
        self._address, self._headers = address, {"Authorization": f"Bearer {token}"}
        self._document: Mapping[str, Any] = {}

    async def check(self, response: httpx.Response) -> None:
        """For httpx, as a hook."""
        if not self._document:
            async with httpx.AsyncClient(base_url=self._address, headers=self._headers) as http:
                self._document = strict((await http.get("/openapi.json")).raise_for_status().json())
        operation = self._operation(response.request)
        if operation is not None:
            told = operation["responses"].get(str(response.status_code)) or operation["responses"]["default"]
            await response.aread()
            media, content = next(iter(told["content"].items()))
            assert response.headers["content-type"].partition(";")[0] == media
            value = response.json() if media == "application/json" else response.text
            schema = {**content["schema"], "components": self._document["components"]}
            Draft202012Validator(schema, format_checker=_formats).validate(value)

    def _operation(self, request: httpx.Request) -> Mapping[str, Any] | None:
        for template, methods in self._document["paths"].items():
            pattern = re.sub(r"\\{\w+\\}", "[^/]+", re.escape(template))
            if re.fullmatch(pattern, request.url.path):
                found: Mapping[str, Any] | None = methods.get(request.method.lower())
                return found
        return None


def strict(document: Any) -> Any:
    """The document, so that an answer with more than it says does not fit."""
    for schema in document["components"]["schemas"].values():
        if "properties" in schema:
            schema["additionalProperties"] = False
    return document
