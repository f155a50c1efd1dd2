"""The command that moves a namespace to one with more partitions."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing
from typing import Annotated

import typer

from batonpass.contracts.errors import BadSetup

from .options import Json, url_from
from .printing import print_json, say, say_over

# Keys, or rows, between two lines of progress.
_PACE = 500


def repartition(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            callback=url_from,
            help="The namespace to move: redis://host:6379?namespace=a, or @FILE to read the URL from a file",
        ),
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO",
            callback=url_from,
            help="The new namespace: redis+cluster://host:7000?namespace=b&partitions=64, or @FILE",
        ),
    ],
    cancel: Annotated[bool, typer.Option("--cancel", help="Undo an interrupted move: FROM stays in use")] = False,
    drop_old: Annotated[
        bool, typer.Option("--drop-old", help="After a finished move, delete what is left in FROM")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move a namespace on Redis to a cluster, or to more partitions.

    Stop the workers first. Everything is copied, compared, then switched. FROM is only marked, and can't be used any
    more. If the move is interrupted, run it again.
    """
    from batonpass.coordinator.redis.moving.move import Move

    if cancel and drop_old:
        raise BadSetup("--cancel is for an interrupted move, --drop-old for a finished one: give one of them")
    about: Mapping[str, object]
    progress = Progress(shown=sys.stderr.isatty())
    with closing(Move(source, target, progress)) as move:
        if cancel:
            move.cancel()
            text, about = "the move is given up: FROM goes on as before", {"canceled": True}
        elif drop_old:
            count = move.drop_old()
            text, about = f"freed {count:,} keys", {"dropped": count}
        else:
            done = move.run()
            progress.end()
            what = f"{done.keys:,} keys were copied, {done.elements:,} elements compared" if done.keys else "before"
            text = (
                f"{done.source} was moved to {done.target}, which has {done.partitions} partition(s): {what}. "
                "Use the new URL; --drop-old frees the old namespace"
            )
            about = done._asdict()
    print_json(about) if as_json else say(text)


class Progress:
    """Says how far it is, now and then, in one line of a terminal."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._told = 0

    def __call__(self, done: str, keys: int) -> None:
        if self._shown and abs(keys - self._told) >= _PACE:
            self._told = keys
            say_over(f"{done} {keys:,}   ")

    def end(self) -> None:
        """End the line."""
        if self._told:
            say("", err=True)
