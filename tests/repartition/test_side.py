"""What a repartition asks about a namespace before it begins."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import batonpass as bp
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.moving.move import Move
from batonpass.coordinator.redis.moving.side import Side

from .conftest import Killed, Scene

NewScene = Callable[[], Scene]


def prefix(scene: Scene) -> str:
    return f"bp:{{{scene.source.partition('namespace=')[2]}:0}}:"


def test_a_move_is_repeated_soon_after_it_died(
    new_scene: NewScene, disturbed: Callable[[Move, int, Callable[[], None]], None]
) -> None:
    """The workers' records may still be there, though all of them are over."""
    scene = new_scene()

    def killed() -> None:
        raise Killed

    for at in range(8, 100):  # once the old namespace is marked
        with pytest.raises(Killed):
            disturbed(scene.move(), at, killed)
        if "old" not in scene.in_use:
            break
    scene.server.zadd(f"{prefix(scene)}p:a@x@1", {"worker": 1})
    move = scene.move()
    move.run()
    move.close()
    assert scene.in_use == ["new"]


def test_workers_are_counted_each_once(new_scene: NewScene) -> None:
    scene = new_scene()
    with bp.connect(scene.source) as coordinator:
        for worker, queues in (("v", ("a", "b")), ("w", ("b",)), ("x", ("c",))):
            coordinator.store.call(c.Reap(worker=worker, queues=queues, presence=60_000))
    with pytest.raises(bp.BadSetup, match=r"^3 worker\(s\) are at work"):
        scene.move().run()


@pytest.mark.parametrize("ends", ["early", "failed"])
def test_a_scan_leaves_no_connection(new_scene: NewScene, ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scene, made = new_scene(), list[Any]()
    side = Side(scene.source)
    new: Any = Side._clients

    def clients(side: Side) -> list[Any]:
        made.extend(new(side))
        return made

    monkeypatch.setattr(Side, "_clients", clients)
    pages = side.scan()
    next(pages)
    [client] = made
    if ends == "early":
        pages.close()
    else:
        monkeypatch.setattr(client, "scan", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            list(side.scan())
    side.close()
    assert not [each for each in client.connection_pool._available_connections if each._sock]
