"""Moves at places: what a framework does that finds checkpoints by names of its own."""

from __future__ import annotations

from typing import Any

from batonpass.coordinator import commands as c
from batonpass.coordinator.parts.spans import Span, read_spans, write_spans
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.seals import read_commit
from tests.model.moves import WEIGHTED, later, move
from tests.model.world import ALL, FREE, PLACE_KEYS, RUNS, SCOPES, THREADS, Picks, World

__all__ = ["WEIGHTED"]  # these moves among all


def _place(pick: Picks) -> Place:
    return Place(pick.of(SCOPES), pick.of(PLACE_KEYS), pick.of(RUNS))


def _writes(pick: Picks, new: c.NewCheckpoint | None = None) -> list[Write]:
    """Some writes. Of those that go with a checkpoint, some have their bytes in what it appends."""
    made: list[Write] = []
    for _ in range(pick.below(3)):
        if pick.one_in(6):
            made.append(Write(f"w{pick.below(3)}", b"", gone=True))
            continue
        spans = ""
        if new and new.appends and pick.below(2):
            append = pick.of(list(new.appends))
            first = pick.below(len(append.data) - 1)
            spans = write_spans([Span(append.log, append.at + first, append.at + len(append.data) - pick.below(2))])
        made.append(Write(f"w{pick.below(3)}", b"%d" % pick.below(100), spans, again=bool(pick.below(2))))
    return made


def _owner(world: World, pick: Picks) -> tuple[str, c.Fence | None]:
    """A thread, and the lease of the job on it, mostly where there is one."""
    held = [row for row in world.rows if row.lease]
    if pick.one_in(3) or not held:
        return pick.of([*THREADS, FREE]), world.fence(pick) if pick.one_in(8) else None
    row = pick.of(held)
    return row.thread, row.fence


@move(9)
def put(world: World, pick: Picks) -> None:
    thread, fence = _owner(world, pick)
    ttl = later(pick) if pick.one_in(4) else 0
    new = world.new(pick, thread, ttl, place=_place(pick))
    tip = pick.of(["", *PLACE_KEYS]) if pick.one_in(4) else None
    world.say(c.Put(new, pick.of(["", *PLACE_KEYS]), tip, fence, _writes(pick, new)))


@move(5)
def put_writes(world: World, pick: Picks) -> None:
    thread, fence = _owner(world, pick)
    if fence and world.thread_of(fence) != thread:  # each store has its own words for that
        fence = None
    place = _place(pick)
    world.say(c.PutWrites(thread, place.scope, place.key, _writes(pick), fence))


@move(3)
def save_at_a_place(world: World, pick: Picks) -> None:
    new = world.new(pick, FREE, place=_place(pick))
    world.say(pick.of([c.Save(FREE, new), c.Import(FREE, pick.below(6), [new], [""])]))


@move(2)
def drop(world: World, pick: Picks) -> None:
    some = tuple(pick.new_of(world.checkpoints, 8) for _ in range(pick.below(4)))
    world.say(c.Drop(pick.of([*THREADS, FREE, world.thread(pick)]), some))


@move(6)
def find(world: World, pick: Picks) -> None:
    which, limit = pick.below(5), pick.below(4) + 1
    thread, place = pick.of([*THREADS, FREE, world.thread(pick)]), _place(pick)
    scope, before = pick.of([None, *SCOPES]), pick.of([None, (pick.of(PLACE_KEYS), pick.of(SCOPES))])
    reads: list[c.Command[Any]] = [
        c.Find(thread, place.scope, place.key),
        c.Find(thread, place.scope),
        c.Places(thread, scope, before, limit, bool(pick.below(2))),
        c.Walk(thread, place.scope, place.key, limit, pick.of(["", pick.new_of(world.checkpoints, 8)])),
        c.OfRun(place.run),
    ]
    world.ask(reads[which])


@move(2)
def look_into_logs(world: World, pick: Picks) -> None:
    """At what a checkpoint that is there keeps in them."""
    thread = pick.of([*THREADS, FREE])
    commits = [read_commit(row.commit, row.id) for row in world.model.do(c.Export(thread, limit=ALL))]
    spans = [span for commit in commits for span in read_spans(commit.spans)]
    world.ask(c.ReadSpans(thread, tuple(spans[: pick.below(4)])))
