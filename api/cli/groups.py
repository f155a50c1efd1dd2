"""Commands about groups of consumers: groups list, delete."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, opened
from .printing import print_json, print_table

app = typer.Typer(
    help="Groups of consumers that share the events.", no_args_is_help=True, add_completion=False, rich_markup_mode=None
)


@app.command("list")
def list_(store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False) -> None:
    """List groups: how many events none of their consumers has taken, and how many batches are being worked on."""
    with opened(store, namespace) as coordinator:
        found = coordinator.groups()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    print_table(("GROUP", "WAITING", "TAKEN"), [(each.name, each.lag, each.taken) for each in found])


@app.command()
def delete(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The group's name")],
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Forget a group and where it is. Its consumers stop with an error."""
    with opened(store, namespace) as coordinator:
        coordinator.delete_group(name)
    print_json({"name": name, "deleted": True}) if as_json else typer.echo(f"deleted {name}")
