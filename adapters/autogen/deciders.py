"""Deciders: the user's functions that say who speaks next, or whether the team has ended. They are not asked again
after a crash, nor when their turn runs again for a person's answer."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from .journal import calling, current, own_part, within


def asked_once(who: str, part: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of messages that says names, None or a bool, in the form that AutoGen should call. `part` says which
    of the functions of the team `who` it is.

    If its turn runs again, it says the same again, also if it would say something else by now: so the turn goes to the
    same member.
    """
    caller = own_part(who, part)

    async def asked(messages: Sequence[Any]) -> Any:
        async def ask() -> Any:
            with within(calling, caller):
                found = function(messages)
                return await found if inspect.isawaitable(found) else found

        journal = current.get()
        if journal is None:
            return await ask()
        digest, recorded = journal.recall(caller, [[each.source, each.to_text()] for each in messages])
        if recorded is not None:
            return recorded[0]
        with journal.asking(caller):
            said = await ask()
        try:
            plain = _plain(said)
        except TypeError:
            return said  # AutoGen says what is wrong with it
        return (await journal.record(caller, digest, [plain]))[0]

    return asked


def _plain(said: Any) -> Any:
    """What such a function has said, without classes of the user's own (a StrEnum)."""
    if said is None or isinstance(said, bool):
        return said
    return str.__str__(said) if isinstance(said, str) else [*map(str.__str__, said)]
