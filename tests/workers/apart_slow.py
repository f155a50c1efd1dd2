"""The app of the tests of isolation, in a module whose import takes as long as a gate is shut, but for the worker. That
can't be forked, so that its zygote imports the module again."""

from __future__ import annotations

import sys

from tests.apps.evidence import ran

from .agents import pass_gate
from .apart_threads import app

if "batonpass.workers.children.zygote" in str(sys.modules["__main__"].__spec__):
    ran("imports")
    pass_gate("import")

__all__ = ["app"]
