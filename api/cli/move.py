"""The command that moves a namespace from a SQLite file to Redis."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated

import typer

from .options import Json, url_from
from .printing import print_json, say
from .repartition import Progress

_DELETED = "FROM goes on as before, and what was copied is deleted"
_STAYS = "FROM can be used again. What is in TO stays there: start no worker there any more, it would run the same jobs"


def move(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The namespace to move: sqlite:///desk.db")],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO",
            callback=url_from,
            help="The new namespace: redis://host:6379?namespace=desk, or @FILE to read the URL from a file",
        ),
    ],
    cancel: Annotated[bool, typer.Option("--cancel", help="Undo the move: FROM is in use again")] = False,
    as_json: Json = False,
) -> None:
    """Move a namespace from a SQLite file to Redis.

    Stop the workers first, and use the new URL afterwards. Everything is copied, compared, then opened. FROM is only
    marked: nobody can write to it any more. If the move is interrupted, run it again.
    """
    from batonpass.coordinator.redis.moving.move_in import MoveIn

    progress = Progress(shown=sys.stderr.isatty())
    with closing(MoveIn(source, target, progress)) as moving:
        if cancel:
            deleted = moving.cancel()
            told = _DELETED if deleted else _STAYS
            print_json({"canceled": True, "deleted": deleted}) if as_json else say(told)
            return
        done = moving.run()
        progress.end()
    if as_json:
        print_json(done._asdict())
        return
    say(
        f"{done.source} was moved to {done.target}: {done.rows:,} rows were copied, {done.elements:,} elements "
        "compared. Use the new URL. The file can still be read, but not written to; --cancel undoes that"
    )
