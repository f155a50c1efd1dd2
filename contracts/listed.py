"""Listed: what lists are made of."""

from __future__ import annotations

from typing import Any, cast

from .jsonable import jsonable


class Listed:
    """A base of dataclasses that a coordinator lists."""

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with times as text."""
        from dataclasses import asdict  # takes as long to import as all that a client needs besides

        return jsonable(asdict(cast("Any", self)))
