"""States that an older version of an agent saved are read as its current version's. What is stored stays as it is.

A client without an app knows all that are left in the process, and an error's traceback may leave one. So the agent has
a name that no other test uses.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.checkpoint import Snapshot
from batonpass.coordinator import commands as c
from batonpass.coordinator.snapshots import open_checkpoint
from batonpass.workers.session import LeaseSession
from tests.harness.bench import Bench, new_target


def desk(version: int, *steps: int) -> bp.App:
    """An app whose agent has states of that version, and migrations from those that are named."""
    app = bp.App(f"desk {version}")

    @app.agent("grow", accepts=bp.State, returns=bp.State, state_version=version)
    def grow(state: bp.State) -> bp.State:
        return state

    for step in steps:

        @app.migration("grow", from_version=step)
        def migrate(state: dict[str, Any], step: int = step) -> dict[str, Any]:
            return {**state, "seen": [*state.get("seen", []), step]}

    return app


def save(bench: Bench, version: int, **more: Any) -> Any:
    face = bench.face(desk(version))
    return bench.run(face.save(thread="run", agent="grow", **{"state": {"text": "a"}, **more}))


def test_one_step_for_each_version(bench: Bench) -> None:
    one, two = save(bench, 1), save(bench, 2)
    assert (one.version, two.version) == (1, 2)
    face = bench.face(desk(3, 1, 2))
    found = bench.run(face.restore(one.id))
    assert (found.state, found.version) == ({"text": "a", "seen": [1, 2]}, 3)
    assert bench.run(face.latest(thread="run")).state == {"text": "a", "seen": [2]}
    assert [summary.version for summary in bench.run(face.timeline(thread="run"))] == [2, 1]
    assert open_checkpoint(bench.do(c.Restore(one.id))).state == {"text": "a"}


def test_a_newer_state_than_is_known(bench: Bench) -> None:
    saved = save(bench, 3)
    with bench.refused(bp.BadSetup, "version 3 of agent 'grow', but only versions up to 2 are known here"):
        bench.run(bench.face(desk(2, 1)).restore(saved.id))


def test_a_missing_step(bench: Bench) -> None:
    saved = save(bench, 1)
    with bench.refused(bp.BadSetup, r"write @app.migration\('grow', from_version=2\)"):
        bench.run(bench.face(desk(3, 1)).restore(saved.id))


def test_a_step_that_fails(bench: Bench) -> None:
    saved = save(bench, 1, state={"seen": 5})
    with bench.refused(bp.BadSetup, "the migration from version 1 failed: TypeError"):
        bench.run(bench.face(desk(2, 1)).restore(saved.id))


def test_a_step_that_forgets_to_return(bench: Bench) -> None:
    saved = save(bench, 1)
    app = desk(3, 2)

    @app.migration("grow", from_version=1)
    def forget(state: dict[str, Any]) -> None:
        state["seen"] = []

    said = "the migration from version 1 gave a NoneType, not a dict: did it forget return?"
    with bench.refused(bp.BadSetup, re.escape(said)):
        bench.run(bench.face(app).restore(saved.id))


def test_who_does_not_know_the_agent_sees_what_is_stored(bench: Bench) -> None:
    saved = save(bench, 2)
    found = bench.run(bench.face(bp.App("other")).restore(saved.id))
    assert (found.state, found.version) == ({"text": "a"}, 2)


def test_forks_go_on_from_what_is_read(bench: Bench) -> None:
    saved = save(bench, 1)
    face = bench.face(desk(2, 1))
    fork = bench.run(face.fork(saved.id, changes={"text": "b"}))
    assert (fork.state, fork.version) == ({"text": "b", "seen": [1]}, 2)
    back = bench.run(face.rollback("run", to=saved.id))
    assert (back.state, back.version) == ({"text": "a", "seen": [1]}, 2)
    assert bench.run(face.restore(back.id)) == back
    bench.run(face.copy("run", to="twin"))
    assert [found.version for found in bench.run(face.timeline("twin"))] == [2, 2, 1]


def test_changes_do_not_mix_versions(bench: Bench) -> None:
    save(bench, 1)
    face = bench.face(desk(2, 1))
    with bench.refused(bp.BadSetup, "of version 1, agent 'grow' has version 2"):
        bench.run(face.save(thread="run", agent="grow", changes={"text": "b"}))
    state = bench.run(face.latest(thread="run")).state
    bench.run(face.save(thread="run", agent="grow", state=state))
    made = bench.run(face.save(thread="run", agent="grow", changes={"text": "b"}))
    assert (made.state, made.version) == ({"text": "b", "seen": [1]}, 2)
    with bench.refused(bp.BadSetup, "of version 2, agent 'grow' has version 1 here: this program is older: update it"):
        bench.run(bench.face(desk(1)).save(thread="run", agent="grow", changes={"text": "c"}))
    with bench.refused(bp.BadSetup, "and of agent 'grow', agent 'other' has version 1 here: save changes with agent="):
        bench.run(face.save(thread="run", agent="other", changes={"text": "c"}))
    with bench.refused(bp.BadSetup, "and of agent 'grow', agent 'other' has version 1 here: save changes with agent="):
        bench.run(bench.face(desk(2, 1)).save(thread="run", agent="other", changes={"text": "c"}, parent=made.id))


def test_a_worker_goes_on_from_it(bench: Bench) -> None:
    """A deploy in the middle of a job: the new worker's agent gets a state of its own version."""
    bench.submit("grow")
    [old] = bench.claim(agent="grow")
    session = LeaseSession(bench.store, old, desk(1))
    bench.each(lambda: session.save(_snapshot()), lambda: session.asave(_snapshot()))
    bench.do(c.Release(session.fence))
    [new] = bench.claim(agent="grow")
    resumed = LeaseSession(bench.store, new, desk(2, 1))
    assert resumed.checkpoint is not None
    assert (resumed.checkpoint.state, resumed.checkpoint.version) == ({"text": "a", "seen": [1]}, 2)
    made = bench.each(lambda: resumed.save(_snapshot()), lambda: resumed.asave(_snapshot()))
    assert made.version == 2
    bench.do(c.HandOff(resumed.fence, new_target("review")))


def _snapshot() -> Snapshot:
    return Snapshot(step="step", state={"text": "a"})


@pytest.mark.parametrize(("version", "steps"), [(1, [1]), (2, [2]), (2, [0]), (2, [1, 2])])
def test_declarations_that_can_not_be(version: int, steps: list[int]) -> None:
    with pytest.raises(bp.BadSetup, match="migrations from"):
        desk(version, *steps).check()


def test_a_version_that_is_no_number() -> None:
    version: Any = "1"
    app = bp.App("desk")
    for declare in (partial(app.migration, "grow"), partial(app.upcast, bp.State)):
        with pytest.raises(bp.BadSetup, match="from_version='1', but it must be a whole number"):
            declare(from_version=version)(dict)


def test_no_two_for_one_version() -> None:
    with pytest.raises(bp.BadSetup, match="two migrations of agent 'grow' from version 1"):
        desk(2, 1, 1)
    with pytest.raises(bp.BadSetup, match="versions start at 1"):
        desk(0)
