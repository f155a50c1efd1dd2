"""The file by which a probe sees that a worker runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio

from ..contracts.errors import BadSetup

# Seconds. A probe that allows a minute, the least that `find -mmin` can tell, misses no worker that is only slow.
_EVERY = 5.0


@asynccontextmanager
async def shown_alive(path: Path) -> AsyncGenerator[None]:
    """A block for whose time a file is there, and is touched for as long as the event loop turns: whether the store
    answers or not, because to start a worker anew does not help against that."""
    file = anyio.Path(path)
    try:
        await file.touch()
    except OSError as error:
        raise BadSetup(f"--alive-file {path} can't be written: {error.strerror}") from None
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_touch, file)
            yield
            tasks.cancel_scope.cancel()
    finally:
        path.unlink(missing_ok=True)  # noqa: ASYNC240 - also if this is canceled


async def _touch(file: anyio.Path) -> None:
    while True:
        with suppress(OSError):  # a disk that is full for a while: the probe judges by the time
            await file.touch()
        await anyio.sleep(_EVERY)
