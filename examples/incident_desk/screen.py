"""What the demo prints: plain lines, with colours only on a terminal."""

from __future__ import annotations

import time

import typer

from batonpass.contracts.visible import visible

WIDTH = 112
TONES = {"triage": "cyan", "write": "yellow", "review": "magenta", "demo": "white", "bad": "red", "good": "green"}


class Screen:
    """Lines with the time since the start. `aside` writes to stderr, so that stdout is left to JSON."""

    def __init__(self, *, aside: bool = False) -> None:
        self._aside = aside
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def say(self, who: str, text: str, *, tone: str = "") -> None:
        """One line of the story: when, who, what."""
        text = visible(text)  # it may quote a log, or a model
        name = typer.style(f"{who:<7}", fg=TONES.get(who, "white"))
        self.raw(f"{self.seconds:6.1f}s  {name} {typer.style(text, fg=TONES[tone]) if tone else text}")

    def heading(self, text: str) -> None:
        """A line above a part."""
        self.raw(f"\n{typer.style(visible(text), bold=True)}")

    def row(self, text: str) -> None:
        """An indented line, cut to the width."""
        text = text if len(text) <= WIDTH else text[: WIDTH - 3] + "..."
        self.raw(f"  {visible(text)}")

    def raw(self, text: str) -> None:
        """A line as it is."""
        typer.echo(text, err=self._aside)
