"""Quiet: what CrewAI and its libraries find in the environment, so that they don't call home."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

# As it is imported, CrewAI starts a thread that calls home.
_TELEMETRY = ("CREWAI_DISABLE_TELEMETRY", "true")
# Without these, it waits seconds for it where there is no network, and asks at the terminal whether it may.
_QUIET = dict([_TELEMETRY]) | {
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def keep_quiet() -> None:
    """Set what the user has not set, before a crew runs."""
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)


def no_thread_at_import() -> None:
    """The same for what would be too late then, before the app imports CrewAI. A `.env` file counts as the user's
    setting too: CrewAI loads one, or the app does, and that leaves alone what is set."""
    try:
        found = find_spec("crewai")
    except ValueError:  # something else stands for it
        return
    if found is None or found.origin is None:
        return
    for file in _files(Path(found.origin)):
        with suppress(ImportError, OSError, UnicodeError):  # whoever loads it tells
            from dotenv import dotenv_values  # comes with CrewAI

            if _TELEMETRY[0] in dotenv_values(file, interpolate=False):
                return
    os.environ.setdefault(*_TELEMETRY)


def _files(crewai: Path) -> Iterator[Path]:
    """Those that `load_dotenv` would find: the nearest above CrewAI, which calls it there, and above the app."""
    for start in (crewai, Path.cwd() / "app"):
        yield from [file for folder in start.parents if os.path.isfile(file := folder / ".env")][:1]
