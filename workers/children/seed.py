"""Seed: a zygote that the worker has forked from its own process, and did not use yet."""

from __future__ import annotations

from dataclasses import dataclass
from socket import socket


@dataclass(frozen=True)
class Seed:
    """The process, and the worker's end of its socket."""

    pid: int
    sock: socket
