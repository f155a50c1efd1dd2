"""Ids and digests, of which a store's keys are made."""

from __future__ import annotations

import threading
import time
from collections import Counter
from itertools import combinations
from multiprocessing import get_context
from multiprocessing.queues import SimpleQueue

import pytest

from batonpass.contracts.names import MAX_PARTITIONS, digest, home, is_id, mint, mint_some, minted_at, partition_of

ALPHABET = set("0123456789abcdefghjkmnpqrstvwxyz")


@pytest.mark.parametrize("kind", ["j", "c", "l"])
def test_an_id_has_its_form(kind: str) -> None:
    for _ in range(200):
        minted = mint(kind)
        assert (len(minted), minted[0], set(minted[1:]) <= ALPHABET) == (24, kind, True)
        assert is_id(minted, kind)
        assert not any(is_id(minted, other) for other in {"j", "c", "l"} - {kind})


def test_some_ids_minted_at_once_are_ids_like_others() -> None:
    some = mint_some("l", 500)
    assert len({*some, mint("l")}) == 501
    assert all(is_id(each, "l") and partition_of(each) == 0 for each in some)
    assert some[0][:12] <= mint("l")[:12]  # the time: neighbours in an index


def test_an_id_says_when_it_was_minted() -> None:
    before = time.time_ns() // 1_000_000
    assert before <= minted_at(mint("j", 7)) <= time.time_ns() // 1_000_000


@pytest.mark.parametrize("partition", [0, 1, 31, 32, 500, MAX_PARTITIONS - 1])
def test_an_id_carries_its_partition(partition: int) -> None:
    assert partition_of(mint("j", partition)) == partition
    assert is_id(mint("j", partition), "j")


def test_an_id_may_live_anywhere() -> None:
    found = Counter(partition_of(mint("j", None)) % 16 for _ in range(1600))
    assert len(found) == 16
    assert max(found.values()) < 200
    assert max(partition_of(mint("j", None)) for _ in range(2000)) > MAX_PARTITIONS / 2


def test_threads_have_a_home() -> None:
    """By their name, or in the id that names them; the same in every process."""
    found = Counter(home(f"thread {n}") % 16 for n in range(1600))
    assert len(found) == 16
    assert max(found.values()) < 200
    assert [home(name) for name in ("run", "", "é", "j" * 24)] == [home(name) for name in ("run", "", "é", "j" * 24)]
    assert home("run") == 551, "stored data lies there"
    assert {home(mint("j", partition)) for partition in (0, 5, 1023)} == {0, 5, 1023}
    assert home(mint("c", 5)) != 5 or home(mint("c", 6)) != 6, "only jobs' ids name threads"


def test_ids_do_not_repeat() -> None:
    found: list[str] = []
    threads = [threading.Thread(target=lambda: found.extend(mint("j") for _ in range(5000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 20_000


def test_the_child_of_a_fork_mints_ids_of_its_own() -> None:
    mint("j")  # random digits for the next ones are at hand
    context = get_context("fork")
    theirs: SimpleQueue[list[str]] = context.SimpleQueue()
    child = context.Process(target=lambda: theirs.put([mint("j")[-12:] for _ in range(200)]))
    child.start()
    here = {mint("j")[-12:] for _ in range(200)}
    assert here.isdisjoint(theirs.get())
    child.join()


def test_later_ids_sort_later() -> None:
    """The time in them keeps neighbours together in an index."""
    first = mint("j")
    minted_at = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 <= minted_at:
        pass
    assert first < mint("j")


@pytest.mark.parametrize(
    "text",
    ["", "j", "run-001", "j" * 23, "j" * 25, "J" * 24, "j" + "u" * 23, "j" + "i" * 23, "j" * 24 + "\n", "j" + " " * 23,
     "j" + "é" * 23, "\0" * 24, "j" + "٣" * 23],
)  # fmt: skip
def test_other_texts_are_no_ids(text: str) -> None:
    assert not is_id(text, "j")


def test_a_digest_is_safe_in_a_key() -> None:
    for text in ("", "x", "{a}:b", "\0\n", "💥", "x" * 100_000, "\ud800"):
        assert len(digest(text)) == 32
        assert set(digest(text)) <= ALPHABET
        assert digest(text) == digest(text)


def test_different_texts_have_different_digests() -> None:
    texts = [
        ("a", "bc"),
        ("ab", "c"),
        ("abc",),
        ("abc", ""),
        ("", "abc"),
        ("a", "b", "c"),
        (),
        ("",),
        ("", ""),
        ("A", "bc"),
    ]
    texts += [("a\0", "bc"), ("a", "\0bc"), ("é",), ("e\u0301",), ("\x00\x00\x00\x00\x00\x00\x00\x01a",), ("a",)]
    for one, other in combinations(texts, 2):
        assert digest(*one) != digest(*other)
