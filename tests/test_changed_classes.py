"""A pydantic class that has changed since its values were stored: what it still has comes back as it was stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    ValidationInfo,
    field_validator,
    model_validator,
)

import batonpass as bp
from batonpass.contracts import state_types
from batonpass.contracts.alike import alike
from batonpass.contracts.codec import pack, unpack


class Counted(BaseModel):
    """Its validators change what they see each time."""

    x: int
    ratio: float | str = 0.0
    note: str | None = Field(default=None, exclude=True)
    _best: float = PrivateAttr(default=0.0)

    @field_validator("x")
    @classmethod
    def counted(cls, x: int) -> int:
        return x + 1


@pytest.fixture(autouse=True)
def register() -> Iterator[None]:
    """Registered anew by each test."""
    yield
    if known := state_types._by_name.pop("changed.class", None):
        del state_types._by_class[known.kind]


def old(value: BaseModel, private: dict[str, Any] | None = None) -> bytes:
    """A value as another release's class of that name has stored it."""
    if value.__pydantic_private__ is not None:
        value.__pydantic_private__.update(private or {})
    bp.state_type("changed.class", type(value))
    packed = pack(value)
    del state_types._by_class[state_types._by_name.pop("changed.class").kind]
    return packed


def new(kind: type[BaseModel], packed: bytes) -> Any:
    """The value as this release's class has it."""
    bp.state_type("changed.class", kind)
    found = unpack(packed)
    assert type(found) is kind
    again = unpack(pack(found))
    assert alike(again, found)
    assert again.model_fields_set == found.model_fields_set
    return found


def test_a_new_field_gets_its_default_and_all_else_stays() -> None:
    class Now(Counted):
        steps: int = 5
        tags: list[str] = []
        twice: int = Field(default_factory=lambda data: data["x"] * 2)
        _more: list[int] = PrivateAttr(default_factory=list[int])
        _later: int

    made = Counted(x=1)
    made.ratio = 3  # an int, where a validator makes a float
    found = new(Now, old(made, {"_best": 0.93}))
    assert alike(dict(found), {"x": 2, "ratio": 3, "note": None, "steps": 5, "tags": [], "twice": 4})
    assert found.__pydantic_private__ == {"_best": 0.93, "_more": []}
    assert found.model_fields_set == {"x", "ratio"}


def test_private_attributes_of_a_class_may_be_new() -> None:
    class Now(Counted):
        _seen: int = 7

    assert new(Now, old(Counted(x=1), {"_best": 0.5})).__pydantic_private__ == {"_best": 0.5, "_seen": 7}


@pytest.mark.parametrize("extra", ["allow", "ignore", "forbid"])
def test_a_field_that_is_gone(extra: Any) -> None:
    class Before(Counted):
        gone: int = 1

    class Now(Counted):
        model_config = ConfigDict(extra=extra)

    found = new(Now, old(Before(x=1, gone=2), {"_best": 0.5}))
    assert (found.x, found.__pydantic_private__) == (2, {"_best": 0.5})
    assert found.__pydantic_extra__ == ({"gone": 2} if extra == "allow" else None)
    assert found.model_fields_set == ({"x", "gone"} if extra == "allow" else {"x"})


def test_what_model_validators_know_of_a_new_field() -> None:
    """The way in which pydantic classes read older data."""

    class Now(BaseModel):
        x: int
        rate: float = 0.0
        total: float = 0.0

        @model_validator(mode="before")
        @classmethod
        def renamed(cls, data: Any) -> Any:
            return {**data, "x": data["x"] * 1000, "rate": data["ratio"]}

        @model_validator(mode="after")
        def computed(self) -> Now:
            self.total = self.rate * 2
            return self

    found = new(Now, old(Counted(x=1, ratio=0.5)))
    assert dict(found) == {"x": 2000, "rate": 0.5, "total": 1.0}


class Labelled(BaseModel):
    model_config = ConfigDict(extra="allow")

    tags: list[str] = []
    labels: list[str] = []
    _best: float = PrivateAttr(default=0.0)


def test_what_is_gone_is_taken_over_by_a_model_validator() -> None:
    class Now(BaseModel):
        tags: list[str] = []
        _best: float = PrivateAttr(default=0.0)
        _count: int = PrivateAttr()

        @model_validator(mode="before")
        @classmethod
        def merged(cls, data: dict[str, Any]) -> Any:
            return {"tags": [*data.get("tags", []), *data["labels"]]}

        def model_post_init(self, context: Any) -> None:
            self._count = len(self.tags)

    found = new(Now, old(Labelled(tags=["a"], labels=["b"]), {"_best": 0.5}))
    assert (found.tags, found.model_fields_set) == (["a", "b"], {"tags"})
    assert found.__pydantic_private__ == {"_best": 0.5, "_count": 2}


