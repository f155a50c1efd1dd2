"""Codec: compresses, signs or encrypts what is stored, with keys that can be rotated.

    stored = 2, kind, 128 + length of the key's name, name, the key's mark (4), then
             e: nonce (12), AES-GCM of the content        s: HMAC-SHA256 (32), content        c: content
             (c has no key: 2, kind, 0. Before keys had marks, 128 was not added.)
    content = r and the bytes, or z and the bytes compressed by zstd

A mark tells two keys apart that were given one name: what another key has protected is not damaged.
Protected data is bound to its place (`about`): a record that was moved is refused like one that was changed.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from typing import Any, NamedTuple, cast

from ...contracts.errors import BadSetup, BatonpassError, Corrupted, MissingExtra

CODED = b"\x02"
# By the kind of a record: what was done with its key, and where to give keys for it.
_USES = {
    b"e": ("encrypted", "encrypt", "BATONPASS_ENCRYPT_KEYS"),
    b"s": ("signed", "sign", "BATONPASS_SIGN_KEYS"),
}
WITH_CODEC = (
    "connect with the codec that it was written with (codec=, or BATONPASS_ENCRYPT_KEYS, BATONPASS_SIGN_KEYS or "
    "BATONPASS_COMPRESS)"
)
_DEMANDED = "as this codec demands: Codec(plain=True) or BATONPASS_ACCEPT_PLAIN=1 would read it"


class KeyName(NamedTuple):
    """A key: what it does ("encrypted" or "signed"; "plain" is of what has none), its name, and its mark if known."""

    protection: str
    name: str
    mark: bytes = b""


PLAIN = KeyName("plain", "")
_MARKED, _MARK_SIZE = 128, 4
# Begins what stands in for unreadable bytes, followed by the reason. No stored format begins with it.
UNREAD = b"\x00"
# Smaller contents, or a gain of less than an eighth, are not worth the time to decompress.
_LEAST = 128
# The size in bytes to which contents may decompress, so that damaged or hostile ones can't take all memory.
_LARGEST = 512 * 1024 * 1024


class MissingKey(BadSetup):
    """The data needs a key, or a codec, that this process doesn't have. Another process may have it."""


class Unproven(Corrupted):
    """The data can't be opened, and this codec has opened nothing like it yet: its own key may be the wrong one."""


