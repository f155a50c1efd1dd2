"""Every writing operation once, on a store that is ready for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from batonpass.contracts.names import home, mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.items import ItemChange
from batonpass.coordinator.rows import JobRow, KeptJob, OutcomeRow, Place, Write
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_job, new_target
from tests.harness.children import Family
from tests.harness.items import Items, name
from tests.harness.places import Places, first_part, large
from tests.rules import lanes

Scene = Callable[[Bench], c.Command[Any]]


def _started(command: Callable[[c.Fence], c.Command[Any]]) -> Scene:
    return lambda bench: command(bench.start(thread="run", key="k"))


def _followed(command: Callable[[c.Fence], c.Command[Any]]) -> Scene:
    """Another job waits for the thread."""

    def scene(bench: Bench) -> c.Command[Any]:
        fence = bench.start(thread="run", key="k")
        bench.submit(thread="run", on_busy="queue")
        return command(fence)

    return scene


def _failed(bench: Bench) -> c.Command[Any]:
    fence = bench.start(thread="run", key="k")
    bench.do(c.Fail(fence, "boom", "attempts"))
    return c.Redrive(fence.job_id, new_target())


def _reap(bench: Bench) -> c.Command[Any]:
    bench.start(lease=1)
    bench.submit(delay=1)
    bench.submit(terms=c.Terms(within=1))
    bench.save(None, ttl=1)
    Items(bench).put(name("a"), ttl=1)
    bench.clock.advance(1)
    return c.Reap(worker="w", queues=("q",), presence=MINUTE)


def _run_out(bench: Bench) -> c.Command[Any]:
    fence = bench.start(lease=1)
    bench.clock.advance(1)
    bench.do(c.Reap())
    return c.Release(fence, cut_off=True)


def _overdue(**late: Any) -> Scene:
    def scene(bench: Bench) -> c.Command[Any]:
        bench.do(c.Suspend(bench.start(), b"sure?", timeout=1, **late))
        bench.clock.advance(1)
        return c.Reap()

    return scene


def _claim(bench: Bench) -> c.Command[Any]:
    fence = bench.start()
    bench.save(fence, records={"a": b"1"})
    bench.do(c.Release(fence))
    bench.submit(terms=c.Terms(expires=MINUTE))
    bench.submit(terms=c.Terms(expires=MINUTE, within=2 * MINUTE))
    return c.Claim("w", ((new_target().queue, MINUTE),), ("lease", "lease2", "lease3"))


def _named(bench: Bench) -> c.Command[Any]:
    named = bench.save(None, ttl=MINUTE)
    bench.do(c.Name(named, "first"))
    return c.Name(named, "")


def _pruned(bench: Bench) -> c.Command[Any]:
    for _ in range(3):
        bench.save(None, thread="run")
    return c.Prune("run", keep_last=1)


def _ended(command: Callable[[str], c.Command[Any]]) -> Scene:
    def scene(bench: Bench) -> c.Command[Any]:
        fence = bench.start(thread="run", key="k")
        bench.save(fence, {"messages": ["x" * 5000] * 9}, thread="run")
        bench.do(c.Complete(fence, b"result"))
        return command(fence.job_id)

    return scene


def _asking(bench: Bench) -> str:
    fence = bench.start()
    bench.do(c.Suspend(fence, b"sure?", timeout=MINUTE))
    return fence.job_id


def _put(bench: Bench, fence: c.Fence | None = None, *, replace: bool = False) -> c.Command[Any]:
    """A checkpoint with its parent's writes, of which one was there; in an empty place, or in that of another."""
    run = Places(bench)
    run.line("a", *(["b"] if replace else []), fence=fence, run="r")
    run.write("a", Write("x", b"1"), fence=fence)
    new = run.new("b", large("b"), ttl=MINUTE, run="r")
    return c.Put(new, "a", run.at(), fence, [Write("x", b"2", first_part(new)[0], again=True), Write("y", b"3")])


def _taken_away(bench: Bench, *writes: Write) -> c.Command[Any]:
    """A write goes, and lets go of its span, and others come."""
    bench.do(_put(bench))
    return c.PutWrites("run", "", "a", [*writes, Write("x", b"", gone=True)])


def _written(bench: Bench) -> Places:
    """Checkpoints and writes at places."""
    run = Places(bench)
    bench.do(_put(bench))
    run.put("c", "b", scope="in", run="r")
    run.write("d", Write("x", b"1"))
    return run


