"""Keepers: the places in which plain objects' states are kept, for tests that run on each."""

from __future__ import annotations

import secrets
from pathlib import Path

import pytest

from batonpass.adapters.plain import JsonFiles

PLACES = ("memory", "sqlite", "redis", "files")


def new_place(kind: str, request: pytest.FixtureRequest, folder: Path) -> str | JsonFiles:
    """What a keeper is made with: a store's URL, or files."""
    if kind == "memory":
        return "memory://"
    if kind == "files":
        return JsonFiles(folder / f"runs-{secrets.token_hex(4)}")
    url: str = request.getfixturevalue(f"{kind}_url")
    return url
