"""Server: the checkpointer for `langgraph dev` and the Agent Server.

In langgraph.json: `"checkpointer": {"path": "batonpass.adapters.langgraph.server.checkpointer"}`.
"""

from __future__ import annotations

import os
from functools import cache

from ...contracts.errors import BadSetup
from .checkpointer import BatonpassSaver


@cache  # the server asks once in each of its threads, and all need the same store
def checkpointer() -> BatonpassSaver:
    """A saver on the store that BATONPASS_URL names, by default batonpass.db in the working directory.

    States that hold types of your own need a factory of your own: `BatonpassSaver.from_url(url, allow=[graph])`.
    """
    try:
        return BatonpassSaver.from_url(os.environ.get("BATONPASS_URL", "sqlite:///batonpass.db"))
    except BadSetup as error:
        raise BadSetup(f"BATONPASS_URL: {error}") from None
