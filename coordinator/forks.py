"""Forks: what a child process changes in the things that it got with a fork.

Its parent's threads don't exist there: not the one that works for others, nor the one that holds a lock. Each thing is
told before any code of the child runs. If things looked at the process's number themselves when they are used next, two
threads of the child could do so at once, and one would change what the other has just begun to use.
"""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Forked(Protocol):
    """A thing that a fork leaves unusable in the child."""

    def forked(self) -> None:
        """This is the child: begin anew. It must not wait for anything."""


_ALL: WeakSet[Forked] = WeakSet()


def tell_of_forks(thing: Forked) -> None:
    """Have its `forked` called in the child of every fork. To be asked last in an `__init__`: a thread that does not
    come so far before a fork does not exist in the child, nor anybody else who knows the thing."""
    _ALL.add(thing)


def _tell() -> None:
    for each in list(_ALL):
        each.forked()


os.register_at_fork(after_in_child=_tell)
