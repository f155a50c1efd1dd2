"""AgentInfo: an agent as a store knows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from .bounds import Rate
from .contract import ContractRef
from .jsonable import jsonable
from .listed import Listed
from .pause import Pause


@dataclass(frozen=True, kw_only=True)
class AgentInfo(Listed):
    """An agent that has been declared in the store, as it was declared last. (A declaration with an older version of
    its contract does not count while live workers read the newer one.)

    - `app` and `kind` are its app's name and the adapter that runs it.
    - `accepts` is the contract of its payload, and `schema` that contract's JSON Schema. `reads` are the older versions
      that its app upcasts.
    - `returns` is the contract of its result, if it ends jobs, and `result_schema` the JSON Schema of results as they
      are shown: with the fields' names, not their aliases (None if an older release declared it).
    - `hands_to` are the agents that it may hand jobs to, with what it gives them.
    - `concurrency`, `rate`, `limit_by`, `max_waiting` and `max_payload` are its limits: see `Agent`. None: no limit.
    - `paused` is its pause, if it is paused: no worker starts its jobs meanwhile.
    """

    name: str
    app: str
    kind: str
    accepts: ContractRef
    schema: Mapping[str, Any]
    reads: tuple[ContractRef, ...]
    returns: ContractRef | None
    result_schema: Mapping[str, Any] | None
    hands_to: Mapping[str, ContractRef]
    concurrency: int | None
    rate: Rate | None
    limit_by: str | None
    max_waiting: int | None
    max_payload: int
    paused: Pause | None = None

    def as_dict(self) -> dict[str, Any]:
        """Its values for JSON, with contracts as text (name@version)."""
        rate = {"count": self.rate.count, "per": self.rate.per} if self.rate else None
        contracts = {
            "accepts": str(self.accepts),
            "reads": [str(ref) for ref in self.reads],
            "returns": str(self.returns) if self.returns else None,
            "hands_to": {to: str(ref) for to, ref in self.hands_to.items()},
        }
        paused = asdict(self.paused) if self.paused else None
        return jsonable({**vars(self), **contracts, "rate": rate, "paused": paused})
