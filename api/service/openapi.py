"""OpenAPI: the service's operations as a document that other languages make their clients from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from inspect import getdoc
from typing import Any, TypeAlias

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from batonpass import __version__

from .operation import Operation

_Schema: TypeAlias = dict[str, Any]

_ABOUT = """What a Batonpass store holds: jobs, the questions they ask, their checkpoints, and what happens.

Times are text in UTC. (In the `data` of events, they are ms since 1970.) Durations are
seconds. What JSON lacks (NaN, bytes) is text."""
_CONTRACT = {"type": "string", "description": "A contract's name and version.", "examples": ["desk.notes@1"]}
_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "The service's token. Its read token, if it has one, is enough for every GET.",
}
_ERROR = {
    "type": "object",
    "description": "Why there is no answer.",
    "required": ["error", "type", "fields"],
    "properties": {
        "error": {"type": "string", "description": "What is wrong, in a line."},
        "type": {"type": "string", "description": "The name of the error's class.", "examples": ["ThreadBusy"]},
        "fields": {"type": "array", "items": {"type": "string"}, "description": "What is wrong where."},
        "job_id": {
            "type": "string",
            "description": "The first job that has the key, or the one that runs on the thread.",
        },
        "after": {"type": "string", "description": "The cursor to go on with instead."},
    },
}


class _Generator(GenerateJsonSchema):
    """JSON Schemas of what the service reads (validation) and writes (serialization)."""

    def timedelta_schema(self, schema: core_schema.TimedeltaSchema) -> _Schema:
        """Durations are shown as seconds."""
        return {"type": "number"}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> _Schema:
        """With what its docstring says about its fields."""
        return super().dataclass_schema(schema) | {"description": getdoc(schema["cls"]) or ""}

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> _Schema:
        """What is written is complete, so it needs no defaults. What is read and may be null may be left out as well,
        and says the same then."""
        of: Any = schema["schema"]
        if self.mode == "serialization":
            return self.generate_inner(of)
        return self.generate_inner(of["schema"]) if of["type"] == "nullable" else super().default_schema(schema)

    def field_is_required(self, field: Any, total: bool) -> bool:
        """The same."""
        return self.mode == "serialization" or super().field_is_required(field, total)

    def field_title_should_be_set(self, schema: Any) -> bool:
        """A title would only repeat the field's name."""
        return False


def document(operations: Sequence[Operation], root: str) -> _Schema:
    """The operations as OpenAPI 3.1. All paths are below `root`."""
    schemas, shared = TypeAdapter.json_schemas(
        [each for operation in operations for each in _forms(operation)],
        ref_template="#/components/schemas/{model}",
        schema_generator=_Generator,
    )
    paths: dict[str, _Schema] = {}
    for each in operations:
        sent, given = schemas.get((each.name, "validation")), schemas[each.name, "serialization"]
        paths.setdefault(each.path, {})[each.method.lower()] = _described(each, sent, given)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Batonpass", "version": __version__, "description": _ABOUT},
        "servers": [{"url": root}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": {**shared["$defs"], "ContractRef": _CONTRACT, "Error": _ERROR},
            "securitySchemes": {"token": _TOKEN},
        },
    }


def _forms(operation: Operation) -> Iterator[tuple[str, JsonSchemaMode, TypeAdapter[Any]]]:
    if operation.takes is not None and not operation.asks:
        yield operation.name, "validation", TypeAdapter(operation.takes)
    yield operation.name, "serialization", TypeAdapter(operation.gives)


def _described(operation: Operation, sent: _Schema | None, gives: _Schema) -> _Schema:
    about: _Schema = {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": list(_parameters(operation)),
        "responses": {
            "200": {"description": "Done", "content": {operation.media: {"schema": gives}}},
            "default": {"description": "Not done", "content": _json({"$ref": "#/components/schemas/Error"})},
        },
    }
    if operation.open:
        about["security"] = []
    if sent is not None:
        about["requestBody"] = {"required": True, "content": _json(sent)}
    return about


def _parameters(operation: Operation) -> Iterator[_Schema]:
    for name in re.findall(r"{(\w+)}", operation.path):
        yield {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
    if operation.takes is not None and operation.asks:
        form = operation.takes.model_json_schema(schema_generator=_Generator)
        for name, schema in form.get("properties", {}).items():
            yield {"name": name, "in": "query", "required": name in form.get("required", ()), "schema": schema}


def _json(schema: _Schema) -> _Schema:
    return {"application/json": {"schema": schema}}
