"""Terms: how a job is to be delivered, from the options of its submit."""

from __future__ import annotations

from datetime import datetime
from typing import get_args

from ...contracts.errors import BadSetup
from ...contracts.guard import DEFAULT, Guard
from ...contracts.job import BANDS, OnBusy
from ...contracts.options import SubmitOptions
from ..commands import Terms
from .inputs import instant, known, milliseconds


def terms(options: SubmitOptions) -> Terms:
    """A job's terms. Refused here if they are invalid."""
    known(options, SubmitOptions, "submit")
    at, priority = options.get("at"), options.get("priority", "normal")
    if at is not None and options.get("delay"):
        raise BadSetup("give delay= or at=, not both")
    check_guard(options.get("guard", DEFAULT))
    if priority not in tuple(BANDS):  # a tuple, because `priority` may not be hashable
        raise BadSetup(f"priority={priority!r}, but it must be one of {', '.join(BANDS)}")
    on_busy = options.get("on_busy", "reject")
    if on_busy not in get_args(OnBusy):
        raise BadSetup(f"on_busy={on_busy!r}, but it must be one of {', '.join(get_args(OnBusy))}")
    if on_busy in ("interrupt", "rollback") and (at is not None or options.get("delay")):
        raise BadSetup(f"on_busy={on_busy!r} cancels the thread's job at once: submit without delay= and at=")
    expires, deadline = options.get("expires"), options.get("deadline")
    made = Terms(
        priority=BANDS[priority],
        at=instant(at, "at") if at is not None else 0,
        expires=milliseconds(expires, "expires", least=0.001) if expires is not None else 0,
        within=0
        if deadline is None or isinstance(deadline, datetime)
        else milliseconds(deadline, "deadline", least=0.001),
        deadline=instant(deadline, "deadline") if isinstance(deadline, datetime) else 0,
        on_busy=on_busy,
    )
    _check_order(options, made)
    return made


def check_guard(guard: object) -> None:
    """Refuse what is no guard."""
    if not isinstance(guard, Guard):
        raise BadSetup(f"guard={guard!r}, but it must be a batonpass.Guard")


def _check_order(options: SubmitOptions, made: Terms) -> None:
    """Refuse a job that would be over before it may start."""
    delay = milliseconds(options.get("delay", 0.0), "delay")
    for name, limit in (("expires", made.expires), ("deadline", made.within)):
        if 0 < limit < delay:
            raise BadSetup(
                f"{name}={options.get(name)!r} counts from the submit, and is over before the job may start "
                f"(delay={options.get('delay')}): it would always fail"
            )
    if 0 < made.deadline < made.at:
        raise BadSetup(
            f"deadline={options.get('deadline')} is before the job may start (at={options.get('at')}): it would always "
            "fail"
        )
