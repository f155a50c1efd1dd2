"""AutoGen 0.7 (autogen-agentchat): teams run turn by turn, with a checkpoint after each turn.

You can import the package without AutoGen. Making an `AutoGenAdapter` imports it.
"""

from .adapter import AutoGenAdapter

__all__ = ["AutoGenAdapter"]
