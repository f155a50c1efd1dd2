"""ChildSettings: what the child processes of a worker are made from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ...contracts.agent import Agent
from .pool import Pool, Wear
from .setup import Setup


@dataclass(frozen=True)
class ChildSettings:
    """What children are made from: `app` as MODULE:APP, the store's URL and namespace, and when to replace them."""

    app: str
    url: str
    namespace: str | None = None
    as_json: bool = False
    wear: Wear = field(default_factory=Wear)
    folder: str = field(default_factory=os.getcwd)  # an agent may change it before the next child is made

    def pool(self, agents: Sequence[Agent[Any]], size: int, *, warm: bool = True) -> Pool:
        """A pool for up to `size` deliveries of these agents at once. `warm` keeps one process ready."""
        kinds = tuple(sorted({agent.kind for agent in agents}))
        setup = Setup(self.app, self.url, self.namespace, kinds, self.folder, self.as_json)
        return Pool(setup, [agent.name for agent in agents], size, self.wear, warm=warm)
