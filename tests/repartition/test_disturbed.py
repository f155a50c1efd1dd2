"""A move that is killed, or that others overtake, at each of its steps: nothing is lost, and in the end it is done."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial

import pytest

import batonpass as bp
from batonpass.coordinator.redis.moving.move import Move
from tests.repartition.conftest import Killed, Scene

Disturbed = Callable[[Move, int, Callable[[], None]], None]
NewScene = Callable[[], Scene]
Points = Callable[[int], Iterable[int]]
# Of the steps, without --all-variants.
_SHARE = 0.15


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
    """Steps at which something happens: some, by chance, or all."""
    is_all = request.config.getoption("all_variants")

    def chosen(steps: int) -> Iterable[int]:
        assert steps > 30
        return [at for at in range(1, steps + 1) if is_all or random.random() < _SHARE]

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
        with pytest.raises(Killed):
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
    """One who is slow goes on when another has repeated the move, or has given it up."""
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
