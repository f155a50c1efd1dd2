"""Which model answers: set OPENAI_BASE_URL, OPENAI_API_KEY and BATONPASS_DEMO_MODEL to use a real one."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import batonpass as bp

VARIABLES = ("OPENAI_BASE_URL", "OPENAI_API_KEY", "BATONPASS_DEMO_MODEL")


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint, and the name of its model."""

    base_url: str
    api_key: str = field(repr=False)
    model: str


def endpoint() -> Endpoint | None:
    """The endpoint that the environment names; None unless all three variables are set."""
    base_url, api_key, model = (os.environ.get(name, "") for name in VARIABLES)
    return Endpoint(base_url, api_key, model) if base_url and api_key and model else None


def needs_extra(package: str, attribute: str) -> Callable[..., Any]:
    """A class of an optional package; `MissingExtra` says how to install it."""
    try:
        return getattr(import_module(package), attribute)  # type: ignore[no-any-return]
    except ImportError as error:
        raise bp.MissingExtra(
            f"the endpoint in OPENAI_BASE_URL needs {package} ({error}): pip install 'batonpass[openai]'"
        ) from None
