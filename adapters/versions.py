"""Versions: warns about framework versions that the tests have not run with, because resuming uses private parts that
may change."""

from __future__ import annotations

import re
import warnings
from importlib.metadata import version


def warn_if_untested(package: str, lowest: str, newest: str) -> None:
    """Warn if the installed version is not from `lowest` to `newest`. "0.7" as the newest means every 0.7.x."""
    installed = version(package)
    upto = numbers(newest)
    if numbers(lowest) <= numbers(installed) and numbers(installed)[: len(upto)] <= upto:
        return
    warnings.warn(
        f"{package} {installed} is installed; batonpass is tested with {lowest} to {newest}: resuming uses parts of it "
        "that may change between versions, so try a resume before you rely on it",
        stacklevel=3,
    )


def numbers(text: str) -> list[int]:
    """A version to compare: its first three numbers."""
    return [int(part) for part in re.findall(r"\d+", text)[:3]]
