"""For Microsoft Agent Framework programs: its checkpoint storage on every store of ours."""

from batonpass.adapters.agent_framework import BatonpassCheckpointStorage

__all__ = ["BatonpassCheckpointStorage"]
