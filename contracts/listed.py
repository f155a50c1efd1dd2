"""Listed: what lists are made of."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, cast

from .jsonable import jsonable


class Listed:
    """A base of dataclasses that a coordinator lists."""

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with times as text."""
        return jsonable(asdict(cast("Any", self)))
