"""Moves: what users of a store may do, each a command or a fault, with how often it is tried.

A worker that crashes does nothing more; `reap` finds its lease. One that sleeps or is late writes with an old fence.
Any earlier command may be repeated. To add one, add a function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from batonpass.contracts.job import OnBusy
from batonpass.contracts.names import home, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import JobRow, KeptJob, OutcomeRow
from tests.harness.bench import new_job, new_target
from tests.model.world import (
    A_LITTLE,
    AGENTS,
    COPIES,
    FREE,
    HALF,
    KEYS,
    LANES,
    NAMES,
    QUEUES,
    STEP,
    THREADS,
    Picks,
    World,
    of_queue,
)

Move = Callable[[World, Picks], None]
MOVES: dict[str, Move] = {}
WEIGHTED: list[str] = []
_HOLDERS: set[str] = set()
ADOPTED = ["failed", "completed", "input_required"]
ON_BUSY: list[OnBusy] = ["reject", "queue", "queue", "interrupt", "rollback"]


def move(weight: int, *, holders: bool = False) -> Callable[[Move], Move]:
    """Register a move; `holders` need a lease."""

    def register(do: Move) -> Move:
        MOVES[do.__name__] = do
        WEIGHTED.extend([do.__name__] * weight)
        if holders:
            _HOLDERS.add(do.__name__)
        return do

    return register


def make(name: str, world: World, pick: Picks) -> None:
    """Make a move, or (mostly) first the move that it needs to have an effect."""
    if name in _HOLDERS and not any(row.lease for row in world.rows) and pick.below(4):
        name = "claim"
    if name == "claim" and not any(row.ready for row in world.rows) and pick.below(4):
        name = "let_time_pass" if any(row.due or row.lease for row in world.rows) and pick.below(2) else "submit"
    if name == "let_time_pass" and any(
        0 < (row.due or row.lease_until or row.limit) <= world.model.clock.now for row in world.rows
    ):
        name = "reap"
    MOVES[name](world, pick)


def later(pick: Picks) -> int:
    """A duration that ends between two steps of the clock."""
    return pick.of([HALF, 3 * HALF, 5 * HALF])


def maybe_new(world: World, pick: Picks, fence: c.Fence) -> c.NewCheckpoint | None:
    """The last checkpoint of a delivery, or none."""
    return world.new(pick, world.thread_of(fence)) if pick.below(2) else None


def terms(world: World, pick: Picks) -> c.Terms:
    """What a job is bound to: now and then to several things."""
    now = world.model.clock.now
    return c.Terms(
        priority=pick.below(2),
        at=now + later(pick) if pick.one_in(4) else 0,
        expires=later(pick) if pick.one_in(3) else 0,
        within=later(pick) if pick.one_in(4) else 0,
        deadline=now + pick.of([HALF, 5 * HALF]) if pick.one_in(4) else 0,
        on_busy=pick.of(ON_BUSY),
    )


# Limits of workers that know different ones. (Not with different times, because each store forgets starts in its own
# way, by what the last worker knew.)
LIMITS = [
    None,
    c.Limits(LANES[-1], concurrency=1),
    c.Limits("0" * 32, concurrency=2),
    c.Limits("0" * 32, count=1, per=3 * HALF),
    c.Limits(LANES[-1], concurrency=1, count=2, per=3 * HALF),
]


# clients


@move(8)
def submit(world: World, pick: Picks) -> None:
    thread, key = pick.of(["", "", *THREADS]), pick.of(["", "", *KEYS])
    delay = later(pick) if pick.one_in(4) else 0
    origin = pick.new_of(world.checkpoints) if pick.one_in(4) else ""
    payload = str(pick.below(8) // 7)
    more = {"delay": delay, "origin": origin, "terms": terms(world, pick) if pick.one_in(2) else c.Terms()}
    new = new_job(pick.of(AGENTS), thread=thread, key=key, payload=payload, key_ttl=3 * HALF, **more)
    new.target = replace(new.target, lane=of_queue(pick.of(LANES), new.target.queue))
    world.say(new)
    if key:
        world.ask(c.FirstUse(new.idem))


@move(4)
def save_outside(world: World, pick: Picks) -> None:
    thread = pick.of([*THREADS, FREE])
    ttl = later(pick) if pick.one_in(3) else 0
    parent = pick.new_of(world.checkpoints) if pick.below(2) else ""
    branch = pick.one_in(2)
    world.say(c.Save(thread, world.new(pick, thread, ttl), parent=parent, branch=branch))


@move(3)
def answer(world: World, pick: Picks) -> None:
    job = world.job(pick, "input_required")
    asked = next((row.asked for row in world.rows if row.id == job), 0)
    world.say(c.AnswerJob(job, b"%d" % pick.below(2), pick.of([0, asked, asked, asked + 1]), pick.of(["", "ann"])))


@move(3)
def cancel_or_run_now(world: World, pick: Picks) -> None:
    world.say(c.RunNow(world.job(pick, "submitted")) if pick.below(3) else c.Cancel(world.job(pick)))


@move(3)
def redrive(world: World, pick: Picks) -> None:
    onward = new_target(pick.of(AGENTS), b"j2") if pick.one_in(3) else None
    tip = pick.new_of(world.checkpoints) if pick.one_in(3) else ""
    records = {"told": b"%d" % pick.below(4)} if pick.one_in(3) else {}
    world.say(c.Redrive(world.job(pick, "failed"), onward, tip, records=records))


@move(2)
def expire(world: World, pick: Picks) -> None:
    world.say(c.Expire(pick.new_of(world.checkpoints)))


@move(1)
def declare(world: World, pick: Picks) -> None:
    known = {"other": b"o", AGENTS[0]: b"0"} if pick.one_in(2) else None
    world.say(c.Declare({pick.of(AGENTS): b"%d" % pick.below(3), "other": b"o"}, known))


@move(2)
def name(world: World, pick: Picks) -> None:
    world.say(c.Name(pick.new_of(world.checkpoints), pick.of([*NAMES, ""])))


@move(1)
def import_(world: World, pick: Picks) -> None:
    """Checkpoints of a copy, the second, if there is one, behind the first. Where they were elsewhere comes after all
    that is here, as in a bundle."""
    thread, count = pick.of([*COPIES, FREE]), pick.below(3)
    made = [world.new(pick, thread)]
    if pick.below(2):
        made.append(world.new(pick, thread, base=made[0].id))
    parents = [pick.of(["", pick.new_of(world.checkpoints)]), made[0].id]
    places = [count + 2 * n + 1 for n in range(len(made))]
    stamps = [c.Stamp(at, world.model.clock.now - at, pick.of(["", f"old {at}"])) for at in places]
    world.say(c.Import(thread, count, made, parents[: len(made)], stamps if pick.one_in(3) else ()))


@move(1)
def adopt(world: World, pick: Picks) -> None:
    """A job that ran elsewhere, on a thread of its own or on one that is here."""
    thread, state, to = pick.of(["", *THREADS]), pick.of(ADOPTED), new_target(pick.of(AGENTS))
    job_id, now = mint("j", home(thread) if thread else None), world.model.clock.now
    row = JobRow(job_id, thread or job_id, state, agent=to.agent, contract=to.contract, queue=to.queue, token=3)
    row.envelope, row.question, row.asked = to.envelope, b"?" if state == "input_required" else b"", now
    row.created, row.updated = now - pick.below(3), now
    ended = [(mint("f"), OutcomeRow(mint("j"), n, "completed", result=b"1")) for n in range(pick.below(3))]
    kept = KeptJob(row, {}) if state == "completed" else KeptJob(row, {"a": b"1"}, ended)
    world.say(c.Adopt(kept, [{"was": "job.failed", "reason": "attempts"}]))


# what is over goes


@move(2)
def prune(world: World, pick: Picks) -> None:
    age, named, limit = pick.of([0, STEP, 5 * STEP]), bool(pick.below(2)), pick.of([500, 1, 2])
    world.say(c.Prune(world.thread(pick), pick.below(3), age, named, pick.of([0, 0, 1, 3]), limit))


@move(1)
def delete_thread(world: World, pick: Picks) -> None:
    world.say(c.DeleteThread(pick.of([world.thread(pick), *COPIES]), pick.of([500, 1]), bool(pick.below(2))))


@move(2)
def delete_job(world: World, pick: Picks) -> None:
    world.say(c.DeleteJob(world.job(pick, "completed", "failed", "canceled", "rejected")))


@move(1)
def prune_jobs(world: World, pick: Picks) -> None:
    world.say(c.PruneJobs(pick.of([0, STEP, 5 * STEP]), pick.of([0, 0, 1]), pick.of([500, 1, 2])))


# workers


@move(9)
def claim(world: World, pick: Picks) -> None:
    queues = pick.of([QUEUES, QUEUES[::-1], QUEUES[:1]])
    leases = tuple(mint("l") for _ in range(pick.of([1, 1, 2, 3])))
    limits = {queue: replace(each, lane=of_queue(each.lane, queue)) for queue in queues if (each := pick.of(LIMITS))}
    world.say(c.Claim(f"w{pick.below(3)}", tuple((queue, later(pick)) for queue in queues), leases, limits))


@move(5, holders=True)
def save(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    ttl = later(pick) if pick.one_in(4) else 0
    records = {f"r{pick.below(3)}/{i}": b"%d" % pick.below(4) for i in range(pick.below(3))}
    thread = world.thread_of(fence)
    world.say(c.Save(thread, world.new(pick, thread, ttl), fence, records=records))


@move(3, holders=True)
def record(world: World, pick: Picks) -> None:
    world.say(c.Record(world.fence(pick), {pick.of([c.SPENT, "r0", "r1", "r2"]): b"%d" % pick.below(4)}))


@move(1, holders=True)
def emit(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    world.say(c.Emit(fence, (b"%d" % pick.below(4), b"more")))
    world.ask(c.ReadStream(fence.job_id))
    world.ask(c.ReadJob(fence.job_id))


@move(3, holders=True)
def heartbeat(world: World, pick: Picks) -> None:
    world.say(c.Heartbeat(((world.fence(pick), later(pick)), (world.fence(pick), later(pick)))))


@move(3, holders=True)
def hand_off(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    onward = new_target(pick.of(AGENTS))
    onward = replace(onward, lane=of_queue(pick.of(LANES), onward.queue))
    world.say(c.HandOff(fence, onward, maybe_new(world, pick, fence), pick.of([b"", b"10"])))


@move(2, holders=True)
def complete(world: World, pick: Picks) -> None:
    world.say(c.Complete(fence := world.fence(pick), b"%d" % pick.below(4), maybe_new(world, pick, fence)))


@move(3, holders=True)
def retry(world: World, pick: Picks) -> None:
    world.say(c.Fail(world.fence(pick), f"boom {pick.below(4)}", "", retry_in=later(pick) if pick.below(4) else 0))


@move(2, holders=True)
def fail(world: World, pick: Picks) -> None:
    state, reason = pick.of([("failed", "attempts"), ("failed", "unanswered"), ("rejected", "no")])
    world.say(c.Fail(world.fence(pick), "boom", reason, state=state, spent=pick.of([b"", b"20"])))


@move(3, holders=True)
def suspend(world: World, pick: Picks) -> None:
    fence = world.fence(pick)
    last, timeout = maybe_new(world, pick, fence), later(pick) if pick.below(2) else 0
    escalation = "\n".join(f"{HALF + i * STEP} {name}" for i, name in enumerate(["lead", "the boss"][: pick.below(3)]))
    late = (pick.of(["", "ann"]), timeout, pick.of([b"", b"1"]), escalation, pick.below(3) > 0)
    world.say(c.Suspend(fence, b"%d" % pick.below(4), last, b"terms", *late))


@move(3, holders=True)
def sleep(world: World, pick: Picks) -> None:
    world.say(c.Sleep(fence := world.fence(pick), later(pick), maybe_new(world, pick, fence)))


@move(2, holders=True)
def release(world: World, pick: Picks) -> None:
    world.say(c.Release(world.fence(pick), pick.of(["", "it died"]), aside=pick.one_in(3)))


@move(2)
def come_back(world: World, pick: Picks) -> None:
    """A worker that was cut off: mostly one whose lease ran out last."""
    last = [c.Fence(row.id, row.token, row.closed[8:]) for row in world.rows if row.closed.startswith("expired ")]
    fence = pick.of(last) if last and not pick.one_in(4) else world.fence(pick)
    world.say(c.Release(fence, pick.of(["", "it died"]), cut_off=True))


@move(4)
def reap(world: World, pick: Picks) -> None:
    queues, limit = tuple(QUEUES[: pick.below(3)]), pick.of([1, 2, 100])
    if any(
        isinstance(said, c.Save | c.Put) and said.checkpoint.ttl and said.checkpoint.thread != FREE
        for said in world.said
    ):
        limit = 100  # on Redis an expired checkpoint that a job still needs counts as one of them
    world.say(
        c.Reap(
            limit,
            worker=f"w{pick.below(3)}",
            queues=queues,
            presence=later(pick) if queues else 0,
            early=pick.one_in(8),
            leases=not pick.one_in(8),
        )
    )


# faults


@move(5)
def say_again(world: World, pick: Picks) -> None:
    """A lost reply, a duplicate, or a command that comes late."""
    if world.said:
        command = pick.new_of(world.said, 8)
        world.learn(command, world.ask(command))


@move(5)
def let_time_pass(world: World, pick: Picks) -> None:
    world.advance(pick.of([STEP, STEP, 2 * STEP]))


@move(1)
def set_the_clock(world: World, pick: Picks) -> None:
    """A clock that is corrected, also backwards."""
    off = (world.model.clock.now + HALF) % STEP - HALF
    world.advance(pick.of([-A_LITTLE, A_LITTLE]) - off)


# reads


@move(7)
def look(world: World, pick: Picks) -> None:
    checkpoint, limit, before = pick.new_of(world.checkpoints), pick.below(4) + 1, pick.of(["", world.job(pick)])
    reads: list[c.Command[Any]] = [
        c.JobsOn(pick.of([*THREADS, before]), limit, before),
        c.Timeline(world.thread(pick), limit, pick.of(["", checkpoint]), bool(pick.below(2))),
        c.Ancestors(checkpoint, limit),
        c.FindName(world.thread(pick), pick.of(NAMES)),
        c.Threads(limit, pick.of(["", *THREADS])),
        c.Export(world.thread(pick), pick.below(3), limit),
        c.Latest(world.thread(pick)),
        *(c.Restore(checkpoint), c.ReadJob(world.job(pick))),
        c.ReadKept(world.job(pick)),
        c.ListJobs(limit, before),
        c.Inbox(limit, *pick.of([(0, ""), *((row.asked, row.id) for row in world.rows if row.asked)])),
        c.Takers(pick.of(QUEUES)),
        c.Declared(),
    ]
    world.ask(pick.of(reads))


@move(1)
def trim_events(world: World, pick: Picks) -> None:
    world.say(c.TrimEvents(pick.of([40, 20, 5]), pick.of([500, 1])))


@move(2)
def take_events(world: World, pick: Picks) -> None:
    group, batch = pick.of(["g", "h"]), pick.of(world.batches[-3:])
    if pick.one_in(4):
        about = pick.of([None, None, b"a", b""])
        world.say(c.JoinGroup(group, bool(pick.below(2)), pick.one_in(4), about, pick.one_in(4)))
    if pick.below(2):
        batch = mint("l")
        world.batches.append(batch)
    world.ask(c.TakeEvents(group, batch, later(pick), pick.of([1, 2, 5]), c.Which(agent=pick.of(["", "", *AGENTS]))))
    world.ask(c.ListGroups())


@move(1)
def ack_events(world: World, pick: Picks) -> None:
    world.compare_acks(pick.of(["g", "h"]), pick.of(world.batches[-3:]), pick.of([0, HALF, 3 * HALF]), pick.below(3))
    if pick.one_in(3):
        world.say(c.JoinGroup("h"))
        world.ask(c.DeleteGroup("h"))


@move(2)
def page_events(world: World, pick: Picks) -> None:
    world.compare_events(pick)
