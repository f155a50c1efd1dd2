"""Server: the checkpointer and the long-term memory for `langgraph dev` and the Agent Server.

In langgraph.json: `"checkpointer": {"path": "batonpass.adapters.langgraph.server.checkpointer"}` and
`"store": {"path": "batonpass.adapters.langgraph.server.store"}`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from ...contracts.errors import BadSetup
from .saver.saver import BatonpassSaver
from .store.store import BatonpassStore

T = TypeVar("T")


@cache  # the server asks once in each of its threads, and all need the same store
def checkpointer() -> BatonpassSaver:
    """A saver on the store that BATONPASS_URL names, by default batonpass.db in the working directory.

    States that hold types of your own need a factory of your own: `BatonpassSaver.from_url(url, allow=[Own])`. Keep the
    types in a module that the graph's file imports, because the server loads that file itself under another name.
    """
    return _made(BatonpassSaver.from_url)


@cache
def store() -> BatonpassStore:
    """A long-term memory, where `checkpointer` keeps its threads.

    Search by meaning, or a TTL, needs a factory of your own: `BatonpassStore.from_url(url, index=..., ttl=...)`.
    """
    return _made(BatonpassStore.from_url)


def _made(make: Callable[[str], T]) -> T:
    try:
        return make(os.environ.get("BATONPASS_URL", "sqlite:///batonpass.db"))
    except BadSetup as error:
        raise BadSetup(f"BATONPASS_URL: {error}") from None
