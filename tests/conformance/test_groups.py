"""Groups of consumers: each event goes to one of them, and is delivered again until it is done."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.calls import Call
from batonpass.coordinator.calls.events import trim
from batonpass.coordinator.calls.groups import Work
from tests.harness.bench import MINUTE, Bench

G = "group: {x}"


def take(bench: Bench, *, limit: int = 500, batch: str = "", lease: int = MINUTE, agent: str = "") -> list[c.Batch]:
    taken = bench.do(c.TakeEvents(G, batch or mint("l"), lease, limit, c.Which(agent)))
    return list(taken.batches)


def steps(batches: list[c.Batch]) -> list[str]:
    return [row.fields["step"] for batch in batches for row in batch.rows]


def saved(bench: Bench, *steps: str) -> None:
    for step in steps:
        bench.save(None, step=step)


def ack(bench: Bench, batch: c.Batch, position: str, lease: int = MINUTE) -> bool:
    return bench.do(c.AckEvents(G, batch.id, position, lease, batch.partition or 0))


def drive(bench: Bench, call: Call[Any]) -> Any:
    """A call's answer."""
    try:
        command = next(call)
        while True:
            try:
                answer = bench.do(command)
            except bp.BatonpassError as error:
                command = call.throw(error)
            else:
                command = call.send(answer)
    except StopIteration as end:
        return end.value


def group(bench: Bench) -> tuple[int, int]:
    [row] = bench.do(c.ListGroups())
    assert row.name == G
    return row.lag, row.taken


@pytest.mark.one_partition
def test_consumers_share_the_events(bench: Bench) -> None:
    saved(bench, *"abcde")
    bench.do(c.JoinGroup(G))
    assert group(bench) == (5, 0)
    [one], [other] = take(bench, limit=2), take(bench, limit=2)
    assert (steps([one]), steps([other])) == (["a", "b"], ["c", "d"])
    assert group(bench) == (1, 2)
    assert ack(bench, one, one.last)
    assert not ack(bench, one, one.last)
    assert group(bench) == (1, 1)
    assert steps(take(bench)) == ["e"]
    assert take(bench) == []
    bench.clock.advance(MINUTE)
    assert [steps(take(bench)) for _ in range(3)] == [["c", "d"], ["e"], []]
    assert not ack(bench, other, other.last)  # it is another's by now


def unfinished(bench: Bench) -> int:
    [row] = bench.do(c.ListGroups(unfinished=G))
    return row.unfinished


@pytest.mark.one_partition
def test_what_is_taken_and_not_done_is_counted(bench: Bench) -> None:
    """Who alerts on what waits must not be told that nothing does while the one that took it can't get it done."""
    saved(bench, *"abcdef")
    bench.do(c.JoinGroup(G))
    assert unfinished(bench) == 0
    [one], [other] = take(bench, limit=2), take(bench, limit=3)
    assert unfinished(bench) == 5
    assert ack(bench, other, other.rows[0].position)
    assert unfinished(bench) == 4
    for others in ("", f"{G}{G}"):  # it is counted only where that is asked for
        [row] = bench.do(c.ListGroups(unfinished=others))
        assert (row.lag, row.unfinished) == (1, 0)
    assert ack(bench, one, one.last)
    assert unfinished(bench) == 2
    bench.do(c.TrimEvents(2))
    assert (group(bench), unfinished(bench)) == ((1, 1), 1)


def test_what_is_taken_of_all_partitions_is_counted(bench: Bench) -> None:
    for number in range(8):
        bench.save(None, thread=f"run-{number}")
    bench.do(c.JoinGroup(G))
    batches = take(bench)
    assert unfinished(bench) == 8
    for batch in batches:
        assert ack(bench, batch, batch.last)
    assert unfinished(bench) == 0


