"""Plain classes: objects whose state is saved, restored, rolled back and compared, in any store or in JSON files."""

from __future__ import annotations

from .checkpointable import Checkpointable
from .classes import register_migration
from .decorator import checkpoint
from .files import JsonFiles
from .keeper import AsyncKeeper, Keeper
from .rollback import rollback

__all__ = ["AsyncKeeper", "Checkpointable", "JsonFiles", "Keeper", "checkpoint", "register_migration", "rollback"]
