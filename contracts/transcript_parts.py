"""Parts: what a message of a portable transcript is made of."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .alike import alike

_ALWAYS = ("kind", "v")


class Portable(BaseModel):
    """What all of a transcript is: values that are not changed, and no field that nobody knows."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_bytes="base64", val_json_bytes="base64")

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """A thread holds thousands of messages: what is as by default is not said."""
        defaults = _defaults(type(self))
        said: dict[str, Any] = handler(self)
        return {name: value for name, value in said.items() if name not in defaults or not alike(value, defaults[name])}


@cache
def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    fields = kind.model_fields.items()
    return {
        name: field.get_default(call_default_factory=True)
        for name, field in fields
        if not field.is_required() and name not in _ALWAYS
    }


class Text(Portable):
    """What was said."""

    kind: Literal["text"] = "text"
    text: str


class Thought(Portable):
    """What a model thought before it spoke."""

    kind: Literal["thought"] = "thought"
    text: str


class Blob(Portable):
    """An image, a sound or a file: its bytes, or the URL where it lies. `mime` is "" where nobody said."""

    kind: Literal["blob"] = "blob"
    mime: str = ""
    data: bytes | None = None
    url: str | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Blob:
        if (self.data is None) is (self.url is None):
            raise ValueError("a blob has data= or url=, one of both")
        return self


class Data(Portable):
    """A structured value, or a block that only its model's provider knows."""

    kind: Literal["data"] = "data"
    value: Any


class ToolCall(Portable):
    """A model's wish to have a tool run. `raw` are the arguments as they came, if they are no JSON object; `error` is
    what was said about that."""

    kind: Literal["call"] = "call"
    id: str | None = None
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    raw: str | None = None
    error: str | None = None


Content: TypeAlias = Annotated[Text | Thought | Blob | Data, Field(discriminator="kind")]


class ToolResult(Portable):
    """What a tool gave for the call with that id. `failed` is None where nobody said."""

    kind: Literal["result"] = "result"
    call_id: str = ""
    name: str | None = None
    content: list[Content] = Field(default_factory=list[Content])
    failed: bool | None = None


Part: TypeAlias = Annotated[Text | Thought | Blob | Data | ToolCall | ToolResult, Field(discriminator="kind")]
