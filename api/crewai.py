"""For CrewAI programs: flow persistence on every Batonpass store, with or without jobs."""

from batonpass.contracts.errors import MissingExtra

try:
    from batonpass.adapters.crewai.persistence import BatonpassPersistence
except ModuleNotFoundError as missing:
    raise MissingExtra(f"batonpass.crewai needs CrewAI ({missing}): pip install 'batonpass[crewai]'") from None

__all__ = ["BatonpassPersistence"]
