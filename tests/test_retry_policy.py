"""Pure rules of retrying: which errors are retried, and how long it waits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.retry import policy_for, told_to_wait


class RateLimitError(Exception):
    """Like an error of a package's client."""

    def __init__(self, retry_after: Any = None) -> None:
        super().__init__("slow down")
        if retry_after is not None:
            self.retry_after = retry_after


RateLimitError.__module__ = "openai.errors.deep"


class Subclass(RateLimitError):
    """A kind of it."""


def wrapped(error: Exception) -> Exception:
    """An error the way a framework passes it on."""
    try:
        raise RuntimeError("it did not work") from error
    except RuntimeError as outer:
        return outer


def in_the_handling_of(error: Exception) -> Exception:
    """An error that was raised while another one was handled, with which it has nothing to do."""
    try:
        try:
            raise error
        except Exception:
            raise KeyError("x")  # noqa: B904
    except KeyError as other:
        return other


@pytest.mark.parametrize(
    ("kind", "error", "is_one"),
    [
        (RateLimitError, RateLimitError(), True),
        ("openai.RateLimitError", RateLimitError(), True),
        ("openai.errors.deep.RateLimitError", RateLimitError(), True),
        ("RateLimitError", RateLimitError(), True),
        ("openai.RateLimitError", Subclass(), True),
        ("open.RateLimitError", RateLimitError(), False),
        ("deep.RateLimitError", RateLimitError(), False),
        ("openai.RateLimit", RateLimitError(), False),
        ("OSError", ConnectionError(), True),
        ("builtins.TimeoutError", TimeoutError(), True),
        ("openai.RateLimitError", wrapped(RateLimitError()), True),
        ("openai.RateLimitError", wrapped(wrapped(RateLimitError())), True),
        ("openai.RateLimitError", ExceptionGroup("many", [KeyError(), wrapped(RateLimitError())]), True),
        ("openai.RateLimitError", in_the_handling_of(RateLimitError()), False),
    ],
)
def test_what_an_error_is(kind: Any, error: BaseException, is_one: bool) -> None:
    assert (policy_for(bp.Retry(on=kind), error) is not None) is is_one
    assert (policy_for(bp.Retry(never=[kind]), error) is None) is is_one


def test_the_first_policy_that_concerns_an_error_decides() -> None:
    limits = bp.Retry(on="openai.RateLimitError", attempts=9)
    rest = bp.Retry(never=ValueError)
    assert policy_for([limits, rest], RateLimitError()) is limits
    assert policy_for([limits, rest], OSError()) is rest
    assert policy_for([limits, rest], ValueError()) is None
    assert policy_for([limits], OSError()) is None
    assert policy_for(5, OSError()) == bp.Retry(attempts=5)


def test_a_chain_of_causes_that_bites_its_tail_ends() -> None:
    one, other = KeyError(), OSError()
    one.__cause__, other.__cause__ = other, one
    assert policy_for(bp.Retry(on=ValueError), one) is None


@pytest.mark.parametrize(("attempt", "shortest", "longest"), [(1, 0.5, 1.5), (2, 1, 3), (3, 2, 6), (2000, 30, 90)])
def test_the_backoff_doubles_up_to_a_minute_with_jitter(attempt: int, shortest: float, longest: float) -> None:
    pauses = [bp.Retry().pause(attempt, ValueError()) for _ in range(50)]
    assert all(shortest <= pause <= longest for pause in pauses)
    assert len(set(pauses)) > 10


def test_the_backoff_as_declared() -> None:
    policy = bp.Retry(first=2, factor=3, longest=50, jitter=0)
    assert [policy.pause(attempt, ValueError()) for attempt in range(1, 6)] == [2, 6, 18, 50, 50]


@dataclass
class Response:
    """Like httpx's."""

    headers: dict[str, str]


class StatusError(Exception):
    """As openai, anthropic and httpx raise it."""

    def __init__(self, **headers: str) -> None:
        super().__init__("429")
        self.response = Response({name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RateLimitError(7), 7),
        (RateLimitError("2.5"), 2.5),
        (RateLimitError(0), 0),
        (wrapped(RateLimitError(7)), 7),
        (StatusError(retry_after="20"), 20),
        (StatusError(retry_after="Wed, 21 Oct 2026 07:28:00 GMT"), None),
        (StatusError(), None),
        (bp.RetryLater(12), 12),
        (RateLimitError(1e12), 86_400),
        (RateLimitError(float("inf")), 86_400),
        (RateLimitError(float("nan")), None),
        (RateLimitError(-1), None),
        (RateLimitError(True), None),
        (RateLimitError(print), None),
        (ValueError(), None),
    ],
)
def test_how_long_an_error_asks_to_wait(error: Exception, told: float | None) -> None:
    assert told_to_wait(error) == told
    if told is not None:
        assert told <= bp.Retry(longest=1).pause(1, error) <= told * 1.1


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (lambda: bp.Retry(attempts=0), "retries=0, but a hop needs at least 1 attempt"),
        (lambda: bp.Retry(first=-1), r"Retry\(first=-1\): must be a number from 0 to 86400"),
        (lambda: bp.Retry(factor=0.5), r"Retry\(factor=0\.5\)"),
        (lambda: bp.Retry(jitter=1.5), r"Retry\(jitter=1\.5\)"),
        (lambda: bp.Retry(factor=timedelta(seconds=2)), r"Retry\(factor=.*must be a number"),  # type: ignore[arg-type]
        (lambda: bp.Retry(jitter="0.5"), r"Retry\(jitter='0\.5'\): must be a number"),  # type: ignore[arg-type]
        (lambda: bp.Retry(within=float("nan")), r"Retry\(within=nan\)"),
        (lambda: bp.Retry(on=(5,)), "5 is not an error class"),  # type: ignore[arg-type]
        (lambda: bp.Retry(never=dict), "is not an error class"),  # type: ignore[arg-type]
    ],
)
def test_bad_input(wrong: Callable[[], Any], says: str) -> None:
    with pytest.raises(bp.BadSetup, match=says):
        wrong()


@pytest.mark.parametrize("retries", [[], "3", [3], [bp.Retry(), None]])
def test_what_an_agent_can_not_declare(retries: Any) -> None:
    with pytest.raises(bp.BadSetup, match=r"agent 'a': retries=.*give the number of attempts"):
        bp.App("x").agent("a", accepts=bp.State, returns=bp.State, retries=retries)(print)
