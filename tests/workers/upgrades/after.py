"""The app after its contracts were changed."""

from typing import Any

import batonpass as bp

from .agents import declare


class Order(bp.Contract, name="upgrades.order", version=2):
    text: str
    rush: bool


class Note(bp.Contract, name="upgrades.note", version=3):
    text: str
    words: int


class Reply(bp.Contract, name="upgrades.reply", version=2):
    good: bool
    why: str


app = bp.App("upgrades", version="2")


@app.upcast(Order, from_version=1)
def _rush(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "rush": False}


@app.upcast(Note, from_version=1)
def _words(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "words": values["text"].split()}


@app.upcast(Note, from_version=2)
def _count(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "words": len(values["words"])}


@app.upcast(Reply, from_version=1)
def _why(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "why": "nobody asked"}


declare(app, Order, Note, Reply)
