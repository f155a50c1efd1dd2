"""Commands about webhooks: webhooks add, list, resume, remove, run."""

from __future__ import annotations

import signal
from dataclasses import asdict
from shlex import quote
from typing import Annotated

import anyio
import typer

from batonpass.contracts.app import App
from batonpass.coordinator.connection import connect
from batonpass.coordinator.urls import namespace_of
from batonpass.workers.logs import log_lines
from batonpass.workers.single import alone
from batonpass.workers.webhooks import Courier

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, Types, listed, opened
from .printing import print_json, print_table, say

app = typer.Typer(help="Send events to URLs", no_args_is_help=True, add_completion=False, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="NAME", help="The webhook's name")]


@app.command()
def add(
    name: Name,
    url: Annotated[str, typer.Argument(metavar="URL", help="https://host/path")],
    types: Types = None,
    secret: Annotated[
        str | None,
        typer.Option(envvar="BATONPASS_WEBHOOK_SECRET", help="whsec_... (default: the existing one, or a new one)"),
    ] = None,
    begin: Annotated[bool, typer.Option("--begin", help="Also send events that already happened")] = False,
    plain_http: Annotated[bool, typer.Option("--plain-http", help="Allow http://")] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Add a webhook, or change the one with this name. Prints the signing secret."""
    start = "begin" if begin else "now"
    with opened(store, namespace, begins=True) as coordinator:
        known = begin and name in {each.name for each in coordinator.webhooks()}
        made = coordinator.webhook(name, url, types=listed(types), secret=secret, start=start, plain_http=plain_http)
    if as_json:
        print_json({"name": name, "secret": made})
    else:
        say(made)
    if known:
        group = quote(f"webhook:{name}")
        say(
            f"{name} exists, so it goes on where it was: `batonpass groups move {group} --to begin` sends all", err=True
        )


@app.command("list")
def list_(
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """List webhooks: which are paused and why, and how many events wait."""
    with opened(store, namespace) as coordinator:
        found = coordinator.webhooks()
    if as_json:
        print_json([asdict(each) for each in found])
        return
    rows = [(w.name, w.state, w.lag, w.failures, w.url, ", ".join(w.types) or "all", w.error) for w in found]
    print_table(("WEBHOOK", "STATE", "WAITING", "FAILURES", "URL", "TYPES", "ERROR"), rows)


@app.command()
def resume(
    name: Name, store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False
) -> None:
    """Resume a paused webhook at the event where it stopped, or have a failing one send it now."""
    with opened(store, namespace) as coordinator:
        coordinator.resume_webhook(name)
    print_json({"name": name, "resumed": True}) if as_json else say(f"{name} goes on")


@app.command()
def remove(
    name: Name, store: Store = DEFAULT_STORE, namespace: Namespace = DEFAULT_NAMESPACE, as_json: Json = False
) -> None:
    """Remove a webhook."""
    with opened(store, namespace) as coordinator:
        coordinator.delete_webhook(name)
    print_json({"name": name, "removed": True}) if as_json else say(f"removed {name}")


@app.command()
def run(
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Send events to all webhooks until SIGTERM or Ctrl-C. Any number of these processes share the work."""
    log_lines(as_json, namespace_of(store, namespace))
    anyio.run(_run, store, namespace)


async def _run(store: str, namespace: str | None) -> None:
    async with connect(store, namespace=namespace, app=App("webhooks")) as coordinator:
        courier = Courier(coordinator)
        with alone():
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(courier.run)
                with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                    async for _ in signals:
                        tasks.cancel_scope.cancel()
                        return
