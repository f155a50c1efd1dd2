"""Microsoft Agent Framework, AutoGen's successor: its workflows' checkpoints on our stores.

The package can be imported without the framework; making a storage imports it.
"""

from .storage import BatonpassCheckpointStorage, NotSaved

__all__ = ["BatonpassCheckpointStorage", "NotSaved"]
