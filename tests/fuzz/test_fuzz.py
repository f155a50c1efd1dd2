"""A short run of `python -m tests.fuzz`, and hostile bytes that must be refused soon."""

from __future__ import annotations

import struct
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgpack
import pytest

import batonpass as bp
from batonpass.adapters.langgraph.serde.wrapped import register
from batonpass.contracts.codec import pack, unpack

from .records import kinds
from .running import Fuzzer, Tally

RECORDS = 2_500
ROOT = Path(__file__).parents[2]
register()  # the type of LangGraph's values


@pytest.mark.parametrize("kind", kinds())
def test_mutated_records_are_a_value_or_one_of_our_errors(kind: str) -> None:
    fuzzer, tally = Fuzzer(kind), Tally()
    for seed in range(RECORDS):
        fuzzer.run(seed, tally)
    assert tally.findings == []
    assert tally.counts[kind, "a value"] < RECORDS
    assert sum(tally.counts.values()) == RECORDS


def test_the_fuzzer_finds_a_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    from batonpass.contracts import builtin_types

    monkeypatch.setitem(builtin_types.DECODERS, 9, lambda data, _: sys.exit(1))  # a UUID
    fuzzer, tally = Fuzzer("value"), Tally()
    for seed in range(RECORDS):
        fuzzer.run(seed, tally)
    assert "SystemExit" in tally.findings[0]


def extension(code: int, data: bytes) -> bytes:
    packed: bytes = msgpack.packb(msgpack.ExtType(code, data))
    return packed


def nested(data: bytes, depth: int) -> bytes:
    """The bytes in a tuple in a tuple ..., each of which claims to have 10,000 values more."""
    for _ in range(depth):
        data = extension(0, b"\xdc\x27\x10" * 1020 + data)
    return data


# 60,000 different integers that all have the same hash.
_SAME_HASH = b"".join(extension(3, (1 + n * (2**61 - 1)).to_bytes(16, "big", signed=True)) for n in range(60_000))
_LONG = b"\xff\xff\xff\xff"
HOSTILE: dict[str, bytes] = {
    "a list of 4 billion": b"\xdd" + _LONG,
    "a dict of 4 billion": b"\xdf" + _LONG,
    "a text of 4 GB": b"\xdb" + _LONG + b"x",
    "bytes of 4 GB": b"\xc6" + _LONG + b"x",
    "a type of 4 GB": b"\xc9" + _LONG + b"\x00x",
    "lists in each other, each of a million": (b"\xdd\x00\x0f\x42\x40" * 1023).ljust(1_100_000, b"\xc0"),
    "the same in tuples in each other": nested((b"\xdc\x27\x10" * 1020).ljust(20_000, b"\xc0"), 31),
    "100,000 tuples in each other": b"\xc7\xff\x00" * 100_000,
    "33 tuples in each other": nested(b"\xc0", 33),
    "a set that takes quadratic time": extension(1, b"\xdd" + struct.pack(">I", 60_000) + _SAME_HASH),
    "a dict that takes quadratic time": b"\xdf" + struct.pack(">I", 30_000) + _SAME_HASH,
    "a number that is not one": extension(8, b"1e99999999999999999999999"),
    "a zone outside of its folder": extension(4, msgpack.packb(["2026-01-02T03:04:05", "../../../etc/passwd", 0])),
    "a zone that is a folder": extension(4, msgpack.packb(["2026-01-02T03:04:05", "Europe", 0])),
    "a time out of range": extension(4, msgpack.packb(["2026-01-02T03:04:05", 2**62, 0])),
    "a duration out of range": extension(7, msgpack.packb([2**62, 0, 0])),
    "msgpack's time": b"\xd6\xff\x00\x00\x00\x01",
    "msgpack's time in a dict with odd keys": b"\x82\x01\x02\xc0\xd6\xff\x00\x00\x00\x01",
    "an unnamed type": extension(20, b"\xff\xff"),
    "no type at all": extension(20, b""),
    "a number in place of LangGraph's bytes": extension(
        20, b"\x00\x0flanggraph.value" + msgpack.packb(["msgpack", 10**10, []])
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_bytes_are_refused_soon(what: str) -> None:
    began = time.process_time()
    with pytest.raises((bp.Corrupted, bp.Refused)) as refused:
        unpack(HOSTILE[what])
    assert time.process_time() - began < 5.0
    assert len(str(refused.value)) < 300


def test_hostile_bytes_take_no_memory() -> None:
    """In a process that may use little memory. What the bytes claim would take far more."""
    program = """
import resource
import batonpass as bp
from batonpass.contracts.codec import unpack
from tests.fuzz.test_fuzz import HOSTILE
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for data in HOSTILE.values():
    try:
        unpack(data)
    except (bp.Corrupted, bp.Refused):
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(run.stdout) < 200  # MB


def hostile_records() -> list[tuple[str, list[Any]]]:
    """Records of a bundle that say a number where bytes are, or one that takes for ever where a place in a log is."""
    records = [unpack(sample["data"]) for sample in kinds()["record of a bundle"].samples]
    kind, *checkpoint = next(record for record in records if record[0] == "checkpoint" and record[8])
    appends: list[list[Any]] = checkpoint[7]
    log, at, data = appends[0]
    changed: list[list[Any]] = [[[log, Decimal("1e999999999"), data]], [[log, at, 10**10]], [[log, True, data]]]
    carried = [(kind, [*checkpoint[:7], each, *checkpoint[8:]]) for each in changed]
    return [*carried, ("writes", ["scope", "key", [["name", 10**10]]])]


def test_a_hostile_bundle_is_refused_soon_and_takes_no_memory() -> None:
    program = """
import resource, sys
import batonpass as bp
from batonpass.coordinator.bundles import records
from tests.fuzz.test_fuzz import hostile_records
resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for kind, values in hostile_records():
    try:
        records.open_checkpoint(values, "run") if kind == "checkpoint" else records.open_writes(values)
        sys.exit("read")
    except bp.Corrupted:
        pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert (run.returncode, run.stderr) == (0, "")
    assert int(run.stdout) < 200  # MB


def test_a_number_that_is_long_to_write_is_quick_to_read() -> None:
    """Python takes quadratic time for the digits of a number; stored ones are bytes."""
    began = time.process_time()
    assert unpack(pack(1 << 8_000_000)) == 1 << 8_000_000
    assert time.process_time() - began < 5.0


def test_a_set_is_saved_only_if_it_can_be_read() -> None:
    """Not one that takes quadratic time, though it could be made."""
    slow: Any = {1 + n * (2**61 - 1) for n in range(3000)}
    for value in (slow, frozenset(slow), dict.fromkeys(slow), [{(n,): 1 for n in slow}]):
        with pytest.raises(bp.Unserializable, match="too many of its keys have one and the same hash"):
            pack(value)
    few = set(sorted(slow)[:900])
    assert unpack(pack([few, dict.fromkeys(few)])) == [few, dict.fromkeys(few)]
