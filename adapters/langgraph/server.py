"""Server: the checkpointer and the long-term memory for `langgraph dev` and the Agent Server.

In langgraph.json: `"checkpointer": {"path": "batonpass.adapters.langgraph.server.checkpointer"}` and
`"store": {"path": "batonpass.adapters.langgraph.server.store"}`.
"""

from __future__ import annotations

from functools import cache

from ...coordinator.urls import with_default_url
from .saver.saver import BatonpassSaver
from .store.store import BatonpassStore


@cache  # the server asks once in each of its threads, and all need the same store
def checkpointer() -> BatonpassSaver:
    """A saver on the store that BATONPASS_URL names, by default batonpass.db in the working directory.

    States that hold types of your own need a factory of your own: `BatonpassSaver.from_url(url, allow=[Own])`. Keep the
    types in a module that the graph's file imports, because the server loads that file itself under another name.
    """
    return with_default_url(BatonpassSaver.from_url)


@cache
def store() -> BatonpassStore:
    """A long-term memory, where `checkpointer` keeps its threads.

    Search by meaning, or a TTL, needs a factory of your own: `BatonpassStore.from_url(url, index=..., ttl=...)`.
    """
    return with_default_url(BatonpassStore.from_url)
