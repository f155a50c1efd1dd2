"""State types: a value whose type is registered by a name comes back equal and of its class; no other value does."""

from __future__ import annotations

import copy
import datetime as dt
import subprocess
import sys
from collections import deque
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import urlsplit

import pytest
from pydantic import BaseModel, ConfigDict, HttpUrl, PrivateAttr, SecretStr, field_validator

import batonpass as bp
from batonpass.contracts import state_types
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack

T = TypeVar("T")


@bp.state_type("test.colour")
class Colour(Enum):
    RED = object()
    ALSO_RED = RED


@bp.state_type("test.level")
class Level(IntEnum):
    LOW = 1


@bp.state_type("test.word")
class Word(StrEnum):
    YES = "yes"


@bp.state_type("test.rights")
class Rights(Flag):
    READ = 1
    WRITE = 2


@bp.state_type("test.point")
class Point(NamedTuple):
    x: int
    y: Any = 0


@bp.state_type("test.box")
@dataclass
class Box:
    what: Any
    others: list[Any] = field(default_factory=list[Any])
    made: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.made += 1

    @cached_property
    def size(self) -> int:
        return len(self.others)


@bp.state_type("test.frozen")
@dataclass(frozen=True, slots=True)
class Frozen:
    x: int


@bp.state_type("test.tree")
class Tree(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str = ""
    leaves: list[Any] = []
    at: Any = None
    _hidden: int = PrivateAttr(default=0)

    @field_validator("name")
    @classmethod
    def doubled(cls, name: str) -> str:
        return name * 2


class Kind(StrEnum):
    A = "a"


class Item(BaseModel):
    kind: Kind


@dataclass
class Spot:
    x: int = 0


@bp.state_type("test.link")
class Link(BaseModel):
    """Its fields' types are not registered, and JSON holds it exactly."""

    url: HttpUrl
    items: list[Item] = []
    spot: Spot | None = None

    @cached_property
    def host(self) -> str:
        return str(self.url.host)


class Note(bp.Contract, name="test.note", version=3):
    text: str
    kind: Kind = Kind.A


class Text(str):
    __slots__ = ()


bp.state_type("math.fraction", Fraction, dump=str, load=Fraction)
bp.state_type("test.text", Text, dump=str, load=Text)


def hidden(value: int) -> Tree:
    made = Tree(name="h")
    made._hidden = value
    return made


VALUES: list[Any] = [
    *(Colour.RED, Level.LOW, Word.YES, Rights.READ, Rights.READ | Rights.WRITE, Rights(0)),
    *(
        Point(1),
        Point(1, Point(2, {3})),
        Box(1, [Box(2), (Frozen(3),)]),
        Frozen(4),
        replace(Box({}), what={1: Word.YES}),
    ),
    *(Tree(name="x"), Tree(leaves=[Tree(), Decimal("1.0")], at=dt.date(2026, 1, 2)), hidden(7)),
    *(Tree.model_validate({"name": "a", "more": [Level.LOW]}), Tree.model_construct(name="never checked")),
    *(Link(url=HttpUrl("https://example.com/")), Link(url=HttpUrl("http://a/"), items=[Item(kind=Kind.A)])),
    *(Note(text="x"), Note(text="y", kind=Kind.A), bp.State.model_validate({"a": (1, {2})})),
    *(Fraction(1, 3), Text("x")),
]


@pytest.mark.parametrize(
    "value", VALUES, ids=[f"{number}-{type(value).__name__}" for number, value in enumerate(VALUES)]
)
def test_it_comes_back(value: Any) -> None:
    assert alike(unpack(pack(value)), value)
    assert alike(unpack(pack({"in": [value, (value,)]})), {"in": [value, (value,)]})


@pytest.mark.parametrize("key", [Level.LOW, Word.YES, Colour.RED, Frozen(1), Point(1), Fraction(1, 2)])
def test_it_is_a_key_and_in_a_set(key: Any) -> None:
    assert alike(unpack(pack([{key: 1}, {key}, frozenset({key, 5})])), [{key: 1}, {key}, frozenset({key, 5})])


def test_a_model_keeps_which_fields_were_set() -> None:
    assert unpack(pack(Tree(at=1))).model_fields_set == {"at"}
    assert unpack(pack(Tree.model_validate({"at": 1, "more": 2}))).model_fields_set == {"at", "more"}


def test_no_constructor_or_validator_runs_again() -> None:
    assert unpack(pack(Tree(name="x"))).name == "xx"
    assert unpack(pack(Box(1))).made == 1


def test_what_an_object_computed_for_itself_is_not_stored() -> None:
    box, link = Box(1, [2]), Link(url=HttpUrl("https://a.example/b"))
    assert (box.size, link.host) == (1, "a.example")
    assert "size" not in vars(unpack(pack(box)))
    assert "host" not in vars(unpack(pack(link)))


def noted(spot: Spot) -> Spot:
    vars(spot)["note"] = "x"
    return spot


class Stranger(BaseModel):
    x: Any


class Child(Tree):
    pass


class Several(BaseModel, Generic[T]):
    items: list[T]


Bool = type("bool", (), {"__module__": "units"})  # as numpy's is called


class Fraught:
    def dumped(self) -> Any:
        raise KeyError("lost")


bp.state_type("test.fraught", Fraught, dump=Fraught.dumped, load=lambda _: Fraught())


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (
            Stranger(x=1),
            "state",
            r'Stranger is neither.*, e\.g\. @bp\.state_type\("test_state_types\.stranger"\), or convert',
        ),
        (
            {"one": deque([1])},
            "state['one']",
            r'deque is neither.*, e\.g\. bp\.state_type\("collections\.deque", deque, dump=\.{3}, load=\.{3}\), or',
        ),
        (
            Several[int](items=[1]),
            "state",
            r'e\.g\. bp\.state_type\("test_state_types\.several-int", Several\[int\]\), or',
        ),
        (Bool(), "state", r'e\.g\. bp\.state_type\("units\.bool", units\.bool, dump=\.{3}, load=\.{3}\), or'),
        (urlsplit("a"), "state", r'e\.g\. bp\.state_type\("parse\.splitresult", SplitResult\), or convert'),
        ({"a": [Fraught()]}, "state['a'][0]", "dump= of its class raised KeyError: 'lost'"),
        (Child(), "state", "Child is neither a plain type nor"),
        (Kind.A, "state", "Kind is neither"),
        ({"a": [Box(1, [Stranger(x=1)])]}, "state['a'][0].others[0]", "Stranger is neither"),
        (Tree(leaves=[1, {"k": object()}]), "state.leaves[1]['k']", "builtins.object is neither"),
        (Point(1, y=[Kind.A]), "state.y[0]", "Kind is neither"),
        (Note.model_construct(text=SecretStr("x")), "state.text", "SecretStr is neither"),
        (Link.model_construct(url=Level), "state.url", "EnumType is neither"),
        (Tree.model_validate({"more": Kind.A}), "state.more", "Kind is neither"),
        (Link(url=HttpUrl("https://a.example"), spot=noted(Spot())), "state.url", "HttpUrl is neither"),
        (Link.model_construct(), "state", "its field 'url' was never set"),
        (object.__new__(Frozen), "state", "its field 'x' was never set"),
    ],
)
def test_what_is_not_registered_is_refused_with_the_path_to_it(value: Any, path: str, reason: str) -> None:
    with pytest.raises(bp.Unserializable, match=reason) as refused:
        pack(value)
    assert refused.value.path == path


