"""Caches: results of tools that CrewAI keeps for the crew's later tasks, if the user has turned that on."""

from __future__ import annotations

from typing import Any

from ....contracts.codec import try_pack
from .. import internals


def dump_caches(crew: Any) -> list[dict[str, Any]]:
    """The results that are plain values. A tool whose result is another one runs again."""
    caches = (cache.copy().items() for cache in internals.caches(crew))
    return [{call: result for call, result in cache if try_pack(result) is not None} for cache in caches]


def load_caches(crew: Any, saved: list[dict[str, Any]]) -> None:
    """Give a crew the results that `dump_caches` returned."""
    for cache, results in zip(internals.caches(crew), saved, strict=False):
        cache.update(results)
