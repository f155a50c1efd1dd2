"""Microsoft Agent Framework, AutoGen's successor: checkpoints of its workflows on our stores.

You can import the package without the framework. Making a storage imports it.
"""

from .storage import BatonpassCheckpointStorage, NotSaved

__all__ = ["BatonpassCheckpointStorage", "NotSaved"]
