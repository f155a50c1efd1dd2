"""Report: what was measured, as a table or as JSON lines."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.timing import Comparison, percentile


@dataclass(frozen=True)
class Spread:
    """Seconds."""

    p50: float
    p99: float

    @staticmethod
    def of(seconds: list[float]) -> Spread:
        """The spread of some calls."""
        return Spread(percentile(seconds, 50), percentile(seconds, 99))


@dataclass(frozen=True)
class Result:
    """One row. The bar is for the ratio where there is a floor, else for `judged`: one of ours, in seconds."""

    what: str
    ours: Spread | None
    floor: Spread | None = None
    ratio: float | None = None
    judged: float | None = None
    bar: float | None = None

    @staticmethod
    def compared(what: str, comparison: Comparison, *, bar: float | None = None) -> Result:
        """Ours beside its floor."""
        ours, floor = Spread.of(comparison.ours), Spread.of(comparison.floor)
        return Result(what, ours, floor, round(comparison.ratio, 2), bar=bar)

    @staticmethod
    def alone(what: str, seconds: list[float], *, bar: float | None = None, percent: int = 100) -> Result:
        """Ours without a floor. The bar is for the slowest, or for the one that so many percent do not exceed."""
        return Result(what, Spread.of(seconds), judged=percentile(seconds, percent), bar=bar)

    @staticmethod
    def figure(what: str, ratio: float, *, bar: float | None = None) -> Result:
        """A ratio of something else than times."""
        return Result(what, None, ratio=round(ratio, 2), bar=bar)

    @property
    def met(self) -> bool | None:
        """Whether the bar is met; None where there is none."""
        if self.bar is None:
            return None
        figure = self.ratio if self.ratio is not None else self.judged
        return figure is not None and figure <= self.bar


_HEAD = ("what", "ours p50", "p99", "floor p50", "p99", "ratio", "bar", "")


def as_table(results: Sequence[Result]) -> str:
    """The results in columns."""
    rows = [_HEAD, *(_row(result) for result in results)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(_padded(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]


def _row(result: Result) -> tuple[str, ...]:
    floor = (_time(result.floor.p50), _time(result.floor.p99)) if result.floor else ("-", "-")
    ours = (_time(result.ours.p50), _time(result.ours.p99)) if result.ours else ("-", "-")
    ratio = f"{result.ratio:.2f}" if result.ratio is not None else "-"
    bar = "-" if result.bar is None else f"<= {result.bar:g}" if result.ratio is not None else f"<= {result.bar:g} s"
    verdict = {True: "met", False: "MISSED", None: ""}[result.met]
    return (result.what, *ours, *floor, ratio, bar, verdict)


def _time(seconds: float) -> str:
    if seconds < 0.001:
        return f"{seconds * 1e6:.0f} us"
    return f"{seconds * 1e3:.2f} ms" if seconds < 1 else f"{seconds:.2f} s"


def as_json(results: Sequence[Result]) -> str:
    """The results, one JSON object a line; times in seconds."""
    return "\n".join(json.dumps({**asdict(result), "met": result.met}) for result in results)
