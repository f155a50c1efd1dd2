"""Plain values come back equal and of the same type. A value that could not is refused, with the path to it."""

from __future__ import annotations

import datetime as dt
import io
import math
import os
import re
import struct
import subprocess
import sys
from collections import OrderedDict, defaultdict
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

import msgpack
import pytest
from pydantic import TypeAdapter

import batonpass as bp
from batonpass.contracts.codec import pack, unpack

BERLIN = ZoneInfo("Europe/Berlin")
NAIVE = [dt.datetime.fromisoformat(f"{text}.000006") for text in ("2026-01-02T03:04:05", "0001-01-01T00:00:00")]

VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 127, 128, -32, -33, 255, 65536, 2**31, -(2**31), 2**63, 2**64 - 1, -(2**63)),
    *(2**64, -(2**63) - 1, 2**100, -(2**100), 10**1000, -(10**1000), 256**8 - 1, 256**8, -(256**8)),
    *(0.0, -0.0, 1.5, 1e308, 5e-324, math.inf, -math.inf, math.pi),
    *("", "x", "x" * 70_000, "\0", "ü", "💥", "\u202e", "a\nb", "\uffff"),
    *(b"", b"\0\xff", b"x" * 70_000),
    *([], [1, [2, [3]]], {}, {"a": {"b": {"c": None}}}, (), (1,), (1, (2, (3,))), set(), {1, "a", None}, frozenset()),
    *(
        [()],
        ([],),
        {"t": ({1}, [frozenset([(1, 2)])])},
        [[], {}, (), set()],
        [None] * 70_000,
        {str(n): n for n in range(300)},
    ),
    {
        None: 1,
        True: 2,
        7: 3,
        -(2**70): 4,
        1.5: 5,
        "a": 6,
        b"a": 7,
        (1, (2,)): 8,
        frozenset([1]): 9,
        Decimal(3): 10,
        UUID(int=4): 11,
    },
    {dt.date(2026, 1, 2): 1, dt.datetime(2026, 1, 2, tzinfo=dt.UTC): 2, dt.timedelta(1): 3, PurePosixPath("/a"): 4},
    {
        dt.time(1): 1,
        (): 2,
        frozenset(): 3,
        (None, (Decimal("1.0"), 2**70)): {False: {math.inf: {b"": 1}}},
        0: [{1: {}}],
    },
    *({n: str(n) for n in range(-200, 300)}, {n / 7: n for n in range(300)}, {(n, -n): n for n in range(3000)}),
    *(
        dt.date(2026, 1, 2),
        dt.date.min,
        dt.date.max,
        dt.time(1, 2, 3, 4),
        dt.time.min,
        dt.time.max,
        dt.time(1, tzinfo=dt.UTC),
    ),
    *NAIVE,
    *(dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.datetime(2026, 7, 2, 3, tzinfo=BERLIN), dt.time(2, 30, tzinfo=BERLIN)),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30))),
    dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(seconds=1, microseconds=1))),
    *(dt.timedelta(0), dt.timedelta(days=-1, microseconds=1), dt.timedelta.min, dt.timedelta.max),
    *(Decimal("1.20"), Decimal("-0"), Decimal("1E+400"), Decimal("Infinity"), Decimal("1" * 60), Decimal("1E-999")),
    *(UUID(int=0), UUID(int=2**128 - 1)),
    *(Path("/a/b"), Path("a b"), Path(), PurePosixPath("/ü"), PureWindowsPath(r"C:\a")),
]