class Codec:
    """Protects what a store holds: states, contexts, payloads, questions, answers, results, journals, streams and item
    values. Error messages are encrypted too.

    - `encrypt` (AES-GCM; 16 or 32 bytes each) or `sign` (HMAC-SHA256; at least 16 bytes) are keys by name, at least
      one. The first is used to write, and all to read. To rotate keys, put the new one first, and remove the old one
      when nothing written with it is left.
    - With both, `encrypt` writes, and `sign` only verifies what was stored before: for a store that was signed.
    - `compress` uses zstd where it saves space.
    - `plain` also accepts unprotected data, to introduce a codec to an existing store.

    Names of agents, threads, steps, checkpoints, items and people, and keys, are not hidden.
    """

    def __init__(
        self,
        *,
        encrypt: Mapping[str, bytes] | None = None,
        sign: Mapping[str, bytes] | None = None,
        compress: bool = False,
        plain: bool = False,
    ) -> None:
        for given, (done, option, _) in zip((encrypt, sign), _USES.values(), strict=True):
            if given is not None and not given:  # keys that could not be loaded must not mean that nothing is protected
                raise BadSetup(f"{option}= names no key: leave it out if nothing is to be {done}")
        keys, verifying = encrypt or sign or {}, (sign or {}) if encrypt else {}
        if not all(isinstance(cast("object", each), Mapping) for each in (keys, verifying)):  # users give anything
            raise BadSetup("encrypt= and sign= are keys by name: {'2026-11': the key's bytes}")
        self._kind = b"e" if encrypt else b"s" if sign else b"c"
        self._keys = _checked(dict(keys), (16, 32) if encrypt else None)
        self._current = _writing(next(iter(self._keys), ""))
        self._verifying = _checked(dict(verifying), None)
        self._ciphers = {name: _cipher(key) for name, key in self._keys.items()} if encrypt else {}
        self._zstd = _zstd() if compress else None
        self.plain = plain or not self._keys  # whether unprotected data is accepted
        self._reading = {(self._kind, name): key for name, key in self._keys.items()}
        self._reading |= {(b"s", name): key for name, key in self._verifying.items()}
        self._marks = {each: self._mac("mark", b"", "", key)[:_MARK_SIZE] for each, key in self._reading.items()}
        self._opened: set[tuple[bytes, str, bytes]] = set()  # the keys that have opened something, with its mark

    @property
    def names(self) -> list[KeyName]:
        """Its keys, the one that writes first."""
        return [KeyName(_USES[kind][0], name, mark) for (kind, name), mark in self._marks.items()]

    @property
    def encrypts(self) -> bool:
        """Whether the contents can't be read without a key."""
        return self._kind == b"e"

    def wrap(self, data: bytes, about: str) -> bytes:
        """Bytes as stored in the place that `about` names. The same bytes in the same place give the same."""
        content = b"r" + data
        if self._zstd is not None and _LEAST <= len(data) <= _LARGEST:
            smaller = b"z" + self._zstd.ZstdCompressor(level=3).compress(data)
            content = smaller if len(smaller) < len(content) * 7 // 8 else content
        if not self._keys:
            return CODED + self._kind + b"\0" + content
        head = _head(self._kind, self._current, self._marks[self._kind, self._current])
        if self._kind == b"e":
            nonce = self._mac("nonce", content, about, self._keys[self._current])[:12]
            sealed: bytes = self._ciphers[self._current].encrypt(nonce, content, head + about.encode())
            return head + nonce + sealed
        return head + self._mac("sign", head + content, about, self._keys[self._current]) + content

    def unwrap(self, data: bytes, about: str) -> bytes:
        """The bytes that `wrap` was given. `Corrupted` if these are not what it made for this place."""
        if data[:1] != CODED:
            if not data or self.plain:
                return data
            raise self._refused(about, f"is not protected, {_DEMANDED}")
        kind, name, mark, size = _begun(data)
        head, rest = data[:size], data[size:]
        if kind == b"c":
            if not self.plain:
                raise self._refused(about, f"is compressed and not protected, {_DEMANDED}")
            return _inflated(rest, about)
        if kind not in _USES:
            raise Corrupted(f"{about} is not what was stored")
        try:
            known = (kind, name) in self._reading
            if not known or mark not in (b"", self._marks[kind, name]):
                raise _lacking(about, kind, name, known=known)
            content = self._content(kind, name, head, rest, about)
        except (MissingKey, Unproven):
            if not _names_a_key(name) or len(data) < size or self._opens(kind, data, about):
                raise Corrupted(f"{about} is not what was {_USES[kind][0]}: what names its key is damaged") from None
            raise
        self._opened.add((kind, name, mark))
        return _inflated(content, about)

    def keyed(self, text: str) -> str:
        """A text from which the original can't be guessed without the key."""
        return self._mac("text", text.encode(), "", self._keys[self._current]).hex() if text and self._keys else text

    def keyed_otherwise(self, text: str) -> list[str]:
        """What `keyed` returned when other keys came first, or before there were keys."""
        keys = [*[key for name, key in self._keys.items() if name != self._current], *self._verifying.values()]
        older = [self._mac("text", text.encode(), "", key).hex() for key in keys]
        return [*older, text] if self.plain and self._keys else older

    def _opens(self, kind: bytes, data: bytes, about: str) -> bool:
        """Whether one of its own keys opens these bytes if they begin as what it protects does."""
        for (use, name), mark in self._marks.items():
            for head in (_head(use, name, mark), _head(use, name)) if use == kind else ():
                with suppress(Corrupted):
                    self._content(kind, name, head, data[len(head) :], about)
                    return True
        return False

    def _content(self, kind: bytes, name: str, head: bytes, rest: bytes, about: str) -> bytes:
        return self._decrypted(name, rest, head, about) if kind == b"e" else self._signed(name, rest, head, about)

    def _decrypted(self, name: str, rest: bytes, head: bytes, about: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            content: bytes = self._ciphers[name].decrypt(rest[:12], rest[12:], head + about.encode())
        except (InvalidTag, ValueError):
            raise self._refused(about, "is not what was encrypted", head) from None
        return content

    def _signed(self, name: str, rest: bytes, head: bytes, about: str) -> bytes:
        content = rest[32:]
        if not hmac.compare_digest(self._mac("sign", head + content, about, self._reading[b"s", name]), rest[:32]):
            raise self._refused(about, "is not what was signed", head)
        return content

    def _refused(self, about: str, why: str, head: bytes = b"") -> Corrupted:
        """The error for what can't be opened. A key whose mark it has is right. Without one, a key is right that has
        opened something else without one; what this process writes has one, so that proves nothing."""
        kind, name, mark, _ = _begun(head)
        if mark or (kind, name, b"") in self._opened if name else self._opened:
            return Corrupted(f"{about} {why}")
        mine = f", or the key {name!r} is another one here: it has opened nothing yet" if name else ""
        return Unproven(f"{about} {why}{mine}")

    def _mac(self, use: str, data: bytes, about: str, key: bytes) -> bytes:
        place = f"batonpass {use} {len(about)} {about} ".encode()
        return hmac.new(key, place + data, sha256).digest()


def _head(kind: bytes, name: str, mark: bytes = b"") -> bytes:
    """How what a key protects begins. (Without a mark: before keys had marks.)"""
    return CODED + kind + bytes([len(name) + (_MARKED if mark else 0)]) + name.encode() + mark


def _begun(data: bytes) -> tuple[bytes, str, bytes, int]:
    """How coded bytes begin: their kind, the key's name and mark ("" and b"" if there is none), and where that ends."""
    length = data[2] if len(data) > 2 else 0
    end = 3 + length % _MARKED
    size = end + _MARK_SIZE if length >= _MARKED else end
    return data[1:2], data[3:end].decode("ascii", "replace"), data[end:size], size


def _lacking(about: str, kind: bytes, name: str, *, known: bool) -> MissingKey:
    used, option, variable = _USES[kind]
    key = (
        f"another key {name!r} than the codec was given"
        if known
        else f"the key {name!r}, which the codec was not given"
    )
    return MissingKey(f"{about} is {used} with {key}: Codec({option}=...) or {variable} gives it")


def key_of(data: bytes) -> KeyName | None:
    """The key with which these bytes were stored. None if there are none."""
    if data[:1] != CODED or data[1:2] not in _USES:
        return PLAIN if data else None
    kind, name, mark, _ = _begun(data)
    return KeyName(_USES[kind][0], name, mark)


_REASONS: dict[bytes, type[BatonpassError]] = {b"!": Corrupted, b"?": Unproven, b"k": MissingKey}


def unread(error: BatonpassError) -> bytes:
    """What stands in for bytes that can't be read, until somebody opens them."""
    mark = b"?" if isinstance(error, Unproven) else b"!" if isinstance(error, Corrupted) else b"k"
    return UNREAD + mark + str(error).encode()


def tried(codec: Codec, data: bytes, about: str) -> bytes:
    """The decoded bytes, or a stand-in with the reason, so that only opening this one fails."""
    try:
        return codec.unwrap(data, about)
    except (Corrupted, BadSetup, MissingExtra) as error:  # damaged, or a key or a library is missing here
        return unread(error)


def check_read(data: bytes) -> None:
    """Raise the reason, if these bytes stand in for unreadable ones."""
    if data[:1] == UNREAD and data[1:2] in _REASONS:
        raise _REASONS[data[1:2]](data[2:].decode("utf-8", "replace"))


def missing_key(found: Sequence[bytes]) -> MissingKey | None:
    """The reason, if one of these stands in for bytes for which a key is missing here."""
    for data in found:
        try:
            check_read(data)
        except MissingKey as error:
            return error
        except Corrupted:
            pass
    return None


def check_open(data: bytes, what: str) -> None:
    """Raise the reason, also for a reader without a codec, if these bytes can't be read. `what` names them."""
    check_read(data)
    if data[:1] == CODED:
        raise MissingKey(f"{what} is encrypted, signed or compressed: {WITH_CODEC}")


def _names_a_key(name: str) -> bool:
    return name.isascii() and 0 < len(name) <= 64


def _checked(keys: dict[str, bytes], sizes: tuple[int, ...] | None) -> dict[str, bytes]:
    for name, key in keys.items():
        held: Any = key
        if not isinstance(held, bytes):
            raise BadSetup(f"the key {name!r} is not bytes: decode it first, e.g. with base64.b64decode")
        if not _names_a_key(name):
            raise BadSetup(f"the key name {name!r} can't be used: 1 to 64 ASCII characters")
        if len(key) not in sizes if sizes else len(key) < 16:
            wanted = "16 or 32" if sizes else "at least 16"
            raise BadSetup(f"the key {name!r} has {len(key)} bytes: it must have {wanted}")
    return keys


def _writing(name: str) -> str:
    """The name of the key that writes. What was written by another one before is still read."""
    if "," in name or name != name.strip():
        raise BadSetup(
            f"the key name {name!r} can't be given in the environment, so the command line could not read what it "
            "writes: put a key first that has no comma in its name, and no space around it"
        )
    return name


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingExtra("encryption needs the library cryptography: pip install 'batonpass[crypto]'") from None
    return AESGCM(key)


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtra("compression needs the library zstandard: pip install 'batonpass[zstd]'") from None
    return zstandard


def _inflated(content: bytes, about: str) -> bytes:
    if content[:1] == b"r":
        return content[1:]
    if content[:1] == b"z":
        zstd = _zstd()
        try:
            if zstd.frame_content_size(content[1:]) <= _LARGEST:
                plain: bytes = zstd.ZstdDecompressor().decompress(content[1:], max_output_size=_LARGEST)
                return plain
        except zstd.ZstdError:
            pass
    raise Corrupted(f"{about} can't be unpacked")
