"""Commands about groups of consumers: groups list, move, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

import typer

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table, say

app = typer.Typer(
    help="List, move or delete groups of event consumers",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The group's name")]


@app.command("list")
def list_(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List groups: how many events no consumer has taken yet, and how many batches are in progress."""
    with opened(store, namespace) as coordinator:
        found = coordinator.groups()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    print_table(("GROUP", "WAITING", "TAKEN"), [(each.name, each.lag, each.taken) for each in found])


@app.command()
def move(
    name: Name,
    to: Annotated[Literal["begin", "now"], typer.Option(help="begin: the first stored event; now: the next event")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Move a group to another position, also a webhook's group (webhook:NAME)."""
    with opened(store, namespace) as coordinator:
        coordinator.move_group(name, to=to)
    print_json({"name": name, "moved": to}) if as_json else say(f"{name} goes on from {to}")


@app.command()
def delete(
    name: Name,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Delete a group and its position. Its consumers stop with an error."""
    with opened(store, namespace) as coordinator:
        coordinator.delete_group(name)
    print_json({"name": name, "deleted": True}) if as_json else say(f"deleted {name}")