@pytest.mark.one_partition
def test_only_so_many_batches_are_taken_at_once(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("operations.groups", "redis.wire_observing"):
        monkeypatch.setattr(f"batonpass.coordinator.{module}.BATCHES", 2)
    saved(bench, *"abc")
    bench.do(c.JoinGroup(G))
    [one], [_] = take(bench, limit=1), take(bench, limit=1)
    assert take(bench) == []
    assert steps(take(bench, batch=one.id)) == ["a"]  # its own it may have again
    assert ack(bench, one, one.last)
    assert steps(take(bench)) == ["c"]


@pytest.mark.one_partition
def test_a_batch_is_done_step_by_step(bench: Bench) -> None:
    saved(bench, *"abcd")
    bench.do(c.JoinGroup(G))
    [batch] = take(bench)
    assert ack(bench, batch, batch.rows[1].position)
    bench.clock.advance(MINUTE - 1)
    assert take(bench) == []
    assert ack(bench, batch, "")  # still at work on the next one
    bench.clock.advance(MINUTE - 1)
    assert take(bench) == []
    assert ack(bench, batch, batch.rows[0].position, lease=0)  # never back
    assert steps(take(bench, limit=1)) == ["c", "d"]
    assert group(bench) == (0, 1)


@pytest.mark.one_partition
def test_what_was_done_of_a_lost_batch_is_not_done_of_the_next_one(bench: Bench) -> None:
    """Which may be an earlier one that another consumer left."""
    saved(bench, *"abcd")
    bench.do(c.JoinGroup(G))
    take(bench, limit=2)
    work = Work(G, c.Which(), start="begin", lease=60.0, batch=2, source="/test")
    assert drive(bench, work.next()).data["step"] == "c"
    bench.clock.advance(MINUTE)
    assert [steps(take(bench, lease=lease)) for lease in (1, MINUTE)] == [["a", "b"], ["c", "d"]]
    drive(bench, work.keep())
    bench.clock.advance(1)
    assert drive(bench, work.next()).data["step"] == "a"
    drive(bench, work.keep())
    assert group(bench) == (0, 2)
    assert drive(bench, work.next()).data["step"] == "b"
    assert drive(bench, work.next()) is None
    assert group(bench) == (0, 1)


def test_an_ack_that_did_not_reach_the_store_can_be_said_again(bench: Bench) -> None:
    saved(bench, *"ab")
    work = Work(G, c.Which(), start="begin", lease=60.0, batch=2, source="/test")
    drive(bench, work.next())
    lost = work.ack()
    next(lost)
    with pytest.raises(bp.Unreachable):
        lost.throw(bp.Unreachable("it is away"))
    drive(bench, work.ack())
    bench.clock.advance(MINUTE)
    assert steps(take(bench)) == ["b"]


@pytest.mark.parametrize("lease", [0.5, 60.0])
def test_who_comes_back_within_the_lease_keeps_all(bench: Bench, lease: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """It also keeps what was fetched with it, even if that is a batch of each partition."""
    clock = SimpleNamespace(monotonic=lambda: bench.clock.now / 1000)
    monkeypatch.setattr("batonpass.coordinator.calls.groups.time", clock)
    for number in range(8):
        bench.save(None, thread=f"run-{number}")
    work = Work(G, c.Which(), start="begin", lease=lease, batch=100, source="/test")
    events = set[str]()
    for _ in range(8):
        events.add(drive(bench, work.next()).id)
        bench.clock.advance(int(lease * 900))
        assert take(bench) == []
    assert drive(bench, work.next()) is None
    assert (len(events), group(bench)) == (8, (0, 0))


def test_who_is_cancelled_while_it_asks_gives_back_what_it_would_have_got(bench: Bench) -> None:
    for number in range(4):
        bench.save(None, thread=f"run-{number}")
    work = Work(G, c.Which(), start="begin", lease=60.0, batch=100, source="/test")
    asking = work.next()
    for command in asking:
        if isinstance(command, c.TakeEvents):
            assert bench.do(command).batches
            asking.close()
        else:
            bench.do(command)
    drive(bench, work.give_back())
    assert sum(len(batch.rows) for batch in take(bench)) == 4
    drive(bench, work.give_back())
    assert group(bench)[1] > 0


@pytest.mark.parametrize("gone", ["the group", "events"])
def test_who_is_cancelled_while_it_asks_gives_nothing_back_of_what_is_gone(bench: Bench, gone: str) -> None:
    saved(bench, *"abc")
    work = Work(G, c.Which(), start="begin", lease=60.0, batch=1, source="/test")
    while drive(bench, work.next()).data["step"] != "a":
        pass
    drive(bench, work.ack())
    asking = work.next()
    for command in asking:
        if isinstance(command, c.TakeEvents):
            asking.close()
        else:
            bench.do(command)
    if gone == "events":
        drive(bench, trim(1))
    else:
        bench.do(c.DeleteGroup(G))
    drive(bench, work.give_back())


@pytest.mark.one_partition
def test_the_same_question_has_the_same_answer(bench: Bench) -> None:
    """A reply was lost."""
    saved(bench, *"ab")
    bench.do(c.JoinGroup(G))
    id_ = mint("l")
    assert take(bench, batch=id_, limit=1) == take(bench, batch=id_, limit=1)
    assert group(bench) == (1, 1)


@pytest.mark.one_partition
def test_what_is_not_wanted_is_passed_over(bench: Bench) -> None:
    saved(bench, *"abc")
    bench.do(c.JoinGroup(G))
    taken = bench.do(c.TakeEvents(G, mint("l"), MINUTE, 2, c.Which("nobody")))
    assert taken == c.Taken((), more=True)
    assert group(bench) == (1, 0)
    assert steps(take(bench, agent="write")) == ["c"]


def test_where_a_group_begins(bench: Bench) -> None:
    saved(bench, "a")
    bench.do(c.JoinGroup(G, now=True))
    saved(bench, "b")
    bench.do(c.JoinGroup(G))
    batches = take(bench)
    assert steps(batches) == ["b"]
    bench.do(c.JoinGroup(G, anew=True))
    assert not ack(bench, batches[0], batches[0].last)
    assert sorted(steps(take(bench) + take(bench))) == ["a", "b"]
    with bench.beside("other") as other:
        assert other.do(c.ListGroups()) == []
        with other.refused(bp.NotFound, "there is no consumer group"):
            take(other)
    bench.do(c.JoinGroup("another"))
    bench.do(c.DeleteGroup(G))
    assert [row.name for row in bench.do(c.ListGroups())] == ["another"]
    for asked in (c.DeleteGroup(G), c.TakeEvents(G, mint("l"), MINUTE)):
        with bench.refused(bp.NotFound, "there is no consumer group"):
            bench.do(asked)


def test_what_is_kept_with_a_group(bench: Bench) -> None:
    with bench.refused(bp.NotFound):
        bench.do(c.JoinGroup(G, about=b"a", known=True))
    bench.do(c.JoinGroup(G, about=b"a"))
    saved(bench, "a")
    [batch] = take(bench)
    with bench.nothing_changes():
        bench.do(c.JoinGroup(G, now=True))
    bench.do(c.JoinGroup(G, now=True, about=b"b", known=True))
    assert bench.do(c.ListGroups()) == [c.GroupRow(G, 0, 1, b"b")]
    assert ack(bench, batch, batch.last)
    bench.do(c.JoinGroup(G, anew=True))
    assert bench.do(c.ListGroups()) == [c.GroupRow(G, 1, 0, b"b")]


@pytest.mark.one_partition
@pytest.mark.parametrize("taken", [False, True])
def test_a_group_that_falls_behind_is_told(bench: Bench, taken: bool) -> None:
    """Even if it had taken what is gone, and did not finish it."""
    bench.do(c.JoinGroup(G))
    saved(bench, *"abc")
    if taken:
        take(bench)
        bench.clock.advance(MINUTE)
    bench.do(c.TrimEvents(1))
    for _ in range(2):
        with bench.refused(bp.Trimmed, "move_group"):
            take(bench)
    bench.do(c.JoinGroup(G, anew=True))
    assert group(bench) == (1, 0)
    assert steps(take(bench)) == ["c"]


def test_it_is_told_where_those_that_are_kept_begin(bench: Bench) -> None:
    """Over all partitions, also those of which it has missed nothing."""
    bench.do(c.JoinGroup(G))
    for number in range(12):
        bench.save(None, thread=f"run-{number % 3}")
    bench.do(c.TrimEvents(4))
    kept = [row.fields for row in bench.do(c.Events()) if row.fields]
    with pytest.raises(bp.Trimmed) as caught:
        take(bench)
    assert caught.value.first_available
    assert [row.fields for row in bench.do(c.Events(caught.value.first_available)) if row.fields] == kept
    assert 0 < len(kept) < 12


class Consuming:
    """A consumer of the bench's side, asked in sync words."""

    def __init__(self, bench: Bench, **more: Any) -> None:
        self._bench = bench
        self.consumer = bench.face().consume(G, **more)

    def next(self) -> bp.Event:
        asked = anext(self.consumer) if self._bench.side == "async" else next(self.consumer)
        event: bp.Event = self._bench.run(asked)
        return event

    def close(self) -> None:
        self._bench.run(self.consumer.aclose() if self._bench.side == "async" else self.consumer.close())


def test_consumers_of_the_face(bench: Bench) -> None:
    """What one did not finish goes to the other at once, with the same id; what was done does not come again."""
    jobs = [bench.start() for _ in range(6)]
    one = Consuming(bench, types="job.started", batch=500)
    done = [one.next().subject for _ in range(3)]
    unfinished = one.next()
    one.close()
    other = Consuming(bench, types="job.started", batch=500)
    rest = [other.next() for _ in range(3)]
    assert sorted([*done, *(event.subject for event in rest)]) == sorted(fence.job_id for fence in jobs)
    assert unfinished.id in [event.id for event in rest]
    bench.run(other.consumer.ack())
    other.close()
    [found] = bench.run(bench.face().groups())
    assert (found.name, found.taken) == (G, 0)
    last = Consuming(bench, types="job.submitted", start="now")
    bench.run(bench.face().move_group(G, to="now"))
    new = bench.submit()
    assert last.next().subject == new
    last.close()


def test_what_is_wrong_with_a_consumer(bench: Bench) -> None:
    face = bench.face()
    terms: list[dict[str, Any]] = [{"start": "later"}, {"batch": 501}, {"batch": 0}, {"lease": 0}]
    for group, wrong in (("", {}), ("webhook:a", {}), *((G, each) for each in terms)):
        with pytest.raises(bp.BadSetup):
            face.consume(group, **wrong)