def alike(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down, in the same order."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return len(one) == len(other) and all(map(alike, one.items(), other.items()))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, set | frozenset):
        return bool(one == other) and {type(x) for x in one} == {type(x) for x in other}
    if isinstance(one, dt.datetime | dt.time):
        return bool(one == other) and (one.fold, str(one.tzinfo)) == (other.fold, str(other.tzinfo))
    if isinstance(one, float | Decimal):
        return repr(one) == repr(other)
    return bool(one == other)


IDS = [f"{number}-{type(value).__name__}" for number, value in enumerate(VALUES)]


@pytest.mark.parametrize("value", VALUES, ids=IDS)
def test_it_comes_back(value: Any) -> None:
    assert alike(unpack(pack(value)), value)
    assert alike(unpack(pack({"in": [value, (value,)]})), {"in": [value, (value,)]})


def test_not_a_number_comes_back() -> None:
    assert math.isnan(unpack(pack(math.nan)))
    assert unpack(pack(Decimal("NaN"))).is_nan()
    assert unpack(pack(Decimal("sNaN1"))).is_snan()


@pytest.mark.parametrize("fold", [0, 1])
def test_an_hour_that_comes_twice_stays_the_same_hour(fold: int) -> None:
    """When the clocks go back, only `fold` tells 02:30 from 02:30."""
    twice = dt.datetime(2026, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold)
    again = unpack(pack(twice))
    assert (again.fold, again.utcoffset()) == (fold, twice.utcoffset())
    assert unpack(pack(dt.time(2, 30, fold=fold))).fold == fold


def test_a_zone_stays_a_zone() -> None:
    """Not an offset: adding half a year crosses into summer time."""
    winter = unpack(pack(dt.datetime(2026, 1, 2, tzinfo=BERLIN)))
    assert winter.tzinfo is BERLIN
    assert (winter + dt.timedelta(days=180)).utcoffset() == dt.timedelta(hours=2)


def test_the_order_of_a_dict_is_kept() -> None:
    assert list(unpack(pack({"b": 1, "a": 2, "c": 3}))) == ["b", "a", "c"]


def test_what_is_shared_is_not_taken_for_a_circle() -> None:
    shared = [1]
    assert unpack(pack({"a": shared, "b": (shared, shared)})) == {"a": [1], "b": ([1], [1])}


def test_a_set_has_the_same_bytes_in_every_process() -> None:
    """A payload with a set, submitted again by another process with the same key, is the same payload."""
    program = "from batonpass.contracts.codec import pack; print(pack({'a', 'b', 'c', (1, frozenset('xyz'))}).hex())"

    def run(seed: str) -> str:
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", program]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout

    assert run("1") == run("2") == run("3")


class Text(str):
    pass


class Whole(int):
    pass


class Colour(Enum):
    RED = 1


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    YES = "yes"


class OwnPath(PurePosixPath):
    pass


class Zone(dt.tzinfo):
    def utcoffset(self, when: dt.datetime | None) -> dt.timedelta:
        return dt.timedelta(0)

    dst = utcoffset

    def tzname(self, when: dt.datetime | None) -> str:
        return "here"


class Point(NamedTuple):
    x: int


def zone_from_file(name: str) -> ZoneInfo:
    """A zone that was read from a file: its name does not tell its rules."""
    one_offset = b"TZif" + bytes(16) + struct.pack(">6l lBB 4s", 0, 0, 0, 0, 1, 4, 3600, 0, 0, b"XXX")
    return ZoneInfo.from_file(io.BytesIO(one_offset), key=name)


UNNAMED, MISNAMED = zone_from_file("Asia/Nowhere"), zone_from_file("Europe/Berlin")


NOT_PLAIN: list[Any] = [
    *(object(), object, len, lambda: 1, 1j, range(3), Exception("x"), iter([1]), (n for n in [1]), sys, ...),
    *(Text("x"), Whole(1), Colour.RED, Level.LOW, Word.YES, Point(1), OwnPath("/a")),
    *(OrderedDict(a=1), defaultdict(list), {}.keys(), slice(1)),
    *(dt.datetime(2026, 1, 2, tzinfo=Zone()), dt.time(1, tzinfo=Zone())),
    *(dt.datetime(2026, 1, 2, tzinfo=UNNAMED), dt.datetime(2026, 1, 2, tzinfo=MISNAMED)),
    *("\ud800", "a\udfff", Path("\udcff"), bp.Payload(bp.ContractRef("desk.notes", 1), {})),
    *(bytearray(b"x"), memoryview(b"x"), msgpack.ExtType(0, b"\x90"), msgpack.ExtType(50, b""), msgpack.Timestamp(1)),
]


@pytest.mark.parametrize("value", NOT_PLAIN, ids=lambda value: type(value).__name__)
def test_what_would_not_come_back_is_refused(value: Any) -> None:
    with pytest.raises(bp.Unserializable) as refused:
        pack({"items": [1, (2, value)]}, path="state")
    assert refused.value.path == "state['items'][1][1]"
    text = str(refused.value)
    assert text.startswith("state['items'][1][1] can't be saved: ")
    assert text.endswith(("Convert it to plain values first", "or convert it to plain values", '"replace").decode()'))
    assert "\n" not in text


def test_half_of_a_character_is_told_as_such() -> None:
    """A model's tokens, or a file's name, may end in the middle of one."""
    with pytest.raises(bp.Unserializable) as refused:
        pack({"said": "so \ud83d"}, path="state")
    said = "the text holds half of a character ('\\ud83d'), which no encoding has"
    advice = 'Replace it first: text.encode("utf-8", "replace").decode()'
    assert str(refused.value) == f"state['said'] can't be saved: {said}. {advice}"
    assert pack("so \ud83d".encode("utf-8", "replace").decode()) == pack("so ?")


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (object(), "result"),
        ([object()], "result[0]"),
        ({"a": {"b": [0, object()]}}, "result['a']['b'][1]"),
        ({1: {None: object()}}, "result[1][None]"),
        (({object()},), "result[0][0]"),
        ({Whole(3): 1}, "result key 3"),
        ({(1, Word.YES): 1}, "result key (1, <Word.YES: 'yes'>)[1]"),
        ([1, {"x": object(), "y": object()}], "result[1]['x']"),
    ],
)
def test_the_path_leads_to_it(value: Any, path: str) -> None:
    with pytest.raises(bp.Unserializable) as refused:
        pack(value, path="result")
    assert refused.value.path == path


