"""Versions: a state that an older version of its owner saved, brought up to the present one step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .errors import BadSetup


class Outdated(BadSetup):
    """What is stored is newer than this program. Newer ones can read it."""


class Outgrown(BadSetup):
    """This program can't go on with what another release of it has begun. That one can."""


def raised(
    state: Any,
    version: int,
    known: int,
    steps: Mapping[int, Callable[[Any], Any]],
    *,
    about: str,
    write: Callable[[int], str],
) -> Any:
    """The state as of the version `known`; as it is if it has that already.

    `Outdated`, beginning with `about`, if the state is newer. `BadSetup` if a step is missing, if one fails, or if one
    makes no dict of a dict: only later would that fail, and then say nothing of the step. `write` says how the one from
    a version is declared.
    """
    if version > known:
        raise Outdated(f"{about}, but only versions up to {known} are known here: this program is older: update it")
    for at in range(version, known):
        step = steps.get(at)
        if step is None:
            raise BadSetup(f"{about}: write {write(at)}")
        try:
            made = step(state)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
            raise BadSetup(f"{about}: the migration from version {at} failed: {told}") from error
        if _is_dict(state) and not _is_dict(made):
            told = f"gave a {type(made).__name__}, not a dict: did it forget return?"
            raise BadSetup(f"{about}: the migration from version {at} {told}")
        state = made
    return state


def _is_dict(state: object) -> bool:
    return isinstance(state, Mapping)


def check_whole(from_version: object) -> None:
    """Refuse what a program without a type checker may give: a text would only fail when it is first compared."""
    if type(from_version) is not int:
        raise BadSetup(f"from_version={from_version!r}, but it must be a whole number")
