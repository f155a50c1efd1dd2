"""AgentInfo: an agent as a store knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .bounds import Rate
from .contract import ContractRef
from .jsonable import jsonable
from .listed import Listed


@dataclass(frozen=True, kw_only=True)
class AgentInfo(Listed):
    """An agent that has been declared in the store, as it was declared last.

    - `app` and `kind` are its app's name and the adapter that runs it.
    - `accepts` is the contract of its payload, and `schema` that contract's JSON Schema. `reads` are the older versions
      that its app upcasts.
    - `concurrency`, `rate`, `limit_by`, `max_waiting` and `max_payload` are its limits: see `Agent`. None: no limit.
    """

    name: str
    app: str
    kind: str
    accepts: ContractRef
    schema: Mapping[str, Any]
    reads: tuple[ContractRef, ...]
    concurrency: int | None
    rate: Rate | None
    limit_by: str | None
    max_waiting: int | None
    max_payload: int

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with contracts as text (name@version)."""
        rate = {"count": self.rate.count, "per": self.rate.per} if self.rate else None
        reads = [str(ref) for ref in self.reads]
        return jsonable({**vars(self), "accepts": str(self.accepts), "reads": reads, "rate": rate})
