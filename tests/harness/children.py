"""Family: a job and the children of one of its fan-outs, at a store."""

from __future__ import annotations

import re
from collections.abc import Mapping

from batonpass.contracts.names import mint, partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Delivery, OutcomeRow
from tests.harness.bench import Bench, fence_of, new_target


def new_children(parent: str, count: int, *, agent: str = "write") -> tuple[c.Child, ...]:
    """Children with new ids where their parent lives."""
    made = [mint("j", partition_of(parent)) for _ in range(count)]
    return tuple(c.Child(job_id, number, new_target(agent, b"j%d" % number)) for number, job_id in enumerate(made))


def children_of(bench: Bench, parent: str) -> list[str]:
    """The children that are listed, in order."""
    rows = [row for row in bench.do(c.ListJobs(20_000)) if row.parent == parent]
    return [row.id for row in sorted(rows, key=lambda row: row.number)]


def left_of_fan_outs(dump: Mapping[str, object]) -> list[str]:
    """What a store keeps of fan-outs, by its name there: tables, dicts, keys."""
    kept = re.compile(r"(.* _)?(staged|outcomes?|chores?)|.*}:([bfv]:.*|opening|closing)")
    return [name for name, value in dump.items() if value and kept.fullmatch(name)]


class Family:
    """By default all children must be done, and none may be lost."""

    def __init__(
        self, bench: Bench, fence: c.Fence, count: int, *, need: int | None = None, spare: int | None = None
    ) -> None:
        self._bench = bench
        self.fence = fence
        self.parent = fence.job_id
        self.fan = mint("f", partition_of(fence.job_id))
        self.children = new_children(fence.job_id, count)
        self.ids = [child.job_id for child in self.children]
        self.need = count if need is None else need
        self._spare = 0 if spare is None else spare

    def spawning(
        self,
        *,
        given: int | None = None,
        checkpoint: c.NewCheckpoint | None = None,
        records: Mapping[str, bytes] | None = None,
    ) -> c.Spawn:
        """The commit; `given` of the children are in it, the others are staged."""
        total = len(self.children)
        return c.Spawn(
            self.fence, self.fan, total, self.need, self._spare, self.children[:given], checkpoint, dict(records or {})
        )

    def spawn(
        self,
        *,
        given: int | None = None,
        checkpoint: c.NewCheckpoint | None = None,
        records: Mapping[str, bytes] | None = None,
    ) -> None:
        """Commit it."""
        self._bench.do(self.spawning(given=given, checkpoint=checkpoint, records=records))

    def fence_of(self, delivery: Delivery) -> c.Fence:
        """A delivery's lease."""
        return fence_of(delivery)

    def completing(self, delivery: Delivery) -> c.Complete:
        """The end of a delivery, with the job's number as its result."""
        return c.Complete(fence_of(delivery), b"%d" % delivery.job.number)

    def complete(self, delivery: Delivery) -> None:
        """End a delivery so."""
        self._bench.do(self.completing(delivery))

    def end(self, number: int, how: str) -> None:
        """End a child: + completes, b fails, r is rejected, c is canceled."""
        if how == "c":
            self._bench.do(c.Cancel(self.ids[number]))
            return
        [fence] = [fence_of(one) for one in self._bench.claim(1) if one.job.id == self.ids[number]]
        if how == "+":
            self._bench.do(c.Complete(fence, b"%d" % number))
        else:
            state, reason = ("failed", "attempts") if how == "b" else ("rejected", "no")
            self._bench.do(c.Fail(fence, "boom", reason, state=state))

    def outcomes(self, start: int = 0, limit: int = 500) -> list[OutcomeRow]:
        """How the children ended."""
        return self._bench.do(c.ReadOutcomes(self.parent, self.fan, start, limit))
