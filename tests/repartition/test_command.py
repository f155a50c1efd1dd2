"""`batonpass repartition` as its users see it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from tests.cli.commandline import CommandLine
from tests.harness.bench import new_target
from tests.repartition.conftest import PARTITIONS, Desk, Killed, Scene, app

NewScene = Callable[[], Scene]


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine("memory://", capsys, monkeypatch)


async def test_jobs_go_on_in_the_new_namespace(new_scene: NewScene, line: CommandLine) -> None:
    scene = new_scene()
    with bp.connect(scene.source, app=app) as old:
        job = old.submit("write", Desk(topic="new"), key="kept")
        seen = list(old.events())[-1].cursor
        ran = line("repartition", scene.source, scene.target, "--json")
        assert (ran.code, ran.json["partitions"], ran.json["keys"] > 20) == (0, PARTITIONS, True), ran
        with pytest.raises(bp.BadSetup, match=r"was moved to redis\+cluster://.*-new: use that"):
            old.submit("write", Desk(topic="lost?"))
    with pytest.raises(bp.BadSetup, match="was moved to"), bp.connect(scene.source):
        pass
    async with bp.connect(scene.target, app=app) as new, app.worker(new):
        same = await new.submit("write", Desk(topic="new"), key="kept", returns=Desk)
        assert (same.id, (await same.result()).topic) == (job.id, "new")
        told = [event.type async for event in new.events(after=seen) if event.subject == job.id]
        assert told == ["batonpass.job.started", "batonpass.job.completed"]
    again = line("repartition", scene.source, scene.target)
    assert (again.code, "was moved" in again.out) == (0, True), again


def test_events_go_on_behind_those_that_were(new_scene: NewScene, line: CommandLine) -> None:
    """In each partition, even if the new server's clock is behind. Trimmed events are not skipped in silence."""
    scene = new_scene()
    with bp.connect(scene.source) as old:
        first, *_, last = list(old.events())
        old.store.call(c.JoinGroup("mine", now=True))
        assert old.store.call(c.TrimEvents(3)) > 0
    assert line("repartition", scene.source, scene.target).code == 0
    name = scene.target.partition("namespace=")[2]
    for at in range(PARTITIONS):
        told = scene.cluster.xinfo_stream(f"bp:{{{name}:{at}}}:events")
        assert told["last-generated-id"].decode() >= last.cursor
    with bp.connect(scene.target) as new:
        with pytest.raises(bp.Trimmed):
            list(new.events(after=first.cursor))
        assert list(new.events(after=last.cursor)) == []
        assert [(row.name, row.lag) for row in new.store.call(c.ListGroups())] == [("mine", 0)]


def test_what_can_not_be_moved(new_scene: NewScene, line: CommandLine, redis_server: str) -> None:
    scene, other = new_scene(), new_scene()

    def refused(source: str, target: str, *more: str) -> str:
        before = scene.in_use, scene.arrived
        complaint = line("repartition", source, target, *more).complaint
        assert (scene.in_use, scene.arrived) == before
        return complaint

    assert "there is no namespace 'nobody'" in refused(f"{redis_server}?namespace=nobody", scene.target)
    assert "is there already, if only since it was looked at: name a new" in refused(scene.source, other.source)
    assert "give the second URL another" in refused(scene.source, scene.source)
    assert "is no Redis" in refused(scene.source, "sqlite:///x.db")
    assert "there is nothing to cancel" in refused(scene.source, scene.target, "--cancel")
    assert "was not moved to" in refused(scene.source, scene.target, "--drop-old")
    with bp.connect(scene.source) as coordinator:
        coordinator.store.call(c.Reap(worker="w", queues=(new_target().queue,), presence=60_000))
    assert "1 worker(s) are at work" in refused(scene.source, scene.target)
    assert line("repartition", other.source, other.target).code == 0
    assert "was moved to" in refused(other.source, scene.target)
    more = other.target.replace("-new", "-more").replace(f"partitions={PARTITIONS}", "partitions=4")
    assert f"has {PARTITIONS} partitions" in refused(other.target.replace(f"partitions={PARTITIONS}&", ""), more)


def test_a_move_is_given_up(
    new_scene: NewScene, line: CommandLine, disturbed: Callable[..., None], redis_server: str
) -> None:
    scene = new_scene()

    def kill() -> None:
        raise Killed

    with pytest.raises(Killed):
        disturbed(scene.move(), 30, kill)
    with pytest.raises(bp.BadSetup, match="is being moved to"), bp.connect(scene.source):
        pass
    with pytest.raises(bp.BadSetup, match="is being filled from"), bp.connect(scene.target):
        pass
    elsewhere = line("repartition", scene.source, f"{redis_server}?namespace=elsewhere").complaint
    assert "is being moved to redis+cluster://" in elsewhere
    assert line("repartition", scene.source, scene.target, "--cancel").code == 0
    assert (scene.in_use, scene.arrived) == (["old"], {})
    with bp.connect(scene.source, app=app) as coordinator:
        assert coordinator.submit("write", Desk(topic="goes on")).info().state == "submitted"


def test_the_old_namespace_is_freed(new_scene: NewScene, line: CommandLine) -> None:
    scene = new_scene()
    assert line("repartition", scene.source, scene.target).code == 0
    arrived = scene.arrived
    assert line("repartition", scene.source, scene.target, "--drop-old", "--json").json["dropped"] > 20
    left = scene.server.keys(f"bp:{{{scene.source.partition('namespace=')[2]}:*")
    assert {key.decode().rpartition(":")[2] for key in left} == {"moved", "schema"}
    assert scene.arrived == arrived
    with pytest.raises(bp.BadSetup, match="was moved to"), bp.connect(scene.source):
        pass


def test_the_old_namespace_is_freed_when_the_new_one_was_moved_on(new_scene: NewScene, line: CommandLine) -> None:
    scene = new_scene()
    further = scene.target.replace("-new", "-further")
    with bp.connect(scene.source) as old:
        cursors = [event.cursor for event in old.events()]
    for source, target in ((scene.source, scene.target), (scene.target, further)):
        assert line("repartition", source, target).code == 0
    assert line("repartition", scene.target, further, "--drop-old").code == 0
    assert line("repartition", scene.source, scene.target, "--drop-old", "--json").json["dropped"] > 20
    name = further.partition("namespace=")[2]
    for at in range(PARTITIONS):
        told = scene.cluster.xinfo_stream(f"bp:{{{name}:{at}}}:events")
        assert told["last-generated-id"].decode() >= cursors[-1]
    with bp.connect(further) as coordinator:
        assert len(list(coordinator.events())) == len(cursors)
        for number, cursor in enumerate(cursors, 1):  # positions go on, too, also where a partition had no events
            assert len(list(coordinator.events(after=cursor))) == len(cursors) - number