def test_a_circle_is_refused() -> None:
    circle: dict[str, Any] = {"a": [1]}
    circle["a"].append({"back": circle})
    with pytest.raises(bp.Unserializable, match=r"state\['a'\]\[1\]\['back'\] can't be saved: it contains itself"):
        pack(circle)


def nested(depth: int, wrap: Any, value: Any = 1) -> Any:
    for _ in range(depth):
        value = wrap(value)
    return value


WRAPS = [lambda v: [v], lambda v: {"a": v}, lambda v: (v,), lambda v: frozenset([v]), lambda v: [({"a": v},)]]


@pytest.mark.parametrize("wrap", WRAPS, ids=["list", "dict", "tuple", "frozenset", "mixed"])
@pytest.mark.parametrize("depth", [10, 32, 33, 100, 500, 1023, 1100])
def test_nesting_comes_back_or_is_refused(wrap: Any, depth: int) -> None:
    value = nested(depth, wrap)
    try:
        packed = pack(value)
    except bp.Unserializable:
        assert depth > 32
    else:
        assert pack(unpack(packed)) == packed


@pytest.mark.parametrize("wrap", [WRAPS[0], WRAPS[4]], ids=["list", "mixed"])
def test_nesting_without_end_is_refused(wrap: Any) -> None:
    value = nested(50_000, wrap)  # not in the call: a failure would show it
    with pytest.raises(bp.Unserializable):
        pack(value)


def test_the_path_to_what_is_nested_without_end_is_short() -> None:
    with pytest.raises(bp.Unserializable, match="inside of each other more than 32 deep") as refused:
        pack({"a": 1, "b": nested(500, WRAPS[2])})
    assert re.fullmatch(r"state\['b'\](\[0\]){1,40}", refused.value.path)


