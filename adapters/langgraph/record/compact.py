"""Compact: what every LangGraph checkpoint repeats, in fewer bytes. Anything in an unusual form stays as it is."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_WIDTH = 32
_UUID = 16  # bytes
# How a task's path begins if an edge leads to its node, as for most tasks.
_PULLED = "~__pregel_pull, "


def small_version(version: Any) -> Any:
    """A channel's version. The usual text, a number of 32 digits and a random number, becomes these two numbers."""
    return _small_text(version) if type(version) is str else version


def is_unique(version: Any) -> bool:
    """Whether no two values of a channel have this version, because it has the usual random number."""
    return type(version) is str and version[_WIDTH : _WIDTH + 1] == "."


# Cached, because each version is in many checkpoints: as a channel's, and as what each node has seen.
@lru_cache(maxsize=4096)
def _small_text(version: str) -> Any:
    number, rest = version[:_WIDTH], version[_WIDTH + 1 :]
    if version[_WIDTH : _WIDTH + 1] != ".":
        return version
    try:
        small = [int(number), float(rest) if repr(float(rest)) == rest else rest]
    except ValueError:
        return version
    return small if large_version(small) == version else version


def large_version(small: Any) -> Any:
    """The version that `small_version` was given."""
    return f"{small[0]:0{_WIDTH}}.{small[1]}" if type(small) is list else small


def large_versions(small: Mapping[str, Any]) -> dict[str, Any]:
    """The versions that `small_version` was given, by channel."""
    return {channel: large_version(version) for channel, version in small.items()}


def small_time(text: str) -> Any:
    """A time in UTC as microseconds since 1970."""
    try:
        moment = datetime.fromisoformat(text)
        small = (moment - _EPOCH) // _TICK
    except (ValueError, TypeError):
        return text
    return small if text.endswith("+00:00") and moment.isoformat() == text else text


def large_time(small: Any) -> str:
    """The text that `small_time` was given."""
    return small if type(small) is str else (_EPOCH + small * _TICK).isoformat()


def small_id(text: str) -> Any:
    """A UUID as its bytes."""
    try:
        small = bytes.fromhex(text.replace("-", ""))
        return small if large_id(small) == text else text
    except ValueError:
        return text


def large_id(small: Any) -> str:
    """The text that `small_id` was given."""
    if type(small) is str:
        return small
    if len(small) != _UUID:
        raise ValueError(f"{len(small)} bytes are not a UUID")
    digits = small.hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def write_name(index: int, task: str) -> str:
    """The name of a write: its index, and its task's id, shorter if that is a UUID."""
    return f"{index}{_small_task(task)}"


@lru_cache(maxsize=256)
def _small_task(task: str) -> str:
    small = small_id(task)
    return f" {task}" if small is task else f"={urlsafe_b64encode(small).decode()[:22]}"


def read_name(name: str) -> tuple[int, str]:
    """A write's index and its task's id, from its name."""
    index, is_plain, task = name.partition(" ")
    if is_plain:
        return int(index), task
    index, _, encoded = name.partition("=")
    return int(index), large_id(urlsafe_b64decode(encoded + "=="))


def small_path(path: str) -> Any:
    """A task's path. If it begins as usual, a list of what follows that."""
    return [path[len(_PULLED) :]] if path.startswith(_PULLED) else path


def large_path(small: Any) -> str:
    """The path that `small_path` was given."""
    return small if type(small) is str else _PULLED + small[0]
