"""Asked: whether a new release could read the answers to what jobs have asked."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

from batonpass.contracts.agent import Agent
from batonpass.contracts.app import App
from batonpass.contracts.contract import Contract, ContractRef, contract_ref, same_fields
from batonpass.contracts.errors import BatonpassError
from batonpass.contracts.job import JobState
from batonpass.coordinator.book import Book
from batonpass.coordinator.questions import stored_terms
from batonpass.coordinator.rows import JobRow
from batonpass.workers.answered import answer_of

UNNAMED = (
    "wait for an answer, or have one, whose contract this agent's code does not name, so it was not looked at: if you "
    "renamed that contract, they ask again"
)


def question_problem(app: App, row: JobRow) -> tuple[str, str] | None:
    """What is wrong with the question of a job, or with the answer that it got: the problem, and an example's words."""
    asks = row.state == JobState.INPUT_REQUIRED
    if not asks and not row.answer:
        return None
    try:
        about = stored_terms(row)
        given = None if asks else answer_of(row).value
    except BatonpassError as error:
        return "have a question or an answer that can't be read here", f": {error}"
    if about.answer is None:
        return None
    wanted = _contract(app, app[row.agent], about.answer)
    if wanted is None:
        return UNNAMED, f": {about.answer}"
    again = f"this app can't read, so they will ask again{_remedy(wanted, about.answer)}"
    if not asks:
        try:
            Book(app).said(wanted, given)
        except BatonpassError as error:
            return f"have an answer that {again}", f": {error}"
    elif about.answer not in app.versions(wanted)[1:] and not _reads(wanted.model_json_schema(), about.schema or {}):
        return f"ask for {about.answer}, which {again}", ""
    return None


def _remedy(wanted: type[Contract], asked: ContractRef) -> str:
    version = contract_ref(wanted).version
    if asked.version > version:
        return ""  # it is an older release
    raised = "raise its version=, then " if asked.version == version else ""
    return f" ({raised}@app.upcast({wanted.__name__}, from_version={asked.version}))"


def _reads(own: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether each value of the schema that was asked for is one of our own, which may have more fields that can be
    left out, and fields of wider types."""
    fields, others = own.get("properties", {}), asked.get("properties", {})
    return (
        {*own.get("required", ())} <= {*asked.get("required", ())}
        and all(_holds(fields[name], others[name]) for name in fields.keys() & others.keys())
        and all(same_fields(own.get("$defs", {}).get(name), held) for name, held in asked.get("$defs", {}).items())
        and (own.get("additionalProperties") is not False or others.keys() <= fields.keys())
    )


def _holds(own: Mapping[str, Any], asked: Mapping[str, Any]) -> bool:
    """Whether one type has the values of another: each that it may be is one of ours, or ours is any."""
    ours = [*_alternatives(own)]
    return all(any(same_fields(one, each) or same_fields(one, {}) for one in ours) for each in _alternatives(asked))


def _alternatives(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """What a value may be: one of a union's types, or of the values of an enumeration."""
    if "anyOf" in schema:
        for one in schema["anyOf"]:
            yield from _alternatives(one)
    elif "enum" in schema:
        yield from ({"type": schema.get("type"), "const": value} for value in schema["enum"])
    else:
        yield schema


def _contract(app: App, agent: Agent[Any], asked: ContractRef) -> type[Contract] | None:
    """The newest class with a contract's name that the app has, or that the agent's code names."""
    known = [*app.contracts(), *filter(None, [app.present(asked)]), *_named(agent.fn, set())]
    same = [each for each in known if each.__contract_ref__ is not None and contract_ref(each).name == asked.name]
    return max(same, key=lambda each: contract_ref(each).version, default=None)


def _named(fn: Any, seen: set[CodeType]) -> Iterator[type[Contract]]:
    """The contracts that a function's code names, and those that functions of its package name which it names."""
    fn = inspect.unwrap(getattr(fn, "func", fn))
    code = getattr(fn, "__code__", None)
    if code is None or code in seen:
        return
    seen.add(code)
    for value in _values(fn, code):
        if inspect.isfunction(value) and _package(value) == _package(fn):
            yield from _named(value, seen)
        elif isinstance(value, type) and issubclass(value, Contract):
            yield value


def _values(fn: Any, code: CodeType) -> Iterator[Any]:
    """What the names in a function's code stand for, outside of it."""
    names = _names(code)
    for cell in fn.__closure__ or ():
        with suppress(ValueError):  # nothing is in it yet
            yield cell.cell_contents
    for name in names & fn.__globals__.keys():
        value = fn.__globals__[name]
        yield value
        if isinstance(value, ModuleType):
            there = vars(value)  # a module that loads by need may lack what a name would load
            yield from (there[other] for other in names & there.keys())


def _names(code: CodeType) -> set[str]:
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return set(code.co_names).union(*inner)


def _package(fn: Any) -> str:
    return str(fn.__module__).partition(".")[0]
