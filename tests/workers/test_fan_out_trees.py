"""Trees of jobs that fail and are redriven at random: each node stays one job, and no recorded step is done twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random

import pytest

import batonpass as bp
from tests.workers.serving import serving

LONG = 30.0
ROUNDS = 60


class Node(bp.Contract, name="trees.node"):
    path: str


class Count(bp.Contract, name="trees.count"):
    nodes: int
    tokens: int


class Tree:
    """Agents whose seed says how many children a node has, how often it fails, and how many failures it bears."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.failures: dict[str, int] = {}
        self.recorded: Counter[str] = Counter()
        self.app = bp.App("trees")
        self.app.agent("node", accepts=Node, returns=Count, hands_to={"node": Node}, retries=1)(self._node)

    def chance(self, *about: object) -> Random:
        """The same at each visit."""
        return Random(repr((self.seed, *about)))

    def children(self, path: str) -> int:
        """How many a node has."""
        chance, depth = self.chance(path), path.count(".")
        return chance.randint(1, 4) if depth == 0 or (depth == 1 and chance.random() < 0.5) else 0

    def nodes(self, path: str) -> int:
        """How many there are from this one on."""
        return 1 + sum(self.nodes(f"{path}.{number}") for number in range(self.children(path)))

    async def _node(self, node: Node, ctx: bp.Context) -> Count:
        path, paid = node.path, list[str]()

        def pay() -> None:
            paid.append(path)
            ctx.spend(tokens=10)

        await ctx.step("paid", pay)
        self.recorded.update(paid)
        chance = self.chance(
            path, self.failures.setdefault(path, self.chance(path, "fails").choice([0, 0, 0, 1, 1, 2]))
        )
        await asyncio.sleep(chance.choice([0, 0, 0.002, 0.01]))
        below = [bp.Handoff("node", Node(path=f"{path}.{number}")) for number in range(self.children(path))]
        results = await ctx.fan_out(below, failures=self.chance(path, "bears").choice([0, 0, 1])) if below else []
        if lost := [each for each in results if isinstance(each, bp.ChildFailed)]:
            raise bp.ChildrenFailed("all are needed", failed=lost)
        if self.failures[path]:
            self.failures[path] -= 1
            raise ValueError("not yet")
        return Count(nodes=1 + sum(each.nodes for each in results), tokens=ctx.spent.tokens)


@pytest.mark.parametrize("seed", range(12))
async def test_a_tree_is_done_once(seed: int, store_url: str) -> None:
    tree, chance = Tree(seed), Random(seed)
    async with serving(tree.app, store_url, concurrency=30) as coordinator:
        job = await coordinator.submit("node", Node(path="r"), returns=Count)
        for _ in range(ROUNDS):
            try:
                counted = await job.result(timeout=LONG)
                break
            except bp.JobFailed:
                others = [letter.id for letter in await coordinator.dead_letters() if letter.id != job.id]
                if others and chance.random() < 0.3:  # a person redrives another one, too
                    await coordinator.redrive(chance.choice(others))
                await coordinator.redrive(job.id)
        else:
            pytest.fail(f"the tree {tree.failures} never got done")
        assert counted == Count(nodes=tree.nodes("r"), tokens=10 * tree.nodes("r"))
        assert len(await coordinator.jobs(limit=1000)) == tree.nodes("r")
        assert set(tree.recorded.values()) == {1}
