"""A PostgreSQL server of the tests' own: a new database directory, reached by a socket in it."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests import capabilities

from .waiting import wait_until


def binaries() -> Path | None:
    """Where the server's programs are: on PATH, or where Debian puts them."""
    found = shutil.which("initdb")
    places = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return places[-1] if places else None


@contextmanager
def running(programs: Path) -> Generator[str]:
    """A server; the URL of its database."""
    with TemporaryDirectory(prefix="bp-pg-") as folder:
        user = _user(folder)
        data = f"{folder}/data"
        subprocess.run(
            [programs / "initdb", "--auth=trust", "--username=postgres", "--no-sync", data],
            check=True,
            capture_output=True,
            user=user,
            cwd=folder,
        )
        with open(f"{folder}/log", "w") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"],
                stdout=log,
                stderr=log,
                user=user,
                cwd=folder,
            )
            try:
                wait_until(lambda: _ready(data, folder, server), what="PostgreSQL")
                said = subprocess.run([programs / "postgres", "--version"], capture_output=True, text=True, check=True)
                capabilities.note("postgres", said.stdout.split()[2])
                yield f"postgresql://postgres@/postgres?host={folder}"
            finally:
                server.send_signal(signal.SIGINT)  # on SIGTERM it would wait for its clients
                server.wait()


def _ready(data: str, folder: str, server: subprocess.Popen[bytes]) -> bool:
    assert server.poll() is None, Path(folder, "log").read_text()
    state = Path(data, "postmaster.pid")
    return state.exists() and state.read_text().rstrip().endswith("ready")


def _user(folder: str) -> str | None:
    """Who runs the server, which refuses to run as root; None is who runs the tests."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    name = "postgres" if "postgres" in names else "nobody"
    shutil.chown(folder, name)
    return name
