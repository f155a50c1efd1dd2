"""For LangGraph programs: a checkpointer and a long-term memory on every Batonpass store, with or without jobs."""

from batonpass.contracts.errors import MissingExtra

try:
    from batonpass.adapters.langgraph.saver.saver import BatonpassSaver
    from batonpass.adapters.langgraph.store.store import BatonpassStore
except ModuleNotFoundError as missing:
    raise MissingExtra(f"batonpass.langgraph needs LangGraph ({missing}): pip install 'batonpass[langgraph]'") from None

__all__ = ["BatonpassSaver", "BatonpassStore"]
