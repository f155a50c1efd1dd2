"""Comparing: states are compared in a thread, in async code."""

from __future__ import annotations

from typing import Any

from anyio import to_thread

from ..contracts.diff import Diff, diff


async def compared(old: Any, new: Any) -> Diff:
    """How two states differ. Large ones take seconds, in which the loop has other things to do. If its task is
    canceled, the thread goes on alone, and changes nothing."""
    return await to_thread.run_sync(diff, old, new, abandon_on_cancel=True)
