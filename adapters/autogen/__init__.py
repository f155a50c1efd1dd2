"""AutoGen 0.7 (autogen-agentchat): teams run turn by turn, with a checkpoint after each turn.

The package can be imported without AutoGen; making an `AutoGenAdapter` imports it.
"""

from .adapter import AutoGenAdapter

__all__ = ["AutoGenAdapter"]
