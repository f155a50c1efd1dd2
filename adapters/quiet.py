"""Quiet: what CrewAI and its libraries find in the environment when they are imported."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

# Without these, CrewAI calls home, in a thread of its own, waits seconds for it where there is no network, and asks at
# the terminal whether it may.
_QUIET = {
    "CREWAI_DISABLE_TELEMETRY": "true",
    "CREWAI_TRACING_ENABLED": "false",
    "CREWAI_DISABLE_VERSION_CHECK": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


def keep_quiet() -> None:
    """Set what the user has not set, before CrewAI is imported. A `.env` file counts too: CrewAI loads one, or the app
    does, and that would leave alone what is set."""
    found = find_spec("crewai")
    if found is None or found.origin is None:
        return
    set_in_files = set[str]()
    for file in _files(Path(found.origin)):
        from dotenv import dotenv_values  # which comes with CrewAI

        with suppress(OSError, UnicodeError):  # whoever loads it tells
            set_in_files |= set(dotenv_values(file, interpolate=False))
    for name, value in _QUIET.items():
        if name not in set_in_files:
            os.environ.setdefault(name, value)


def _files(crewai: Path) -> Iterator[Path]:
    """Those that `load_dotenv` would find: the nearest above CrewAI, which calls it there, and above the app."""
    for start in (crewai, Path.cwd() / "app"):
        yield from [file for folder in start.parents if os.path.isfile(file := folder / ".env")][:1]
