"""Seals: how a stored checkpoint proves that it is what was saved.

    header = format byte + packed [thread, job, hop, agent, step, framework, context, hash of state, hash of native,
             and of each part: state or native, path, kind, count, number of spans, hash;
             and, if there is more to say, a map: version of the state, what it is a copy of, its place]
    commit = step_index parent created_at expires_at spans    (what the store adds, in its own transaction)
    seal   = sha1(header + " " + commit + " " + id)           (sha1 is what a Redis script has)

So the seal covers every byte of the record: id, header, state, native, parts, parent, index and times. It is checked on
every read. (The first seals did not cover the id, and are still accepted.) It detects damage, but not forgery: that
takes a codec with a key.
"""

from __future__ import annotations

from hashlib import sha1

from xxhash import xxh3_128_digest

from ..contracts.errors import Corrupted
from .rows import CommitLine, commit_from

FORMAT = b"\x01"


def content_hash(data: bytes) -> bytes:
    """The hash of a part of a record: 128 bits of XXH3, which detect damage at the speed of memory. An absent part has
    none."""
    return xxh3_128_digest(data) if data else b""


def seal(
    checkpoint_id: str, header: bytes, step_index: int, parent: str, created: int, expires: int, spans: str
) -> CommitLine:
    """What a store adds to a checkpoint on commit, sealed together with the header."""
    commit = CommitLine(step_index, parent, created, expires, spans, "")
    commit.seal = seal_of(checkpoint_id, header, commit.sealed)
    return commit


def seal_of(checkpoint_id: str, header: bytes, sealed: str) -> str:
    """The seal over a header and a commit's text."""
    return _hashed(header, f"{sealed} {checkpoint_id}")


def is_sealed(checkpoint_id: str, header: bytes, commit: CommitLine) -> bool:
    """Whether the commit's seal is the one over this checkpoint."""
    text = commit.sealed
    return commit.seal == seal_of(checkpoint_id, header, text) or commit.seal == _hashed(header, text)


def _hashed(header: bytes, text: str) -> str:
    return sha1(header + b" " + text.encode(), usedforsecurity=False).hexdigest()


def read_commit(line: str, checkpoint_id: str) -> CommitLine:
    """Reads a stored commit line. `Corrupted` if it is not exactly one."""
    try:
        commit = commit_from(line)
        if commit.line() == line:
            return commit
    except ValueError:
        pass
    raise Corrupted(f"checkpoint {checkpoint_id}: its commit line can't be read: {line[:100]!r}")
