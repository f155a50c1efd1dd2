"""Parts: what a message of a portable transcript is made of."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from .alike import alike

_ALWAYS = ("kind", "v")


class Portable(BaseModel):
    """The base of a transcript's models: immutable, and without unknown fields."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        ser_json_bytes="base64",
        val_json_bytes="base64",
        defer_build=True,  # most processes that connect never have one
    )

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves defaults out, because a thread may have thousands of messages."""
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
    """An image, a sound or a file: its bytes, or its URL. `mime` is "" if it is not known."""

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
    """A structured value, or a block that only the model's provider understands."""

    kind: Literal["data"] = "data"
    value: Any


class ToolCall(Portable):
    """A tool call that a model asks for. `raw` has the arguments as they came, if they are not a JSON object, and
    `error` what is wrong with them."""

    kind: Literal["call"] = "call"
    id: str | None = None
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict[str, Any])
    raw: str | None = None
    error: str | None = None


Content: TypeAlias = Annotated[Text | Thought | Blob | Data, Field(discriminator="kind")]


class ToolResult(Portable):
    """The result of the tool call with that id. `failed` is None if it is not known."""

    kind: Literal["result"] = "result"
    call_id: str = ""
    name: str | None = None
    content: list[Content] = Field(default_factory=list[Content])
    failed: bool | None = None


Part: TypeAlias = Annotated[Text | Thought | Blob | Data | ToolCall | ToolResult, Field(discriminator="kind")]
