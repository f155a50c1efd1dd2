"""Keys of dicts that a crew or flow has saved: of classes of their own, or such as JSON has none of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import listen, start
from pydantic import BaseModel, ConfigDict
from pydantic_core import core_schema as cs

import batonpass as bp
from batonpass.adapters.crewai.values.contract_versions import marks

from ..apps.crewai_app import Article, Small
from ..apps.crewai_kit import Crews, Failing, Note, result

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Own:
    """A class with a schema of its own, such as an ObjectId."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Own) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> cs.CoreSchema:
        text = cs.plain_serializer_function_ser_schema(lambda own: own.text, when_used="json")
        return cs.no_info_plain_validator_function(
            lambda value: value if isinstance(value, cls) else cls(value),
            json_schema_input_schema=cs.str_schema(),
            serialization=text,
        )


class Facts(bp.Contract, name="crewai_tests.keyed_facts"):
    text: str


class ByOwn(BaseModel):
    id: str = ""
    under: dict[Own, list[Note] | Facts] = {}


class ByBytes(BaseModel):
    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    id: str = ""
    under: dict[bytes, list[Note] | Facts] = {}


class ByUtf8(BaseModel):
    under: dict[bytes, list[Note]] = {}


class BySet(BaseModel):
    under: dict[frozenset[str], list[Note]] = {}


NO_TEXT = b"\xff\xfe"
NOTES, FACTS = [Note(text="x")], Facts(text="x")


def kept(value: Any) -> Any:
    """A flow that has this as its state, and is restarted."""
    fail = Failing()

    class Keeps(Small, Flow[type(value)]):  # type: ignore[misc]
        @start()
        def one(self) -> None:
            self.state.under = value.under

        @listen(one)
        def two(self) -> str:
            fail()
            return "the same" if self.state.under == value.under else "another"

    return Keeps


def returned(value: Any) -> Any:
    """One whose method returns this."""
    fail = Failing()

    class Returns(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def one(self) -> ByOwn | ByBytes | ByUtf8 | BySet:
            return value  # type: ignore[no-any-return]

        @listen(one)
        def two(self, said: Any) -> str:
            fail()
            return "the same" if said == value else "another"

    return Returns


@pytest.mark.parametrize("item", [NOTES, FACTS])
@pytest.mark.parametrize("value", [ByOwn(under={Own("k"): []}), ByBytes(under={NO_TEXT: []})])
@pytest.mark.parametrize("flow", [kept, returned])
async def test_only_its_model_may_know_what_a_key_is(flow: Callable[[Any], Any], value: Any, item: Any) -> None:
    made = value.model_copy(update={"under": dict.fromkeys(value.under, item)})
    assert (await result(flow(made))).text == "the same"


@pytest.mark.parametrize("value", [ByUtf8(under={NO_TEXT: NOTES}), BySet(under={frozenset({"a", "b"}): NOTES})])
async def test_json_may_have_no_such_key(value: Any) -> None:
    """A result is saved field by field, then."""
    assert (await result(returned(value))).text == "the same"


async def test_an_output_may_have_such_keys(crews: Crews) -> None:
    crews.script["one"] = '{"under": {"k": [{"text": "x"}]}}'
    crews.fails_once("end", "fine")

    def factory() -> Any:
        return crews.crew(crews.task("one", output_pydantic=ByOwn), crews.task("end"))

    def leave(left: Any) -> Article:
        return Article(
            text="the same" if left.tasks_output[0].pydantic == ByOwn(under={Own("k"): NOTES}) else "another"
        )

    assert (await result(factory, leave=leave)).text == "the same"


def test_contracts_under_other_keys_are_marked() -> None:
    value = {Own("a"): FACTS, 1: FACTS, NO_TEXT: FACTS, frozenset("a"): FACTS, "b": [FACTS]}
    assert marks(value) == [[path, "crewai_tests.keyed_facts", 1] for path in (["1"], ["b", 0])]