def test_what_a_model_validator_takes_away_is_no_extra_value() -> None:
    class Now(Labelled):
        marks: list[str]

        @model_validator(mode="before")
        @classmethod
        def renamed(cls, data: dict[str, Any]) -> Any:
            return {"marks": data.pop("old"), **data}

    found = new(Now, old(Labelled.model_validate({"old": ["a"], "size": 1})))
    assert (found.marks, found.__pydantic_extra__) == (["a"], {"size": 1})
    assert found.model_fields_set == {"marks", "size"}


def test_a_private_attribute_that_its_class_builds() -> None:
    class Now(Counted):
        steps: int = 5
        _seen: list[int] = PrivateAttr()

        def model_post_init(self, context: Any) -> None:
            self._seen = [self.x]

    assert new(Now, old(Counted(x=0), {"_best": 0.5})).__pydantic_private__ == {"_best": 0.5, "_seen": [2]}


def test_a_validator_and_a_field_that_is_gone() -> None:
    """A class that takes no extra values takes those of older releases, which nothing asks for any more."""

    class Now(BaseModel):
        model_config = ConfigDict(extra="forbid")
        tags: list[str] = []
        size: int = 0

        @model_validator(mode="after")
        def sized(self) -> Now:
            self.size = len(self.tags)
            return self

    refused = old(Labelled.model_construct(tags=[3]))
    found = new(Now, old(Labelled(tags=["a"], labels=["b"])))
    assert (found.tags, found.size) == (["a"], 1)
    assert unpack(refused).model_dump(warnings=False) == {"tags": [3], "size": 0}


class Account(BaseModel):
    secret: str
    tags: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def of_text(cls, data: Any, info: ValidationInfo) -> Any:
        return {"secret": data} if isinstance(data, str) else data

    @field_validator("secret")
    @classmethod
    def hidden(cls, secret: str) -> str:
        return f"hash of {secret}"


@pytest.mark.parametrize("tag", ["a", 3])
def test_a_validator_that_changes_nothing_that_is_stored(tag: Any) -> None:
    """What is in its fields may be such as its validators would change, or refuse."""

    class Now(Account):
        note: str = "none"

    made = Account.model_validate("s")
    made.tags.append(tag)
    found = new(Now, old(made))
    assert dict(found) == {"secret": "hash of s", "tags": [tag], "note": "none"}


def test_only_what_a_validator_changes_is_validated_again() -> None:
    class Now(Account):
        note: str

        @model_validator(mode="before")
        @classmethod
        def noted(cls, data: dict[str, Any]) -> Any:
            return {**data, "note": ", ".join(data["tags"])}

    assert dict(new(Now, old(Account(secret="s", tags=["a", "b"])))) == {
        "secret": "hash of s",
        "tags": ["a", "b"],
        "note": "a, b",
    }


def test_a_wrap_validator_makes_all() -> None:
    class Now(Account):
        note: str

        @model_validator(mode="wrap")
        @classmethod
        def noted(cls, data: dict[str, Any], handler: ModelWrapValidatorHandler[Self]) -> Self:
            return handler({**data, "note": "new"})

    assert dict(new(Now, old(Account(secret="s")))) == {"secret": "hash of hash of s", "tags": [], "note": "new"}


def test_an_extra_value_that_has_become_a_field() -> None:
    class Before(Counted):
        model_config = ConfigDict(extra="allow")

    class Now(Counted):
        size: float = 0.0

    found = new(Now, old(Before.model_validate({"x": 1, "size": 3, "other": 4}), {"_best": 0.5}))
    assert alike((found.x, found.size, found.__pydantic_private__), (2, 3.0, {"_best": 0.5}))


def test_a_new_field_without_default_is_named() -> None:
    class Now(Counted):
        steps: int

    packed = old(Counted(x=1))
    with pytest.raises(bp.BadSetup, match=r"does not fit the class .*Now any more: steps: Field required"):
        new(Now, packed)


class Plain(BaseModel):
    title: str


class Checked(Plain):
    slug: str = Field("", validate_default=True)

    @field_validator("slug")
    @classmethod
    def of_title(cls, slug: str, info: ValidationInfo) -> str:
        return slug or info.data["title"].lower()


class Completed(Plain):
    slug: str = ""

    def model_post_init(self, context: Any) -> None:
        self.slug = self.slug or self.title.lower()


@pytest.mark.parametrize("kind", [Checked, Completed])
def test_a_new_field_that_its_class_fills(kind: Any) -> None:
    assert new(kind, old(Plain(title="Tea"))).slug == "tea"


def test_a_private_attribute_that_is_stored_is_not_made_again() -> None:
    made = list[int]()

    class Kept(Plain):
        _n: list[int] = PrivateAttr(default_factory=lambda: made.__iadd__([1]))

    packed = old(Kept(title="Tea"))
    made.clear()
    new(Kept, packed)
    assert made == []
