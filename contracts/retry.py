"""Retry: which errors of an agent are retried, how often, and after how long.

Our own arithmetic, because the libraries for it (tenacity, stamina) wait inside a process. Here a wait is a timer in
the store, and no process has to stay alive for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from .bounds import is_count
from .duration import Duration, seconds_of
from .errors import BadSetup, BatonpassError
from .raised import chain

Kind: TypeAlias = type[BaseException] | str
Kinds: TypeAlias = Kind | Sequence[Kind]
# The longest wait, in seconds, that an error may ask for. Longer ones can't be meant.
_LONGEST_TOLD = 86_400.0


class Exhausted(BatonpassError):
    """Raised by an adapter for an error that says that a run has used up a limit of its framework. Another attempt
    would have the whole limit again, which nobody has asked for unless the error is named in `on`."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """When and how a failed attempt is retried.

    - `attempts` is how many a hop has in all, including those that other errors ended.
    - `on` lists the errors to retry (default: all but LangGraph's GraphRecursionError) and `never` those not to. Give
      classes, or names as text if you don't want to import them: "openai.RateLimitError" is that class anywhere in the
      package, "RateLimitError" one of any package. Subclasses match too, and so does an error's cause, because
      frameworks wrap errors.
    - The wait is `first` seconds, multiplied by `factor` with each attempt, at most `longest`, and up to `jitter` of it
      shorter or longer. If the error itself says how long to wait (`retry_after`, a Retry-After header of its
      `response`, or a `RetryLater`), that wait is used instead.
    - `within` is how long after the hop's first failure an attempt may still start (None: no limit). The clock stops
      while the job waits for an answer, for children, or in line. A sleep (`ctx.sleep`) begins all counts anew.

    Times are seconds, or a timedelta.
    """

    attempts: int = 3
    on: Kinds = ()
    never: Kinds = ()
    first: Duration = 1.0
    longest: Duration = 60.0
    factor: float = 2.0
    jitter: float = 0.5
    within: Duration | None = None

    def __post_init__(self) -> None:
        if not is_count(self.attempts):
            raise BadSetup(f"retries={self.attempts!r}, but a hop needs at least 1 attempt (a whole number)")
        for name, value, least, most in (
            ("first", seconds_of(self.first), 0, 86_400),
            ("longest", seconds_of(self.longest), 0, 86_400),
            ("factor", self.factor, 1, 100),
            ("jitter", self.jitter, 0, 1),
            ("within", seconds_of(self.within), 0, math.inf),
        ):
            given: Any = value  # users without a type checker give anything
            is_number = isinstance(given, int | float) and not isinstance(given, bool)
            if given is not None and not (is_number and least <= given <= most):
                raise BadSetup(f"Retry({name}={given!r}): must be a number from {least:g} to {most:g}")
        for name, kinds in (("on", self.on), ("never", self.never)):
            listed: Any = kinds
            if not isinstance(listed, str | type | Sequence):
                raise BadSetup(f"Retry({name}={listed!r}): give an error class, its name, or a list of those")
        for kind in cast("Sequence[object]", (*_each(self.on), *_each(self.never))):
            if not isinstance(kind, str) and not (isinstance(kind, type) and issubclass(kind, BaseException)):
                raise BadSetup(
                    f"Retry: {kind!r} is not an error class: give one, or its name, like 'httpx.ReadTimeout'"
                )

    def concerns(self, error: BaseException) -> bool:
        """Whether this policy concerns the error."""
        return not _each(self.on) or _among(error, self.never) or _among(error, self.on)

    def refuses(self, error: BaseException) -> bool:
        """Whether the error is one that is never tried again."""
        return _among(error, self.never) or (_among(error, Exhausted) and not _among(error, self.on))

    def pause(self, attempt: int, error: BaseException) -> float:
        """How long to wait after this attempt, in seconds."""
        from random import uniform  # late, because importing this package must be quick

        asked = told_to_wait(error)
        if asked is not None:
            return asked * uniform(1, 1.1)  # not sooner, and not all at once
        pause = min(seconds_of(self.first) * self.factor ** min(attempt - 1, 64), seconds_of(self.longest))
        return pause * uniform(1 - self.jitter, 1 + self.jitter)


Retries: TypeAlias = int | Retry | Sequence[Retry]


def policies(retries: Retries) -> tuple[Retry, ...]:
    """What an agent declares, as policies in their order. A number is how many attempts a hop has."""
    if isinstance(retries, int):
        return (Retry(attempts=retries),)
    given: object = retries  # users without a type checker give anything
    found = (given,) if not isinstance(given, Sequence) else tuple(cast("Sequence[object]", given))
    if not found or not all(isinstance(each, Retry) for each in found):
        raise BadSetup(f"retries={retries!r}: give the number of attempts per hop, or one or more batonpass.Retry")
    return cast("tuple[Retry, ...]", found)


def policy_for(retries: Retries, error: BaseException) -> Retry | None:
    """The first policy that concerns an error. None if it is not retried at all."""
    found = next((each for each in policies(retries) if each.concerns(error)), None)
    return None if found is None or found.refuses(error) else found


def told_to_wait(error: BaseException) -> float | None:
    """For how many seconds an error, or one of its causes, asks to wait, if it does."""
    for each in chain(error):
        with suppress(Exception):  # what other people's errors have may raise when it is looked at
            response = getattr(each, "response", None)
            headers = getattr(response, "headers", None)
            for said in (getattr(each, "retry_after", None), _header(headers)):
                seconds = _seconds(said)
                if seconds is not None:
                    return seconds
    return None


def _header(headers: object) -> object:
    get = getattr(headers, "get", None)
    return (get("retry-after") or get("Retry-After")) if callable(get) else None


def _seconds(said: object) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    try:
        seconds = float(said)
    except ValueError:  # a date, by a clock that may differ from ours
        return None
    except OverflowError:  # hundreds of digits
        return _LONGEST_TOLD if cast("int", said) > 0 else None
    return min(seconds, _LONGEST_TOLD) if seconds >= 0 else None


def _among(error: BaseException, kinds: Kinds) -> bool:
    return any(_is(type(each), kind) for each in chain(error) for kind in _each(kinds))


def _is(raised: type[BaseException], kind: Kind) -> bool:
    if not isinstance(kind, str):
        return issubclass(raised, kind)
    package, _, name = kind.rpartition(".")
    return any(
        base.__qualname__ == name and (not package or f"{base.__module__}.".startswith(f"{package}."))
        for base in raised.__mro__
    )


def _each(kinds: Kinds) -> Sequence[Kind]:
    return (kinds,) if isinstance(kinds, str | type) else kinds