def test_nesting_that_would_crash_the_interpreter_is_corrupted() -> None:
    """Each tuple inside a tuple takes C stack when it is loaded. Made by hand, because `pack` refuses it."""
    program = """
import msgpack
from batonpass.contracts.codec import unpack
data = msgpack.packb([])
for _ in range(1000):
    data = msgpack.packb([msgpack.ExtType(0, data)])
try:
    unpack(data)
except Exception as error:
    print(type(error).__name__)
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "Corrupted\n"), run.stderr


@pytest.mark.parametrize("wrap", [*WRAPS[:2], lambda v: {"a": [v]}], ids=["list", "dict", "both"])
@pytest.mark.parametrize("around", [lambda v: v, lambda v: (v, 1)], ids=["bare", "tuple"])
@pytest.mark.parametrize("inside", [[], [-1], [b"x"]], ids=["nothing", "number", "bytes"])
def test_the_deepest_nesting_that_is_packed_comes_back(wrap: Any, around: Any, inside: Any) -> None:
    """msgpack packs one level more than it unpacks. The search for unknown types goes as deep."""
    packed, deepest, refused = b"", 0, 1100
    while refused - deepest > 1:
        depth = (deepest + refused) // 2
        try:
            packed = pack(around(nested(depth, wrap, inside)))
            deepest = depth
        except bp.Unserializable:
            refused = depth
    assert 500 < refused < 1100
    assert pack(unpack(packed)) == packed


@pytest.mark.parametrize("stranger", [bytearray(b"x"), memoryview(b"x"), msgpack.ExtType(0, b"\x90")])
@pytest.mark.parametrize(
    ("around", "path"),
    [
        (lambda v: v, "state"),
        (lambda v: {"a": [1, {"b": v}], "c": b"1" * 300}, "state['a'][1]['b']"),
        (lambda v: ["x" * 500] * 200 + [v], "state[200]"),
        (lambda v: [(1, [v])], "state[0][1][0]"),
    ],
)
def test_what_msgpack_takes_for_plain_is_refused(stranger: Any, around: Any, path: str) -> None:
    """msgpack packs these without asking us: as bytes, and as one of our extension values."""
    with pytest.raises(bp.Unserializable, match="does not come back as one: use bytes") as refused:
        pack(around(stranger))
    assert refused.value.path == path


@pytest.mark.parametrize("key", [memoryview(b"x"), msgpack.ExtType(0, b"\x90")])
def test_a_stranger_is_found_among_keys(key: Any) -> None:
    with pytest.raises(bp.Unserializable, match="state key"):
        pack({key: 1})


@pytest.mark.parametrize("key", [10**5000, "x" * 100_000, (1, "y" * 5000)], ids=["int", "str", "tuple"])
def test_a_path_stays_readable(key: Any) -> None:
    with pytest.raises(bp.Unserializable) as refused:
        pack({key: object()})
    assert len(refused.value.path) < 100


def test_refusals_do_not_leave_bytes_behind() -> None:
    """The packer is reused."""
    for wrong in ([1, object()], (1, [2, object()]), {"a": bytearray(b"x")}, nested(1100, lambda v: [v])):
        with pytest.raises(bp.Unserializable):
            pack(wrong)
        assert pack([1, (2, 3)]) == pack([1, (2, 3)])
        assert unpack(pack({"a": (1, {2})})) == {"a": (1, {2})}


def test_threads_do_not_share_a_packer() -> None:
    def work(number: int) -> bool:
        value = {"n": [number] * 50, "t": (number, ("x" * number,)), "b": bytes([number % 256]) * 2000}
        return all(unpack(pack(value)) == value for _ in range(100))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(32)))


def test_a_zone_keeps_its_name() -> None:
    """Both a zone made by hand and the one that pydantic makes when it reads a text."""
    named = dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(hours=1), "CET"))
    assert unpack(pack(named)).tzname() == "CET"
    read = TypeAdapter(dt.datetime).validate_json('"2026-01-02T03:04:05.5-07:30"')
    again = unpack(pack(read))
    assert (again, type(again.tzinfo), again.utcoffset()) == (read, type(read.tzinfo), read.utcoffset())


def test_a_path_of_another_system_is_pure() -> None:
    stored = msgpack.packb(msgpack.ExtType(10, msgpack.packb([True, "C:\\a", False])))
    assert unpack(stored) == PureWindowsPath("C:\\a")


@pytest.mark.parametrize(
    "data", [b"", b"\xc1", b"\x92\x01", b"\x01\x02", b"\xa5abc", b"\xd9", b"\x81\x90\x01", b"\xa1\xff"]
)
def test_other_bytes_are_corrupted(data: bytes) -> None:
    with pytest.raises(bp.Corrupted, match=r"stored value can't be decoded: .") as raised:
        unpack(data)
    assert "\n" not in str(raised.value)
