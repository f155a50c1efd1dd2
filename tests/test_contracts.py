"""Contracts, agents and apps: what is declared, what is refused, and with which words."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

import pydantic
import pytest

import batonpass as bp
from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import (
    ContractRef,
    contract_ref,
    convert,
    dump_payload,
    load_mapping,
    load_payload,
)

T = TypeVar("T")
WHEN = datetime(2026, 1, 2, tzinfo=UTC)


class Draft(bp.Contract, name="test.draft", version=2):
    text: str
    score: float = 0.0


class Abstract(bp.Contract):
    text: str


class Concrete(Abstract, name="test.concrete"):
    pass


class Page(bp.Contract, Generic[T], name="test.page"):
    items: list[T]


def test_name_and_version() -> None:
    assert contract_ref(Draft) == ContractRef("test.draft", 2) == ("test.draft", 2)
    assert str(contract_ref(Draft)) == "test.draft@2"
    assert contract_ref(Concrete) == ContractRef("test.concrete", 1)


def test_one_without_a_name_is_abstract() -> None:
    with pytest.raises(bp.BadSetup, match=r"Abstract has no name: write class Abstract\(Contract, name='team.thing'\)"):
        contract_ref(Abstract)
    with pytest.raises(bp.BadSetup, match="is not a contract"):
        contract_ref(str)  # type: ignore[arg-type]


def test_a_name_is_not_inherited() -> None:
    class Longer(Draft):
        more: str = ""

    with pytest.raises(bp.BadSetup, match="has no name"):
        contract_ref(Longer)


def test_a_generic_is_named_with_its_arguments() -> None:
    assert contract_ref(Page[Draft]).name == "test.page[test.draft]"
    assert contract_ref(Page[int]).name == "test.page[int]"
    assert contract_ref(Page[Page[int]]).name == "test.page[test.page[int]]"
    assert contract_ref(Page[int]) == contract_ref(Page[int]) != contract_ref(Page[str])
    assert contract_ref(Page[list[Draft]]).name == "test.page[list[test.draft]]"
    assert contract_ref(Page[dict[str, int]]).name != contract_ref(Page[dict[str, str]]).name
    page = Page[Draft](items=[Draft(text="x")])
    assert load_payload(Page[Draft], dump_payload(page)) == page
    with pytest.raises(bp.ContractViolation, match=r"not a valid test.page\[int\]@1: items.0: "):
        convert(Page[int], {"items": ["x"]})


class Bare(bp.Contract, name="test.bare"):
    text: str

    @pydantic.model_serializer
    def written(self) -> str:
        return self.text


def test_what_is_not_written_as_an_object_is_refused() -> None:
    """Code without the class could not read it, and neither could upcasts and keys."""
    with pytest.raises(bp.ContractViolation, match=r"test\.bare@1 is not written as an object with fields"):
        dump_payload(Bare(text="ann"))


@pytest.mark.parametrize("name", ["", " ", "a b", "a:b", "é", "-a", "a\n", "a@2", "{a}", "a" * 3 + "!"])
def test_a_bad_name(name: str) -> None:
    with pytest.raises(bp.BadSetup, match=r"use letters, digits and _ \. / -"):
        type("Bad", (bp.Contract,), {}, name=name)


@pytest.mark.parametrize("version", [0, -1, "2"])
def test_a_bad_version(version: object) -> None:
    with pytest.raises(bp.BadSetup, match="versions start at 1"):
        type("Bad", (bp.Contract,), {}, name="test.bad", version=version)


def test_defining_one_again_registers_nothing() -> None:
    """As a notebook does with its cells."""

    def define() -> type[bp.Contract]:
        class Cell(bp.Contract, name="test.cell"):
            text: str

        return Cell

    one, two = define(), define()
    assert one is not two
    assert contract_ref(one) == contract_ref(two)


def test_instances_are_frozen_and_validated() -> None:
    draft = Draft(text="x")
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        draft.text = "y"
    with pytest.raises(pydantic.ValidationError):
        Draft(text=None)  # type: ignore[arg-type]
    assert hash(draft) == hash(Draft(text="x"))


def test_bytes_and_odd_numbers_travel() -> None:
    class Blob(bp.Contract, name="test.blob"):
        data: bytes
        number: float
        when: datetime

    blob = Blob(data=bytes(range(256)), number=math.inf, when=WHEN)
    assert load_payload(Blob, dump_payload(blob)) == blob
    assert math.isnan(load_payload(Blob, dump_payload(blob.model_copy(update={"number": math.nan}))).number)
    assert convert(Blob, {"data": b"\xff", "number": -math.inf, "when": WHEN}).data == b"\xff"


def test_a_secret_is_refused_where_it_would_travel_as_asterisks() -> None:
    class Login(bp.Contract, name="test.login"):
        password: pydantic.SecretStr

    class Told(Login, name="test.told"):
        @pydantic.field_serializer("password", when_used="json")
        def tell(self, password: pydantic.SecretStr) -> str:
            return password.get_secret_value()

    with pytest.raises(bp.ContractViolation, match=r"this test\.login@1 holds a secret .*give the field a serializer"):
        dump_payload(Login(password=pydantic.SecretStr("hush")))
    told = Told(password=pydantic.SecretStr("hush"))
    assert load_payload(Told, dump_payload(told)) == told
    assert dump_payload(Draft(text="**********")) == b'j{"text":"**********","score":0.0}'


def test_a_secret_in_a_result_is_refused_by_its_name() -> None:
    class Key(pydantic.BaseModel):
        name: str = "a"
        value: pydantic.SecretStr = pydantic.SecretStr("hush")

    @dataclass
    class Held:
        keys: list[Key]

    class Told(Key):
        @pydantic.field_serializer("value", when_used="json")
        def tell(self, value: pydantic.SecretStr) -> str:
            return value.get_secret_value()

    class Got(bp.Contract, name="test.got"):
        keys: list[dict[str, str]]

    for result in ({"keys": [Key()]}, {"keys": [Told(), Key()]}, Held([Key()])):
        with pytest.raises(bp.ContractViolation, match=r"test\.got@1: keys\.\d\.value holds a secret") as refused:
            convert(Got, result)
        assert refused.value.fields[0].endswith(".value: a secret")
    assert convert(Got, {"keys": [Told()]}).keys[0]["value"] == "hush"
    assert convert(Got, {"keys": [{"value": "**********"}], "left": Key()}).keys == [{"value": "**********"}]


class Line(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    price: int = pydantic.Field(alias="unitPrice")

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def taxed(self) -> int:
        return self.price * 2


def test_aliases_and_computed_fields_travel_also_where_extra_fields_are_forbidden() -> None:
    class Bill(bp.Contract, name="test.bill"):
        model_config = pydantic.ConfigDict(alias_generator=str.upper, extra="forbid")
        lines: list[Line]
        raw: pydantic.Json[list[int]]
        old: str = pydantic.Field("", validation_alias=pydantic.AliasChoices("former", "older"))

    bill = Bill.model_validate({"LINES": [{"unitPrice": 3}], "RAW": "[1]", "former": "x"})
    assert load_payload(Bill, dump_payload(bill)) == bill
    assert convert(Bill, {"LINES": [{"unitPrice": 3}], "RAW": "[1]", "older": "x"}) == bill
    assert convert(Bill, {"lines": [{"price": 3}], "raw": "[1]", "old": "x"}) == bill
    with pytest.raises(bp.ContractViolation, match=r"not a valid test\.bill@1: other: Extra inputs are not permitted"):
        convert(Bill, {"lines": [], "raw": "[]", "other": 1})


def test_what_its_class_would_not_read_is_not_written() -> None:
    with pytest.raises(bp.ContractViolation, match=r"not a valid test\.draft@2: text: Field required"):
        dump_payload(Draft.model_construct(score=1.0))


def test_values_are_read_laxly_as_from_json() -> None:
    draft = convert(Draft, {"text": "x", "score": "1.5"})
    assert draft.score == 1.5
    assert convert(Draft, draft) is draft


def test_fields_that_the_model_does_not_know_stay_in_the_payload() -> None:
    data = b'j{"text":"x","score":1.0,"added_in_version_3":[1]}'
    assert load_payload(Draft, data) == Draft(text="x", score=1.0)
    mapping = load_mapping(contract_ref(Draft), data)
    assert dict(mapping) == {"text": "x", "score": 1.0, "added_in_version_3": [1]}
    assert (mapping.ref, len(mapping), mapping["text"]) == (ContractRef("test.draft", 2), 3, "x")


def test_a_violation_names_every_field() -> None:
    class Order(bp.Contract, name="test.order"):
        lines: list[Draft]
        total: int

    with pytest.raises(bp.ContractViolation) as raised:
        convert(Order, {"lines": [{"text": "x"}, {"text": 1}, {}], "total": "many"})
    assert [field.partition(":")[0] for field in raised.value.fields] == ["lines.1.text", "lines.2.text", "total"]
    text = str(raised.value)
    assert text.startswith("not a valid test.order@1: lines.1.text: Input should be a valid string; lines.2.text: ")
    assert "\n" not in text
    with pytest.raises(bp.ContractViolation, match=r"not a valid test.order@1: \(whole\): "):
        load_payload(Order, b"j[]")
    for damaged in (b"j", b"j{", b"j{}", b"jnull"):
        with pytest.raises(bp.ContractViolation):
            load_payload(Order, damaged)


def test_a_state_takes_any_dict_and_keeps_its_types() -> None:
    state = bp.State.model_validate({"when": WHEN, "ids": {1, 2}, "deep": {"t": (1,)}})
    again = load_payload(bp.State, dump_payload(state))
    assert again == state
    assert again.as_dict() == {"when": WHEN, "ids": {1, 2}, "deep": {"t": (1,)}}
    assert again["ids"] == {1, 2}
    assert contract_ref(bp.State) == ContractRef("batonpass.state", 1)
    with pytest.raises(KeyError):
        again["none"]

    class Ticket(bp.State, name="test.ticket"):
        number: int = 0

    ticket = Ticket.model_validate({"number": 7, "seen": {1}})
    assert load_payload(Ticket, dump_payload(ticket)).as_dict() == {"number": 7, "seen": {1}}
    assert ticket["number"] == 7
    with pytest.raises(bp.Unserializable, match=r"payload\['x'\]"):
        dump_payload(bp.State.model_validate({"x": object()}))


@pytest.mark.parametrize("key", ["keys", "items", "copy", "as_dict", "model_dump", "model_extra", "_asdict", "self"])
def test_a_state_takes_any_text_as_a_key(key: str) -> None:
    """`dict()` takes what has an attribute `keys` for a mapping."""
    state = bp.State.model_validate({key: [1]})
    again = load_payload(bp.State, dump_payload(state))
    assert again == state
    assert again.as_dict() == dict(load_mapping(contract_ref(bp.State), dump_payload(state))) == {key: [1]}
    assert again[key] == [1]


def noop(*_: Any) -> Any:
    return None


def declare(**options: Any) -> Agent[Any]:
    fitting: dict[str, Any] = {"name": "a", "kind": "function", "fn": noop, "accepts": Draft, "returns": Draft}
    return Agent(**(fitting | options))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"name": ""}, "an agent needs a name"),
        ({"accepts": Abstract}, "Abstract has no name"),
        ({"accepts": dict}, "is not a contract"),
        ({"returns": None}, "'a' has no outcome: declare returns= or hands_to="),
        ({"hands_to": {"b": int}}, "is not a contract"),
        ({"hands_to": ["b"]}, r"hands_to=\['b'\], but it must be a dict of agents and contracts"),
        ({"fn": lambda: None}, r"its function must take \(payload, ctx\), or \(payload\)"),
        ({"fn": lambda payload, ctx, more: None}, r"its function must take \(payload, ctx\), or \(payload\)"),
        ({"retries": 0}, "retries=0, but a hop needs at least 1 attempt"),
        ({"lease": 0}, "lease=0 seconds, but it must be from a millisecond to a year"),
        ({"lease": math.inf}, "lease=inf seconds"),
        ({"timeout": math.nan}, "timeout=nan seconds"),
        ({"timeout": -1.5}, "timeout=-1.5 seconds, but it must be from a millisecond to a year"),
    ],
)
def test_an_agent_that_could_not_work(options: dict[str, Any], match: str) -> None:
    with pytest.raises(bp.BadSetup, match=match):
        declare(**options)


@pytest.mark.parametrize("verb", ["agent", "langgraph", "crewai", "autogen"])
@pytest.mark.parametrize(
    ("given", "options", "why"),
    [
        ((noop,), {}, '{} lacks its name and accepts=: write {}("noop", accepts=Topic, ...), where Topic is'),
        ((), {}, '{} lacks its name and accepts=: write {}("research", accepts=Topic, ...)'),
        ((), {"accepts": Draft, "returns": Draft}, '{} lacks its name: write {}("research", accepts=Topic, ...)'),
        (("write",), {"returns": Draft}, '{} lacks accepts=: write {}("write", accepts=Topic, ...)'),
        (("write", Draft), {}, '{} takes only its name as a positional argument: write {}("write", accepts=Topic'),
    ],
)
def test_a_decorator_that_was_not_told_enough_says_what_to_write(
    verb: str, given: tuple[Any, ...], options: dict[str, Any], why: str
) -> None:
    with pytest.raises(bp.BadSetup, match=re.escape(why.replace("{}", f"@app.{verb}"))):
        getattr(bp.App("test"), verb)(*given, **options)


def test_an_agent_can_be_called_as_its_function() -> None:
    app = bp.App("test")

    @app.agent("double", accepts=Draft, returns=Draft)
    def double(draft: Draft) -> Draft:
        return Draft(text=draft.text * 2)

    assert double(Draft(text="x")) == double.fn(Draft(text="x")) == Draft(text="xx")
    assert (double.name, double.kind, app["double"], "double" in app, list(app)) == (
        "double",
        "function",
        double,
        True,
        [double],
    )


@pytest.mark.parametrize("kind", ["langgraph", "crewai", "autogen"])
def test_a_frameworks_agent_imports_nothing(kind: str) -> None:
    app = bp.App("test")
    agent = getattr(app, kind)("a", accepts=Draft, returns=Draft, retries=1, timeout=5)(noop)
    assert (agent.kind, agent.fn, agent.retries, agent.timeout) == (kind, noop, 1, 5)


def test_an_app_refuses_what_is_at_odds() -> None:
    app = bp.App("test")
    app.agent("a", accepts=Draft, returns=Draft)(noop)
    with pytest.raises(bp.BadSetup, match="app 'test' has two agents named 'a'"):
        app.agent("a", accepts=Draft, returns=Draft)(noop)
    with pytest.raises(bp.UnknownAgent, match="app 'test' has no agent 'b'; it has a"):
        app["b"]

    app.agent("b", accepts=Concrete, hands_to={"a": Concrete}, returns=Draft)(noop)
    with pytest.raises(bp.BadSetup, match=r"'b' hands test\.concrete@1 to 'a', which accepts test.draft@2"):
        app.check()


def test_one_name_with_two_schemas() -> None:
    def version_of(annotations: dict[str, type]) -> type[bp.Contract]:
        made = pydantic.create_model("Draft", __base__=bp.Contract, **{k: (v, ...) for k, v in annotations.items()})  # type: ignore[call-overload]
        made.__contract_ref__ = ContractRef("test.twice", 1)
        return made  # type: ignore[no-any-return]

    check(lambda app: (version_of({"text": str}), version_of({"text": str})))
    with pytest.raises(
        bp.BadSetup,
        match=r"two contracts are named test\.twice@1 but have different fields: give one of them a higher version=",
    ):
        check(lambda app: (version_of({"text": str}), version_of({"text": int})))

    class Unknown(bp.Contract, name="test.unknown"):
        share: float = math.nan  # NaN is not equal to itself

    check(lambda app: (Unknown, Unknown))


def check(make: Callable[[bp.App], tuple[type[bp.Contract], type[bp.Contract]]]) -> None:
    app = bp.App("test")
    one, two = make(app)
    app.agent("a", accepts=one, returns=Draft)(noop)
    app.agent("b", accepts=two, returns=Draft)(noop)
    app.check()


def test_every_error_is_of_the_one_family() -> None:
    errors = [getattr(bp, name) for name in bp.__all__ if isinstance(getattr(bp, name), type)]
    errors = [kind for kind in errors if issubclass(kind, Exception) and not issubclass(kind, Warning)]
    assert len(errors) > 20
    assert all(issubclass(kind, bp.BatonpassError) for kind in errors)
    assert issubclass(bp.Canceled, bp.Fenced)
    assert not issubclass(bp.Unavailable, bp.Refused | bp.Conflict)
