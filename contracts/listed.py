"""Listed: what lists are made of."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, cast

from .jsonable import jsonable


class Listed:
    """A base of dataclasses that a coordinator lists."""

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with times as text."""
        return jsonable({field.name: getattr(self, field.name) for field in fields(cast("Any", self))})
