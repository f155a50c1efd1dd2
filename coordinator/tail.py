"""Tail: pages of events as they come, for those who follow what happens."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from anyio import sleep

from ..contracts.errors import Unavailable
from ..contracts.event import Event
from .calls import adrive
from .calls.events import Reader
from .store import Store, Topic


async def tail(store: Store, reader: Reader, job: str | None, *, follow: bool) -> AsyncGenerator[list[Event]]:
    """The reader's pages, also the empty ones: `reader.after` is how far it has looked. `follow` waits for more."""
    watch = store.watch(Topic(subject=job or ""))
    try:
        if follow:
            await watch.aopen()
        while True:
            try:
                found = await adrive(store, reader.page())
            except Unavailable as error:
                if not follow:
                    raise
                await sleep(reader.patience.pause(error))
                continue
            yield found
            if reader.ended and not follow:
                return
            if reader.ended:
                await watch.await_(1.0)
            if follow and not reader.behind:
                await sleep(reader.patience.rest())
    finally:
        await watch.aclose()
