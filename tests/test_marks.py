"""Which records go on to a later visit, and whose they are said to be."""

from __future__ import annotations

from typing import Any

from batonpass.coordinator.marks import carried

STEP, EFFECT, OUTCOME = "step/f:k", "effect/pay", "step/effect:pay"


def test_a_part_takes_along_what_it_recorded_or_found_and_nothing_else() -> None:
    journal = {STEP: [b"", 1], "mark/a " + STEP: "sure", "mark/b " + STEP: "sure", "step/g:k": [b"", 2], "x": 3}
    assert carried(journal, {"a", "c"}) == {STEP: [b"", 1], "mark/a " + STEP: "sure"}
    assert carried(journal, {"c"}) == {}


def test_what_is_perhaps_its_own_goes_along_and_is_said_to_be_so() -> None:
    journal = {STEP: [b"", 1], **{f"mark/{part} {STEP}": "perhaps" for part in "abc"}}
    left = carried(journal, {"a", "b"})
    assert left == {STEP: [b"", 1], "part/" + STEP: "a b"}
    assert carried(left, {"b"}) == {STEP: [b"", 1], "part/" + STEP: "b"}


def test_what_is_surely_of_one_of_them_is_not_left() -> None:
    journal = {STEP: [b"", 1], "mark/a " + STEP: "perhaps", "mark/b " + STEP: "sure"}
    assert carried(journal, {"a", "b"}) == journal


def test_records_of_older_releases_go_along() -> None:
    journal = {STEP: [b"", 1], "part/" + STEP: "a b", "part/step/g:k": "c", "step/g:k": [b"", 2]}
    assert carried(journal, {"a"}) == {STEP: [b"", 1], "part/" + STEP: "a"}


def test_the_outcome_that_a_redrive_told_goes_along_and_one_that_was_taken_back_does_not() -> None:
    journal: dict[str, Any] = {EFFECT: ["e", b"", False], "mark/a " + EFFECT: "sure", OUTCOME: [None, 1]}
    assert carried(journal, {"a"}) == journal
    assert OUTCOME not in carried({**journal, OUTCOME: None}, {"a"})


def test_spaces_in_a_key_are_the_keys() -> None:
    journal = {"step/my step:a b": [b"", 1], "mark/a step/my step:a b": "sure"}
    assert carried(journal, {"a"}) == journal
