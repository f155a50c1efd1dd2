"""Frames: the messages between a worker and its children, over a socket. Each is a map with its length before it.

Never pickle: a frame is msgpack, and a delivery is the fields of its rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import fields
from socket import socket
from typing import Any

import msgpack

from ...coordinator.rows import CheckpointRow, Delivery, JobRow

Frame = dict[str, Any]
_LENGTH = struct.Struct(">Q")


def frame(message: Mapping[str, Any]) -> bytes:
    """A message as its bytes."""
    body: bytes = msgpack.packb(message, unicode_errors="surrogatepass")
    return _LENGTH.pack(len(body)) + body


def read_frame(sock: socket) -> Frame | None:
    """Block until a message arrives. None when the other side is gone."""
    head = _exactly(sock, _LENGTH.size)
    body = head and _exactly(sock, _LENGTH.unpack(head)[0])
    return _message(body) if body else None


def frames_in(data: bytearray) -> Iterator[Frame]:
    """Take the complete messages from the start of what was received."""
    while len(data) >= _LENGTH.size:
        end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
        if len(data) < end:
            return
        message = _message(bytes(data[_LENGTH.size : end]))
        del data[:end]
        yield message


def pack_delivery(delivery: Delivery) -> Frame:
    """A delivery as plain data."""
    checkpoint = delivery.checkpoint and _fields(delivery.checkpoint)
    return {"job": _fields(delivery.job), "checkpoint": checkpoint, "journal": dict(delivery.journal)}


def unpack_delivery(packed: Frame) -> Delivery:
    """The delivery that `pack_delivery` packed."""
    job, checkpoint = JobRow(**packed["job"]), None
    if packed["checkpoint"] is not None:
        packed["checkpoint"]["bodies"] = tuple(packed["checkpoint"]["bodies"])
        checkpoint = CheckpointRow(**packed["checkpoint"])
    return Delivery(job, checkpoint, packed["journal"])


def _fields(row: JobRow | CheckpointRow) -> Frame:
    return {field.name: getattr(row, field.name) for field in fields(row)}


def _message(body: bytes) -> Frame:
    message: Frame = msgpack.unpackb(body, unicode_errors="surrogatepass")
    return message


def _exactly(sock: socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        try:
            more = sock.recv(min(size - len(data), 1 << 20))
        except OSError:
            return None
        if not more:
            return None
        data += more
    return bytes(data)