def _items(bench: Bench) -> c.Command[Any]:
    """A new item, one that replaces another, and one that goes."""
    items = Items(bench)
    items.put(name("a"), name("b"), name("c"), ttl=MINUTE)
    kept = [ItemChange(name("a"), b"1", b"i"), ItemChange(name("new"), b"2", ttl=MINUTE)]
    return c.WriteItems((ItemChange(name("b"), None), *kept, ItemChange(name("c"), None)))


def _item(command: c.Command[Any]) -> Scene:
    def scene(bench: Bench) -> c.Command[Any]:
        Items(bench).put(name("a"), name("b"), ttl=MINUTE)
        bench.clock.advance(1)
        return command

    return scene


def _family(bench: Bench, count: int = 3, **more: int) -> Family:
    return Family(bench, bench.start(thread="run", key="k"), count, **more)


def _placed() -> c.NewCheckpoint:
    return new_checkpoint(thread="new", place=Place("", "a", "r"))


def _adopting(state: str) -> c.Command[Any]:
    """A job with two records and outcomes, on a thread that is not there."""
    to, ids = new_target(), [mint("j", home("new")) for _ in range(2)]
    row = JobRow(ids[0], "new", state, agent=to.agent, queue=to.queue, envelope=to.envelope, created=5, asked=6)
    row.question = b"q" if state == "input_required" else b""
    ended = [("f" * 24, OutcomeRow(ids[1], number, "completed", result=b"1")) for number in range(2)]
    return c.Adopt(KeptJob(row, {"a": b"1", "b": b"2"}, ended), [{"was": "job.started"}, {"was": "job.failed"}])


def _staged(bench: Bench) -> c.Command[Any]:
    family = _family(bench)
    bench.do(c.Stage(family.fence, 0, family.children[2:]))
    return family.spawning(given=2, records={"a": b"1"})


def _staged_anew(bench: Bench) -> c.Command[Any]:
    family = _family(bench)
    bench.do(c.Stage(family.fence, 0, family.children[2:]))
    return c.Stage(family.fence, 0, family.children[1:])


def _last_child(ending: Callable[[c.Fence], c.Command[Any]]) -> Scene:
    """Its end decides the fan-out: the parent goes on, and others are to be canceled."""

    def scene(bench: Bench) -> c.Command[Any]:
        family = _family(bench, need=1, spare=0)
        bench.do(c.Stage(family.fence, 0, family.children[2:]))
        family.spawn(given=2)
        return ending(bench.take())

    return scene


def _parent_canceled(bench: Bench) -> c.Command[Any]:
    bench.do(_staged(bench))
    [id_] = [row.id for row in bench.do(c.ListJobs()) if row.state == "working"]
    return c.Cancel(id_)


def _left_over(bench: Bench) -> c.Command[Any]:
    """Children to make, and children to cancel, of which one has children."""
    bench.do(_staged(bench))
    inner = Family(bench, bench.take(), 2)
    inner.spawn()
    bench.do(c.Cancel(inner.parent))
    return c.Reap()


def _taken(bench: Bench, **more: Any) -> c.TakeEvents:
    """Two events, which a consumer is about to take."""
    bench.save(None)
    bench.save(None)
    bench.do(c.JoinGroup("g"))
    return c.TakeEvents("g", "b" * 24, MINUTE, **more)


def _acked(bench: Bench, position: int) -> c.Command[Any]:
    """One that has them, and is done with some."""
    [batch] = bench.do(_taken(bench)).batches
    return c.AckEvents("g", batch.id, batch.rows[position].position, MINUTE)


def _left(bench: Bench, **more: Any) -> c.Command[Any]:
    """A batch whose consumer is gone."""
    bench.do(replace(_taken(bench), lease=1))
    bench.clock.advance(1)
    return c.TakeEvents("g", "c" * 24, MINUTE, **more)


