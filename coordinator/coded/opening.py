"""Opening: a store by its URL, with the codec that it is used with."""

from __future__ import annotations

from ..store import Store
from ..urls import open_store
from .codec import Codec
from .environment import codec_from_environment
from .store import CodedStore


def store_at(url: str, namespace: str | None, codec: Codec | None) -> Store:
    """The store with this URL, not opened, behind `codec`, or else behind the one that the environment asks for."""
    store = open_store(url, namespace)
    codec = codec or codec_from_environment()
    return CodedStore(store, codec) if codec else store
