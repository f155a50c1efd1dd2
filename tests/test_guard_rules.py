"""The guard's pure rules: which paths it lets pass, how it shows them, and what may be spent."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import batonpass as bp
from batonpass.contracts.guard import rounds, shown
from batonpass.contracts.handoff import Envelope
from batonpass.coordinator.blobs import open_envelope, seal_blob, seal_envelope

UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # the machine may be busy
# Few agents, so that loops are common, and some paths that are loops on purpose.
_WORDS = st.lists(st.sampled_from("abc"), max_size=12)
PATHS = st.one_of(
    st.lists(st.sampled_from("abc"), max_size=30),
    st.builds(lambda head, loop, times, tail: head + loop * times + tail, _WORDS, _WORDS, st.integers(0, 8), _WORDS),
)


def oracle(path: Sequence[str], repeats: int) -> bool:
    """Whether the path ends with more than `repeats` copies of something, found by trying all."""
    return any(
        list(path[len(path) - len(loop) * (repeats + 1) :]) == loop * (repeats + 1)
        for period in range(1, len(path) + 1)
        if len(loop := list(path[-period:])) * (repeats + 1) <= len(path)
    )


@UNHURRIED
@given(PATHS, st.integers(1, 6))
def test_a_loop_is_found_as_by_trying_all(path: list[str], repeats: int) -> None:
    times = rounds(path, repeats)
    assert bool(times) is oracle(path, repeats)
    if times:
        assert oracle(path, times - 1)
        assert times > repeats


@UNHURRIED
@given(PATHS)
def test_what_is_shown_says_the_whole_path(path: list[str]) -> None:
    """Unfolded again, it is the path, or the end of a long path."""
    unfolded: list[str] = []
    for part in re.findall(r"\([^)]*\) x\d+|\w+ x\d+|\w+", shown(path)):
        loop, _, times = part.partition(" x")
        unfolded += loop.strip("()").split(" -> ") * int(times or 1)
    assert unfolded == path[-100:]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("t", "t"),
        ("tdrdrdr", "t -> (d -> r) x3"),
        ("aaaab", "a x4 -> b"),
        ("abcabcabcd", "(a -> b -> c) x3 -> d"),
        ("aabaab", "(a -> a -> b) x2"),
        ("abc", "a -> b -> c"),
        ("ab" * 100, "... -> (a -> b) x50"),
    ],
)
def test_how_a_path_is_shown(path: str, text: str) -> None:
    assert shown(path) == text


@pytest.mark.parametrize(
    ("guard", "path", "says"),
    [
        (bp.Guard(), "dr" * 5, ""),
        (bp.Guard(), "t" + "dr" * 6, "6 rounds in a row are more than repeats=5: t -> (d -> r) x6"),
        (bp.Guard(), "dr" * 3 + "p" + "dr" * 3, ""),
        (bp.Guard(repeats=1), "aa", "2 rounds in a row are more than repeats=1: a x2"),
        (bp.Guard(repeats=2), "abcdabcdabc", ""),
        (bp.Guard(repeats=2), "abcdabcdabcd", "3 rounds in a row are more than repeats=2: (a -> b -> c -> d) x3"),
        (bp.Guard(hops=3), "abc", ""),
        (bp.Guard(hops=3), "abca", "4 hops are more than hops=3: a -> b -> c -> a"),
    ],
)
def test_which_paths_go_on(guard: bp.Guard, path: str, says: str) -> None:
    assert guard.against(path) == says


@pytest.mark.parametrize(
    ("guard", "spent", "says"),
    [
        (bp.Guard(), bp.Spent(10**9, 1e9), ""),
        (bp.Guard(tokens=10), bp.Spent(10), ""),
        (bp.Guard(tokens=10), bp.Spent(11), "tokens spent: 11 of 10"),
        (bp.Guard(tokens=0), bp.Spent(1), "tokens spent: 1 of 0"),
        (bp.Guard(cost=0.5), bp.Spent(cost=0.75), "cost spent: 0.75 of 0.5"),
        (bp.Guard(cost=0.3), bp.Spent(cost=0.1 + 0.1 + 0.1), ""),  # which is 0.30000000000000004
        (bp.Guard(cost=0.3), bp.Spent(cost=0.3001), "cost spent: 0.3001 of 0.3"),
        (bp.Guard(cost=0), bp.Spent(cost=1e-12), "cost spent: 1e-12 of 0"),
        (bp.Guard(tokens=10**12), bp.Spent(10**12 + 1), f"tokens spent: {10**12 + 1} of {10**12}"),
    ],
)
def test_what_may_be_spent(guard: bp.Guard, spent: bp.Spent, says: str) -> None:
    assert guard.over(spent) == says


@pytest.mark.parametrize(
    "envelope",
    [
        {},
        {"guard": bp.Guard(hops=3, tokens=5)},
        {"spent": bp.Spent(3, 0.5)},
        {"guard": bp.Guard(cost=0.5), "spent": bp.Spent(1), "transcript": {"messages": []}},
        {"transcript": {"messages": []}},
    ],
)
def test_it_travels_in_the_envelope(envelope: dict[str, Any]) -> None:
    sent = Envelope(contract=bp.ContractRef("a", 1), payload=b"j{}", path=("a",), **envelope)
    assert open_envelope(seal_envelope(sent), of="it") == sent


@pytest.mark.parametrize("transcript", [[], [{"messages": []}]])
def test_an_envelope_from_before_there_were_guards_has_the_default(transcript: list[Any]) -> None:
    old = seal_blob(["a", 1, b"j{}", ["a"], None, None, {}, *transcript], path="envelope")
    opened = open_envelope(old, of="it")
    assert (opened.guard, opened.spent) == (bp.Guard(), bp.Spent())
    assert opened.transcript == (transcript[0] if transcript else None)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bp.Guard(hops=0),
        lambda: bp.Guard(repeats=-1),
        lambda: bp.Guard(tokens=1.5),  # type: ignore[arg-type]
        lambda: bp.Guard(hops=None),  # type: ignore[arg-type]
        lambda: bp.Guard(cost=float("nan")),
        lambda: bp.Guard(cost=10**400),
        lambda: bp.Guard(cost="1"),  # type: ignore[arg-type]
        lambda: bp.Guard(tokens=True),
    ],
)
def test_bad_input(wrong: Callable[[], bp.Guard]) -> None:
    with pytest.raises(bp.BadSetup, match=r"Guard\(\w+=.*\): must be a (whole )?number of at least"):
        wrong()


def test_one_that_pydantic_made_names_all_its_limits() -> None:
    """It does not call a dataclass's constructor."""
    made = TypeAdapter(bp.Guard).validate_python({"repeats": 10})
    assert made.onto(bp.Guard(hops=3, cost=1.0)) == bp.Guard(repeats=10)
