"""Seals: how a stored checkpoint proves that it is what was saved.

    header = format byte + packed [thread, job, hop, agent, step, framework, context, hash of state, hash of native]
    commit = step_index parent created_at expires_at          (what the store adds, in its own transaction)
    seal   = sha1(header + " " + commit)                      (sha1 is what a Redis script has)

So the seal covers every byte of the record: header, state, native, parent, index and times. It is checked on every
read. It finds damage; that nobody forged a record is a matter of a keyed codec.
"""

from __future__ import annotations

from hashlib import sha1, sha256

from ..contracts.errors import Corrupted
from .rows import CommitLine

FORMAT = b"\x01"


def content_hash(data: bytes) -> bytes:
    """The hash of a record's part: the first 128 bits of SHA-256, which processors compute in hardware. An absent part
    needs none."""
    return sha256(data, usedforsecurity=False).digest()[:16] if data else b""


def seal(header: bytes, step_index: int, parent: str, created: int, expires: int) -> CommitLine:
    """What a store adds to a checkpoint on commit."""
    bare = CommitLine(step_index, parent, created, expires, "")
    return CommitLine(step_index, parent, created, expires, seal_of(header, bare.sealed))


def seal_of(header: bytes, sealed: str) -> str:
    """The seal over a header and a commit's text."""
    return sha1(header + b" " + sealed.encode(), usedforsecurity=False).hexdigest()


def read_commit(line: str, checkpoint_id: str) -> CommitLine:
    """A stored commit line; `Corrupted` if it is not one, to the letter."""
    try:
        step_index, parent, created, expires, sealed = line.split(" ")
        commit = CommitLine(int(step_index), "" if parent == "-" else parent, int(created), int(expires), sealed)
    except ValueError:
        commit = None
    if commit is None or commit.line() != line:
        raise Corrupted(f"checkpoint {checkpoint_id}: its commit line can't be read: {line[:100]!r}")
    return commit
