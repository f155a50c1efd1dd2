"""The serve command."""

from __future__ import annotations

import secrets
from functools import partial
from pathlib import Path
from typing import Annotated

import anyio
import typer

from batonpass.contracts.errors import BadSetup
from batonpass.coordinator.urls import namespace_of
from batonpass.workers.logs import log_lines

from .options import DEFAULT_NAMESPACE, DEFAULT_STORE, Json, Namespace, Store, missing_file, opened
from .printing import print_json, say

_PROXIES = "127.0.0.1,::1"


def serve(
    host: Annotated[
        str, typer.Option(help="Address to listen on; other than this machine only with your own token")
    ] = ("127.0.0.1"),
    port: Annotated[int, typer.Option(help="Port (0: any free one)", min=0, max=65535)] = 8642,
    token: Annotated[
        str | None,
        typer.Option(envvar="BATONPASS_TOKEN", help="The token that callers must send (default: a new one, printed)"),
    ] = None,
    read_token: Annotated[
        str | None,
        typer.Option(envvar="BATONPASS_READ_TOKEN", help="A second token, with which all can be read, nothing changed"),
    ] = None,
    root_path: Annotated[
        str, typer.Option(metavar="/PATH", help="The path below which a proxy offers the service, e.g. /batonpass")
    ] = "",
    proxies: Annotated[
        str,
        typer.Option(
            "--forwarded-allow-ips",
            metavar="ADDRESSES",
            help="Proxies whose X-Forwarded-For and -Proto are believed: addresses, networks, or * for all",
        ),
    ] = _PROXIES,
    access_log: Annotated[
        bool, typer.Option("--access-log", help="Log all requests, and not only those that change something")
    ] = False,
    store: Store = DEFAULT_STORE,
    namespace: Namespace = DEFAULT_NAMESPACE,
    as_json: Json = False,
) -> None:
    """Serve a web page for people and an HTTP API for programs, until SIGTERM or Ctrl-C.

    Both need the token: programs send it with every request, people sign in with it.
    """
    from batonpass.service.running import Place
    from batonpass.service.running import serve as run
    from batonpass.service.settings import Settings

    place = Place(host, port)
    if token is None and not place.local:
        raise BadSetup(
            f"--host {host} is open to other machines: give --token or BATONPASS_TOKEN, or stay on 127.0.0.1"
        )
    made = secrets.token_urlsafe(32) if token is None else ""
    own = made if token is None else token
    settings = Settings(own, read_token, root_path=root_path, proxies=proxies, log_all=access_log)
    if not place.local:
        settings.check_strength(f"--host {host} is open to other machines")
    elif settings.root_path:
        settings.check_strength(f"--root-path {root_path} says that a proxy lets others in")
    started = partial(_started, settings.root_path, made, missing_file(store), as_json)
    log_lines(as_json, namespace_of(store, namespace))
    anyio.run(run, opened(store, namespace, begins=True), place, settings, started)


def _started(root: str, token: str, new: Path | None, as_json: bool, kept: str, url: str) -> None:
    """Say where the service is, with its token if that was made here, and whether its store is new."""
    page = f"{url}{root}/ui/"
    if as_json:
        about = {"url": url, "page": page, "store": kept, "token": token or None, "new": new is not None}
        print_json(about, indent=None)
        return
    say(f"serving {kept} on {url}" + (f", with the token {token}" if token else ""))
    say(f"its page: {page}")
    if new is not None:
        say(f"the store {new} is new: start a worker on it, or use another --store or BATONPASS_URL")
