"""A move that is killed, or that others overtake, at each of its steps: nothing is lost, and in the end it is done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Condition, Thread, current_thread
from typing import Any

import msgpack
import pytest

import batonpass as bp
from batonpass.coordinator.redis.moving import marks
from batonpass.coordinator.redis.moving.marks import Mark
from batonpass.coordinator.redis.moving.move import Move, Moved
from batonpass.coordinator.redis.moving.side import Side
from tests.repartition.conftest import Killed, Scene

Disturbed = Callable[[Move, int, Callable[[], None]], None]
NewScene = Callable[[], Scene]
Points = Callable[[int], Iterable[int]]
# Of the steps, without --all-variants.
_SHARE = 0.1


def steps_of(scene: Scene) -> int:
    """How often an undisturbed move asks its servers."""
    count = 0

    def one_more() -> None:
        nonlocal count
        count += 1

    move = scene.move()
    for side in (move._source, move._target):
        ask = side._exchange

        def counted(*arguments: object, ask: Callable[..., object] = ask, **options: object) -> object:
            one_more()
            return ask(*arguments, **options)

        side._exchange = counted  # type: ignore[method-assign, assignment]
    move.run()
    move.close()
    return count


@pytest.fixture
def points(request: pytest.FixtureRequest) -> Callable[[int], Iterable[int]]:
    """Steps at which something happens: all, or some, of each test always the same."""
    is_all, chance = request.config.getoption("all_variants"), random.Random(request.node.name)

    def chosen(steps: int) -> Iterable[int]:
        assert steps > 30
        return [at for at in range(1, steps + 1) if is_all or chance.random() < _SHARE]

    return chosen


def nothing() -> None: ...


def kill() -> None:
    raise Killed


def test_it_is_killed_anywhere_and_repeated(new_scene: NewScene, disturbed: Disturbed, points: Points) -> None:
    scene = new_scene()
    steps = steps_of(scene)
    expected = scene.arrived
    for at in points(steps):
        scene = new_scene()
        with suppress(Killed):  # the last steps are missing where a node knows a script that it had to be sent before
            disturbed(scene.move(), at, kill)
        assert scene.in_use != ["old", "new"], at
        disturbed(scene.move(), 0, nothing)
        assert (scene.in_use, scene.arrived) == (["new"], expected), at


def run_and_close(move: Move) -> None:
    move.run()
    move.close()


def cancel_and_close(move: Move) -> None:
    with suppress(bp.BadSetup):  # there is nothing to cancel yet, or any more
        move.cancel()
    move.close()


@pytest.mark.parametrize("other", [run_and_close, cancel_and_close])
def test_somebody_else_comes_in_between(
    new_scene: NewScene, disturbed: Disturbed, points: Points, other: Callable[[Move], None]
) -> None:
    """A slow attempt continues after another one has repeated the move, or has given it up."""
    scene = new_scene()
    steps = steps_of(scene)
    expected = scene.arrived
    for at in points(steps):
        scene = new_scene()
        with suppress(bp.BatonpassError):
            disturbed(scene.move(), at, partial(other, scene.move()))
        assert scene.in_use != ["old", "new"], at
        if other is cancel_and_close:
            disturbed(scene.move(), 0, nothing)
        assert (scene.in_use, scene.arrived) == (["new"], expected), at


class Turns:
    """Lets two threads run one at a time, each for as many steps as a plan says, then to its end."""

    def __init__(self, plan: Iterable[tuple[str, int]]) -> None:
        self._changed = Condition()
        self._alive = {"a", "b"}
        self._plan = iter(plan)
        with self._changed:
            self._next()

    def _next(self) -> None:
        self._turn, self._left = next(self._plan, (min(self._alive, default=""), 10**6))
        if self._alive and self._turn not in self._alive:
            self._next()
        self._changed.notify_all()

    def wait(self) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self._turn == current_thread().name, timeout=20)
            self._left -= 1
            if not self._left:
                self._next()

    def leave(self) -> None:
        with self._changed:
            self._alive.remove(current_thread().name)
            self._next()


def plans(steps: int) -> Iterator[list[tuple[str, int]]]:
    """One begins, another comes nearly to its end, the first goes on; and at random."""
    chance = random.Random(1)
    for first in range(5, 9):
        for second in range(steps - 16, steps + 1):
            yield [("a", first), ("b", second)]
    for _ in range(20):
        yield [(chance.choice("ab"), chance.randrange(1, steps)) for _ in range(20)]


def test_two_move_it_at_once(new_scene: NewScene, points: Points, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of one may come between any two of the other."""
    scene = new_scene()
    chosen = list(plans(steps_of(scene)))
    expected, ask = scene.arrived, Side._exchange
    for at in points(len(chosen)):
        scene, outcomes, turns = new_scene(), list[object](), Turns(chosen[at - 1])

        def exchange(side: Side, *arguments: Any, turns: Turns = turns, **options: Any) -> Any:
            turns.wait()
            return ask(side, *arguments, **options)

        def run(scene: Scene = scene, turns: Turns = turns, outcomes: list[object] = outcomes) -> None:
            try:
                move = scene.move()
                outcomes.append(move.run())
                move.close()
            except bp.BatonpassError as error:
                outcomes.append(error)
            finally:
                turns.leave()

        with monkeypatch.context() as patched:
            patched.setattr(Side, "_exchange", exchange)
            threads = [Thread(target=run, name=name) for name in "ab"]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(30)
        assert all(isinstance(outcome, Moved | bp.Conflict | bp.BadSetup) for outcome in outcomes), (at, outcomes)
        assert len(outcomes) == 2
        run_and_close(scene.move())
        assert (scene.in_use, scene.arrived) == (["new"], expected), (at, outcomes)


def test_what_is_said_twice_is_there_once(new_scene: NewScene) -> None:
    """A client repeats a call whose reply was lost."""
    scene = new_scene()
    side = Side(scene.target)
    mark = Mark("filling", "1a2b", "here")
    marks.change(side, 0, Mark(), mark, unused=True)
    calls = [("RPUSH", "z:list", 0, "a", "b"), ("XADD", "events", "5-1", "type", "x"), ("HSET", "t:hash", "a", "b")]
    for _ in range(2):
        [[told]] = side.run("store/fill", [(0, [mark.text, *(msgpack.packb(call) for call in calls)])])
        assert told == b"+"
    assert side.ask([(0, "LRANGE", "z:list", 0, -1), (0, "XLEN", "events")]) == [[b"a", b"b"], 1]
    side.close()
