"""The command line in tests: run in this process, and what its store keeps."""

from __future__ import annotations

import json
import logging
import sqlite3
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import redis

from batonpass.cli import main

from ..harness.stores import contents


@dataclass(frozen=True)
class Ran:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def complaint(self) -> str:
        """The one line on standard error of a command that refused. With --json, its output says the same."""
        assert self.code == 2, self
        [line] = self.err.splitlines()
        assert line.startswith("batonpass: "), self
        said = line.removeprefix("batonpass: ")
        assert not self.out or self.json["error"] == said, self
        return said


class CommandLine:
    """Runs `batonpass` with arguments, on one store."""

    def __init__(self, url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = url
        self._capsys = capsys
        self._monkeypatch = monkeypatch
        monkeypatch.setenv("BATONPASS_URL", url)

    def __call__(self, *arguments: str) -> Ran:
        self._monkeypatch.setattr(sys, "argv", ["batonpass", *arguments])
        self._capsys.readouterr()
        with _own_logging(), pytest.raises(SystemExit) as ended:
            main()
        out, err = self._capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)


@contextmanager
def _own_logging() -> Iterator[None]:
    """A command that logs to stderr does so until its process ends. Here it stops after this one command."""
    logger = logging.getLogger("batonpass")
    before = (*logger.handlers,), logger.level, logger.propagate, warnings.showwarning
    try:
        yield
    finally:
        logger.handlers[:], level, logger.propagate, warnings.showwarning = before
        logger.setLevel(level)


def kept(url: str) -> Mapping[str, object]:
    """Everything that a store keeps: if two answers are equal, nothing was written in between."""
    parts = urlsplit(url)
    if parts.scheme == "sqlite":
        with closing(sqlite3.connect(parts.path[1:])) as db:
            return {str(number): line for number, line in enumerate(db.iterdump())}
    namespace = parse_qs(parts.query)["namespace"][0]
    with redis.Redis.from_url(url.partition("?")[0]) as server:
        return contents(server, [key.decode() for key in server.scan_iter(match=f"bp:{{{namespace}:*", count=1000)])
