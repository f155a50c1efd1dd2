"""Rule 8: no bytes whatever run code when they are loaded. They are a value, or they are `Corrupted`."""

from __future__ import annotations

import datetime as dt
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import msgpack
import pytest

import batonpass as bp
from batonpass.contracts.codec import pack, unpack

ROOT = Path(__file__).parents[2]
_VALUES: list[Any] = [
    {"text": "x" * 40, "n": [1, 2.5, None, True], "deep": [[[[{}]]]]},
    (1, {2, 3}, frozenset([4]), 2**100, -(2**70)),
    [dt.datetime(2026, 1, 2, 3, 4, 5, 6, dt.UTC), dt.date(2026, 1, 2), dt.time(1, 2), dt.timedelta(days=-1)],
    {UUID(int=5): Decimal("1.20"), (1, "a"): b"\0\xff", Path("/a"): float("inf")},
]
SEEDS = [pack(value) for value in _VALUES]
ROUNDS = 20_000


def mutated(choose: random.Random) -> bytes:
    """A stored value with some bytes changed, cut out, doubled or put in."""
    data = bytearray(choose.choice(SEEDS))
    for _ in range(choose.randrange(1, 5)):
        at = choose.randrange(len(data) + 1)
        match choose.randrange(5):
            case 0:
                data[at : at + 1] = bytes([choose.randrange(256)])
            case 1:
                data[at:at] = choose.randbytes(choose.randrange(1, 5))
            case 2:
                del data[at : at + choose.randrange(1, 9)]
            case 3:
                data[at:at] = data[choose.randrange(len(data) + 1) :][: choose.randrange(30)]
            case _:
                # The first bytes of the longest values, and of our own types.
                data[at : at + 1] = choose.choice(
                    [b"\xdd\xff\xff\xff\xff", b"\xc9\x7f\xff\xff\xff", b"\xc7\x08", b"\xd4"]
                )
    return bytes(data)


def test_random_bytes_are_a_value_or_corrupted() -> None:
    choose = random.Random(8)
    values = 0
    for _ in range(ROUNDS):
        data = mutated(choose)
        try:
            unpack(data)
            values += 1
        except bp.Corrupted:
            continue
    assert 0 < values < ROUNDS


@pytest.mark.parametrize("code", [11, 19, 20, 77, 127, -1, -128])
def test_an_unknown_type_is_corrupted(code: int) -> None:
    with pytest.raises(bp.Corrupted):
        unpack(msgpack.packb(msgpack.ExtType(code, b"os.system")) if code >= 0 else bytes([0xC7, 1, code + 256, 0]))


def test_deep_nesting_is_corrupted_and_not_a_crash() -> None:
    for head in (b"\x91", b"\x81\x01", b"\xc7\xff\x00"):
        with pytest.raises(bp.Corrupted):
            unpack(head * 100_000 + b"\xc0")


@pytest.mark.parametrize("name", ["trap", "trap:Trap", "trap.Trap", "trap/Trap", "trap.Trap@1", "trap.Trap:load"])
def test_a_type_that_nobody_registered_is_not_looked_for(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = unpack(pack(bp.UnknownValue(name, pack(["x"]))))
    assert (type(found), found.type_name, found.value) == (bp.UnknownValue, name, ["x"])


def test_loading_reads_no_file_and_imports_no_module_that_the_data_names() -> None:
    """Watched by the interpreter itself: its audit events of every file, process, import and eval."""
    program = f"""
import random, sys
sys.path[:0] = [{str(ROOT)!r}]
from tests.rules import test_loading
from batonpass.contracts.codec import unpack
test_loading.unpack(test_loading.SEEDS[2])
seen = set()
watched = ("exec", "compile", "import", "open", "os.", "subprocess", "socket", "pickle", "marshal", "ctypes")
sys.addaudithook(lambda event, args: seen.add((event, str(args[:1]))) if event.startswith(watched) else None)
choose = random.Random(9)
for _ in range(3000):
    try:
        unpack(test_loading.mutated(choose))
    except test_loading.bp.Corrupted:
        pass
print(sorted(seen))
"""
    run = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