# Each leaves something behind that was not there before: a full server may refuse it.
GROWING: dict[str, Scene] = {
    "submit": lambda bench: new_job(thread="run", key="k"),
    "submit on terms": lambda bench: new_job(terms=c.Terms(1, 0, MINUTE, 2 * MINUTE)),
    "submit within bounds": lambda bench: new_job(terms=c.Terms(most=1, counted=(new_target().queue,))),
    "submit later": lambda bench: new_job(delay=MINUTE, origin=bench.save(None)),
    "submit behind another": _followed(lambda f: new_job(thread="run", key="l", on_busy="queue", delay=1)),
    "submit in the place of another": _followed(lambda f: new_job(thread="run", key="l", on_busy="rollback")),
    "save": _started(lambda f: c.Save("run", new_checkpoint(ttl=MINUTE), f, records={"a": b"1"})),
    "save without a lease": lambda bench: c.Save("t", new_checkpoint(), parent=bench.save(None)),
    "record": _started(lambda f: c.Record(f, {"a": b"1"})),
    "hand_off": _started(lambda f: c.HandOff(f, new_target("review"), new_checkpoint())),
    "hand_off without a checkpoint": _started(lambda f: c.HandOff(f, new_target("review"))),
    "suspend": _started(lambda f: c.Suspend(f, b"sure?", new_checkpoint())),
    "suspend for a time": _started(lambda f: c.Suspend(f, b"sure?", assignee="ann", timeout=1, escalation="9 lead")),
    "suspend without a checkpoint": _started(lambda f: c.Suspend(f, b"sure?")),
    "sleep": _started(lambda f: c.Sleep(f, 1, new_checkpoint())),
    "sleep without a checkpoint": _started(lambda f: c.Sleep(f, MINUTE)),
    "answer": lambda bench: c.AnswerJob(_asking(bench), b"yes"),
    "stage": lambda bench: c.Stage((f := _family(bench)).fence, 0, f.children),
    "stage anew": _staged_anew,
    "spawn": lambda bench: _family(bench).spawning(checkpoint=new_checkpoint(), records={"a": b"1"}),
    "spawn what was staged": _staged,
    "redrive": _failed,
    **lanes.GROWING,
    "emit": _started(lambda f: c.Emit(f, (b"1", b"2"))),
    "declare": lambda bench: c.Declare({"write": b"1"}),
    "name": lambda bench: c.Name(bench.save(None, ttl=MINUTE), "first"),
    "put": _put,
    "put under a lease": lambda bench: _put(bench, bench.start(thread="run")),
    "put in the place of another": lambda bench: _put(bench, replace=True),
    "put writes": lambda bench: c.PutWrites("run", "", "b", [Write("x", b"1"), Write("y", b"2")]),
    "put a write and take one away": lambda bench: _taken_away(bench, Write("z", b"2")),
    "put writes under a lease": _started(lambda f: c.PutWrites("run", "", "b", [Write("x", b"1")], f)),
    "save at a place": _started(lambda f: c.Save("run", new_checkpoint(place=Place("", "a", "r")), f)),
    "write items": _items,
    "join a group": lambda bench: (bench.save(None), c.JoinGroup("g", now=True))[1],
    "begin anew": lambda bench: (_acked(bench, 0), c.JoinGroup("g", anew=True))[1],
    "change a group": lambda bench: (_acked(bench, 0), c.JoinGroup("g", about=b"a"))[1],
    "take events": _taken,
    "take events that are not wanted": lambda bench: _taken(bench, which=c.Which("nobody")),
    "take events again": _left,
    "import": lambda bench: c.Import("new", 0, [new_checkpoint(thread="new")], [bench.save(None)]),
    "import from elsewhere": lambda bench: c.Import("new", 0, [_placed()], [""], [c.Stamp(3, 5, "first")]),
    "adopt": lambda bench: _adopting("failed"),
    "adopt a question": lambda bench: _adopting("input_required"),
    "run now": lambda bench: c.RunNow(bench.submit(delay=MINUTE)),
    "pause an agent": lambda bench: c.PauseAgent("write", "no model"),
}
# Each ends something or keeps it going, so it must work on a full server, too.
ENDING: dict[str, Scene] = {
    "take a write away": _taken_away,
    "complete": _started(lambda f: c.Complete(f, b"result", new_checkpoint())),
    "complete without a checkpoint": _started(lambda f: c.Complete(f, b"result")),
    "complete before another": _followed(lambda f: c.Complete(f, b"result", new_checkpoint())),
    "cancel before another": _followed(lambda f: c.Cancel(f.job_id)),
    "fail": _started(lambda f: c.Fail(f, "boom", "attempts")),
    "retry": _started(lambda f: c.Fail(f, "boom", "", retry_in=MINUTE)),
    "release": _started(c.Release),
    "release what ran out": _run_out,
    "cancel": _started(lambda f: c.Cancel(f.job_id)),
    "cancel what is ready": lambda bench: c.Cancel(bench.submit(terms=c.Terms(within=MINUTE))),
    "heartbeat": _started(lambda f: c.Heartbeat(((f, 2 * MINUTE),))),
    "expire": lambda bench: c.Expire(bench.save(None, ttl=MINUTE)),
    "unname": _named,
    "prune": _pruned,
    "drop": lambda bench: c.Drop("run", tuple(row.id for row in (_written(bench), bench.line("run"))[1])),
    "expire at a place": lambda bench: c.Expire((_written(bench), bench.line("run"))[1][-1].id),
    "delete what is at places": lambda bench: (_written(bench), c.DeleteThread("run", placed=True))[1],
    "delete a thread with places": lambda bench: (_written(bench), c.DeleteThread("run"))[1],
    "delete items": _item(c.WriteItems((ItemChange(name("a"), None), ItemChange(name("b"), None)))),
    "refresh items": _item(c.RefreshItems((name("a"), name("b")))),
    "delete a thread": _ended(lambda job_id: c.DeleteThread("run")),
    "delete a job": _ended(c.DeleteJob),
    "prune jobs": _ended(lambda job_id: c.PruneJobs(0)),
    "complete the last child": _last_child(lambda f: c.Complete(f, b"result")),
    "fail a child": _last_child(lambda f: c.Fail(f, "boom", "attempts")),
    "cancel a parent": _parent_canceled,
    "reap children": _left_over,
    "reap": _reap,
    "reap a question": _overdue(),
    "reap a question with a default": _overdue(otherwise=b"no"),
    "reap a question that goes to the next": _overdue(escalation="9 lead"),
    "cancel a question": lambda bench: c.Cancel(_asking(bench)),
    "trim events": lambda bench: (bench.save(None), bench.save(None), c.TrimEvents(1))[2],
    "ack some events": lambda bench: _acked(bench, 0),
    "ack all events": lambda bench: _acked(bench, -1),
    "delete a group": lambda bench: (_acked(bench, 0), c.DeleteGroup("g"))[1],
    "claim": _claim,
    "resume an agent": lambda bench: (
        bench.submit(),
        bench.do(c.PauseAgent("write")),
        c.ResumeAgent("write", (new_target().queue,)),
    )[-1],
    **lanes.ENDING,
}
SCENES = GROWING | ENDING

