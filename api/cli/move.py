"""The command that moves a namespace from a SQLite file to Redis."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

from .options import Json
from .printing import print_json
from .repartition import Progress


def move(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The namespace to move: sqlite:///desk.db")],
    target: Annotated[str, typer.Argument(metavar="TO", help="The new namespace: redis://host:6379?namespace=desk")],
    cancel: Annotated[bool, typer.Option("--cancel", help="Undo an interrupted move")] = False,
    as_json: Json = False,
) -> None:
    """Move a namespace from a SQLite file to Redis.

    Stop the workers first, and use the new URL afterwards. Everything is copied, compared, then opened. FROM is only
    read. If the move is interrupted, run it again.
    """
    from batonpass.coordinator.redis.moving.move_in import MoveIn

    progress = Progress(shown=sys.stderr.isatty())
    with closing(MoveIn(source, target, progress)) as moving:
        if cancel:
            moving.cancel()
            print_json({"canceled": True}) if as_json else typer.echo("what was copied is deleted")
            return
        done = moving.run()
        progress.end()
    if as_json:
        print_json(done._asdict())
        return
    typer.echo(
        f"{done.source} was moved to {done.target}: {done.rows:,} rows were copied, {done.elements:,} elements "
        "compared. Use the new URL. The file is unchanged: put it away, so that nobody uses it any more"
    )
