"""Log lines of a worker process and its children, on stderr."""

from __future__ import annotations

import json
import logging
import re
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TextIO

from pydantic_core import to_json, to_jsonable_python

from ..contracts.visible import visible, visible_json
from ..coordinator.safety import UnsafeStore
from .notes import About


class _JsonLines(logging.Formatter):
    def __init__(self, namespace: str) -> None:
        super().__init__()
        self._place = {"namespace": namespace} if namespace != "default" else {}

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            **self._place,
            "message": record.getMessage(),
            **_fields(record),
        }
        if record.exc_info:
            line["trace"] = record.exc_text or self.formatException(record.exc_info)
        return visible_json(_as_json(line))


def _as_json(line: dict[str, Any]) -> str:
    try:
        return to_json(line).decode()
    except ValueError:  # half a surrogate pair, which names of files may have: readers of JSON refuse it
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), default=to_jsonable_python)
        return re.sub("[\ud800-\udfff]", lambda found: f"\\\\u{ord(found[0]):04x}", text)


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """What the message says, by name."""
    if jobs := getattr(record, "jobs", None):  # that have ended at the same time
        ended = [{**about.fields, "outcome": how} for about, how in jobs]
        return ended[0] if len(ended) == 1 else {"jobs": ended}
    told = record.args if isinstance(record.args, tuple) else ()
    about = [each.fields for each in told if isinstance(each, About)]
    return {**(about[0] if about else {}), **getattr(record, "fields", {})}


class _TextLines(logging.Formatter):
    """`time LEVEL message`, or with a namespace `time LEVEL [namespace] message`.

    A worker writes a line or two for each job, so the time is formatted once a second.
    """

    def __init__(self, namespace: str) -> None:
        # A name may hold anything, also line breaks.
        written = to_json(namespace).decode()[1:-1].replace("%", "%%")
        place = f"[{written}] " if namespace != "default" else ""
        super().__init__(f"%(asctime)s %(levelname)-7s {place}%(message)s")
        self._second = (0, "")

    def format(self, record: logging.LogRecord) -> str:
        """Only a record begins at the start of a line. Its other lines, which an agent's error may have, are
        indented."""
        return "\n  ".join(map(visible, super().format(record).split("\n")))

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        second, words = self._second
        if second != (now := int(record.created)):
            words = time.strftime(self.default_time_format, time.localtime(now))
            self._second = (now, words)
        return f"{words},{int(record.msecs):03d}"


class _Lines(logging.StreamHandler[TextIO]):
    """Lines on stderr. If an agent's code closes it, the worker must survive that."""

    def handleError(self, record: logging.LogRecord) -> None:
        """Python would print what the record was made of, as it is."""
        why, where = sys.exc_info()[1], f"{record.pathname}:{record.lineno}"
        told = {"level": logging.ERROR, "levelname": "ERROR", "msg": "a line of %s is lost: %r", "args": (where, why)}
        with suppress(Exception):
            self.stream.write(self.format(logging.makeLogRecord(told)) + self.terminator)
            self.flush()


def log_lines(as_json: bool, namespace: str) -> None:
    """Write Batonpass's log to stderr, as text or as one JSON object per line. Lines name the namespace unless it is
    the default one."""
    handler = _Lines(sys.stderr)
    handler.setFormatter(_JsonLines(namespace) if as_json else _TextLines(namespace))
    logger = logging.getLogger("batonpass")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    warn_by(logger.warning)


def warn_by(tell: Callable[[str], None]) -> None:
    """Show warnings about a store as plain messages, without our source line."""
    others = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        if issubclass(category, UnsafeStore):
            tell(str(message))
        else:
            others(message, category, filename, lineno, file, line)

    warnings.showwarning = show
