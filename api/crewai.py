"""For CrewAI programs: its flow persistence on every store of ours, with or without jobs."""

from batonpass.adapters.crewai.persistence import BatonpassPersistence

__all__ = ["BatonpassPersistence"]
