"""Bounds: how much an agent takes."""

from __future__ import annotations

from dataclasses import dataclass

from .errors import BadSetup, Refused

# gRPC's limit of a message. A payload travels whole with each claim of its job, and its worker waits for it.
MAX_PAYLOAD = 4 * 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """What an agent declares of its load, and what whoever sends to it has to know: see `Agent`."""

    max_waiting: int | None = None
    max_payload: int = MAX_PAYLOAD

    def check(self) -> None:
        """Refuse what can't be meant."""
        if self.max_waiting is not None and self.max_waiting < 1:
            raise BadSetup(f"max_waiting={self.max_waiting}, but at least 1 delivery has to be able to wait")
        if self.max_payload < 1:
            raise BadSetup(f"max_payload={self.max_payload}, but it is a number of bytes")

    def admit(self, agent: str, payload: bytes) -> None:
        """Refuse a payload that is too large."""
        if len(payload) > self.max_payload:
            raise Refused(
                f"the payload for agent {agent!r} has {len(payload):,} bytes, more than its max_payload of "
                f"{self.max_payload:,}: keep it in a checkpoint or an artifact store and pass a reference"
            )
