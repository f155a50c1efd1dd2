"""Log lines of a worker process and its children, on stderr."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime

from pydantic_core import to_json


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return to_json(line).decode()


def log_lines(as_json: bool) -> None:
    """Write what Batonpass logs to stderr, as text or as one JSON object a line."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s"))
    logger = logging.getLogger("batonpass")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
