"""The app before its contracts were changed."""

import batonpass as bp

from .agents import declare


class Order(bp.Contract, name="upgrades.order"):
    text: str


class Note(bp.Contract, name="upgrades.note"):
    text: str


class Reply(bp.Contract, name="upgrades.reply"):
    good: bool


app = bp.App("upgrades", version="1")
declare(app, Order, Note, Reply)
