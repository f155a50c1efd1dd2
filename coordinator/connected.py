"""Connected: what the coordinators for sync and for async code have in common."""

from __future__ import annotations

from .book import Book
from .calls.freeing import Freeing
from .parts.bases import Bases
from .store import Store


class Connected:
    """An open store, and what its client knows."""

    def __init__(self, store: Store, book: Book) -> None:
        self.store = store
        self.book = book
        self._bases = Bases(store.codec)
        self._freeing = Freeing()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.url}, namespace {self.store.namespace!r}>"

    @property
    def url(self) -> str:
        """The store's URL, without secrets."""
        return self.store.url