def test_a_secret_is_not_stored_as_stars() -> None:
    @bp.state_type("test.secretive")
    class Secretive(BaseModel):
        key: SecretStr

    with pytest.raises(bp.Unserializable, match=r"state\.key can't be saved"):
        pack(Secretive(key=SecretStr("abc")))


class Later:
    pass


@pytest.mark.parametrize(
    ("name", "kind", "functions", "told"),
    [
        ("", Later, {}, "use letters"),
        ("a b", Later, {}, "use letters"),
        ("note@1", Later, {}, "use letters"),
        ("test.later", Later, {}, "is not an Enum, pydantic model, dataclass or NamedTuple: give state_type both"),
        ("test.later", Later, {"dump": str}, "give state_type both"),
        ("test.later", Stranger, {"load": str}, "give state_type both"),
        ("test.box", Stranger, {}, r"\.Box is 'test.box' already"),
        ("test.box2", Box, {}, r"\.Box is 'test.box' already"),
        ("test.dict", dict, {"dump": list, "load": dict}, "stored as it is"),
        ("test.bytes", bytearray, {"dump": bytes, "load": bytearray}, "stored as it is, or not at all"),
        ("test.note", Note, {}, "is a contract"),
    ],
)
def test_what_can_not_be_registered(name: str, kind: Any, functions: Any, told: str) -> None:
    with pytest.raises(bp.BadSetup, match=told):
        bp.state_type(name, kind, **functions)


