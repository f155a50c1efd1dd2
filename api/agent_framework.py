"""For Microsoft Agent Framework programs: a checkpoint storage on every Batonpass store."""

from batonpass.adapters.agent_framework import BatonpassCheckpointStorage

__all__ = ["BatonpassCheckpointStorage"]