# Each is refused, before anything is written.
REFUSALS: dict[str, Scene] = {
    "fenced": _started(lambda f: c.Complete(c.Fence(f.job_id, f.token + 1, f.lease_id), b"r", new_checkpoint())),
    "full": lambda bench: new_job(terms=c.Terms(most=bool(bench.submit()), counted=(new_target().queue,))),
    "no job": lambda bench: c.Cancel("j" * 24),
    "no checkpoint": lambda bench: c.Expire("c" * 24),
    "key": lambda bench: new_job(key=bench.submit(key="k") and "k", payload="other"),
    "busy": lambda bench: new_job(thread=bench.job(bench.submit(thread="run")).thread),
    "nowhere to roll back to": lambda bench: (
        start := bench.save(None, thread="run"),
        bench.save(bench.start(thread="run")),
        bench.do(c.Expire(start)),
        new_job(thread="run", on_busy="rollback"),
    )[-1],
    "needed": lambda bench: c.Expire(bench.save(bench.start(thread="run"))),
    "moved": lambda bench: c.Save("t", new_checkpoint(), parent=(bench.save(None), bench.save(None))[0]),
    "not asking": lambda bench: c.AnswerJob(bench.submit(), b"yes"),
    "outrun": lambda bench: c.Put(Places(bench).new("b"), "", (Places(bench).put("a"), "")[1]),
    "put to another thread": lambda bench: c.Put(Places(bench).new("b"), fence=bench.start(thread="other")),
    "write to another thread": lambda bench: c.PutWrites("run", "", "a", [Write("x", b"1")], bench.start()),
    "spans of no log": lambda bench: c.PutWrites("run", "", "a", [Write("x", b"1", f"{'c' * 24}.0:0:5")]),
    "lost": _started(lambda f: c.HandOff(c.Fence(f.job_id, 1, ""), new_target("review"), new_checkpoint())),
}
