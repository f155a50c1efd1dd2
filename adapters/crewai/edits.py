"""Edits: what a person's changes of a crew's state mean for the run that goes on from it. Needs no CrewAI."""

from __future__ import annotations

import json

from ...contracts.checkpoint import Checkpoint
from ..dialects import dict_of


def of_finished_tasks(source: Checkpoint) -> str:
    """Why a crew in the middle takes no other payload: its next tasks would put it beside outputs of the first one."""
    titles = list(dict_of(dict_of(source.state).get("tasks")))
    named = ", ".join(map(repr, titles))
    return (
        f"has finished {'tasks' if len(titles) > 1 else 'task'} {named} with the payload that it has, and would mix "
        "another one with that: change an output instead (changes=, --set "
        f"'{place_of(titles[0])}.raw=\"...\"'), or submit a new job with the other payload"
    )


def place_of(title: str) -> str:
    """Where a task's output is in a crew's state, as `--set` takes it."""
    return f"tasks.{title}" if title.isidentifier() else f"tasks[{json.dumps(title, ensure_ascii=False)}]"