def test_a_class_that_is_defined_again_takes_over() -> None:
    """In a notebook a cell is run twice."""

    def cell() -> Any:
        @bp.state_type("test.cell")
        @dataclass
        class Cell:
            x: int

        return Cell

    first, second = cell(), cell()
    assert type(unpack(pack(first(1)))) is second
    assert type(unpack(pack(second(1)))) is second


def test_a_contract_that_is_defined_again_takes_over() -> None:
    def cell() -> Any:
        class Cell(bp.Contract, name="test.cell"):
            x: int

        return Cell

    first, second = cell(), cell()
    assert type(unpack(pack([first(x=1), second(x=2)]))[0]) is second


def forgotten(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """From now on this process is one that did not import the modules that register these."""
    kept = {name: known for name, known in state_types._by_name.items() if name not in names}
    monkeypatch.setattr(state_types, "_by_name", kept)


def test_an_unknown_value_is_shown_and_saved_again_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"box": Box(Level.LOW, [Frozen(1)]), "keys": {Frozen(2): 1}, "plain": 1}
    packed = pack(state)
    with monkeypatch.context() as elsewhere:
        forgotten(elsewhere, "test.box", "test.frozen")
        read = unpack(packed)
        box = read["box"]
        assert isinstance(box, bp.UnknownValue)
        assert (box.type_name, box.value["what"], read["plain"]) == ("test.box", Level.LOW, 1)
        assert box.value["others"][0].value == {"x": 1}
        assert pack(read) == pack(copy.deepcopy(read)) == packed
        assert read == unpack(packed)
        assert repr(box) == "UnknownValue(type_name='test.box')"
        with pytest.raises(AttributeError, match=r"'what': this is a stored 'test.box', and this process has no class"):
            _ = box.what
    assert alike(unpack(pack(read)), state)


def test_an_unknown_contract(monkeypatch: pytest.MonkeyPatch) -> None:
    packed = pack(Note(text="x"))
    monkeypatch.setattr(state_types, "_contracts", lambda: iter(()))
    assert unpack(packed).type_name == "test.note@3"


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("test.level", "HIGH", "no member 'HIGH'"),
        ("test.frozen", {"y": 1}, "x: the field is new and has no default"),
        ("test.link", {"address": 1}, "url: Field required"),
        ("test.link", "{}", "url: Field required"),
        ("test.point", {"y": 1}, "missing 1 required"),
        ("math.fraction", "1/x", "Invalid literal"),
        *((name, value, "") for name in ("test.tree", "test.box", "test.point") for value in (1, [], [1] * 4)),
    ],
)
def test_a_class_that_does_not_take_what_is_stored_is_named(name: str, value: Any, told: str) -> None:
    """The type changed, or somebody made up the bytes: there is never a half-filled value."""
    with pytest.raises(bp.BadSetup, match=f"a stored '{name}' does not fit the class .*{told}"):
        unpack(pack(bp.UnknownValue(name, pack(value))))


def test_a_class_may_get_and_lose_fields() -> None:
    stored = pack({"what": 1, "old": 2, "__class__": 3})
    box = unpack(pack(bp.UnknownValue("test.box", stored)))
    assert (box.what, box.others, box.made, box.old, type(box)) == (1, [], 0, 2, Box)
    tree = unpack(pack(bp.UnknownValue("test.tree", pack({"at": 5}))))
    assert (tree.at, tree.leaves) == (5, [])
    point = unpack(pack(bp.UnknownValue("test.point", pack({"x": 5, "z": 6}))))
    assert point == Point(5)


def test_nothing_is_imported_because_stored_bytes_name_it(tmp_path: Path) -> None:
    """The bytes name a module, or a class that is imported already: neither is used."""
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    program = """
import sys
import batonpass as bp
from batonpass.contracts.codec import pack, unpack
before = {*sys.modules}
for name in ("trap.Trap", "trap", "trap@1", "pathlib.Path", "subprocess.Popen", "batonpass.contracts.app.App"):
    value = unpack(pack(bp.UnknownValue(name, pack({"args": 1}))))
    assert type(value) is bp.UnknownValue, value
assert "trap" not in sys.modules and "subprocess" not in {*sys.modules} - before
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)


def test_a_decorator_takes_functions_too() -> None:
    @bp.state_type("test.celsius", dump=lambda value: value.degrees, load=lambda degrees: Celsius(degrees))
    class Celsius:
        def __init__(self, degrees: int) -> None:
            self.degrees = degrees

    warm = unpack(pack(Celsius(30)))
    assert type(warm) is Celsius
    assert warm.degrees == 30
