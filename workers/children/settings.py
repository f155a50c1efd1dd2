"""ChildSettings: what the child processes of a worker are made from."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from ...contracts.agent import Agent
from ...contracts.app import App
from .planting import planted
from .pool import Pool, Wear
from .seed import Seed
from .setup import Setup


@dataclass(frozen=True)
class ChildSettings:
    """What children are made from: `app` as MODULE:APP, the store's URL and namespace, and when to replace them.
    The first are forked from the `seed`, if there is one."""

    app: str
    url: str
    namespace: str | None = None
    as_json: bool = False
    wear: Wear = field(default_factory=Wear)
    folder: str = field(default_factory=os.getcwd)  # an agent may change it before the next child is made
    seed: Seed | None = None

    @contextmanager
    def planted(self, app: App, agents: Sequence[str] | None) -> Generator[ChildSettings]:
        """A block with a seed for those of the app's agents (None: all) that ask for a process."""
        apart = [agent for agent in app if agent.isolated and (agents is None or agent.name in agents)]
        if not apart:
            yield self
            return
        with planted(self._setup(apart), app) as seed:
            yield replace(self, seed=seed)

    def pool(self, agents: Sequence[Agent[Any]], size: int, *, warm: bool = True) -> Pool:
        """A pool for up to `size` deliveries of these agents at once. `warm` keeps one process ready."""
        seed = self.seed if warm else None
        return Pool(self._setup(agents), [agent.name for agent in agents], size, self.wear, warm=warm, seed=seed)

    def _setup(self, agents: Sequence[Agent[Any]]) -> Setup:
        kinds = tuple(sorted({agent.kind for agent in agents}))
        return Setup(self.app, self.url, self.namespace, kinds, self.folder, self.as_json)
