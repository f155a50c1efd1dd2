"""What both versions do: a function that has recorded everything that can be recorded before its last question."""

from __future__ import annotations

from typing import Any

import batonpass as bp
from tests.apps.evidence import ran


class Said(bp.Contract, name="upgrades.said"):
    text: str


def declare(app: bp.App, order: type[Any], note: type[Any], reply: type[Any]) -> None:
    """The app's versions of three contracts."""

    def draft(given: Any) -> Any:
        ran("draft")
        return note(text=f"draft of {given.text}")

    def polish(given: list[Any]) -> str:
        ran("polish")
        return f"polished {given[0].text}"

    @app.agent("upgrades-score", accepts=order, returns=note)
    def score(given: Any, ctx: bp.SyncContext) -> Any:
        ran("score")
        return note(text=f"score of {given.text}")

    @app.agent("upgrades-write", accepts=order, returns=Said, hands_to={"upgrades-score": order})
    def write(given: Any, ctx: bp.SyncContext) -> Said:
        drafted = ctx.step("draft", draft, given)
        polished = ctx.step("polish", polish, [drafted])
        scored = ctx.fan_out([bp.Handoff("upgrades-score", given)])
        replies = [ctx.ask(question, answer=reply) for question in ("good?", "print?")]
        return Said(text="; ".join(map(str, [given, drafted, polished, *scored, *replies])))
