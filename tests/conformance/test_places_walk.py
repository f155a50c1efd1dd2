"""Walking from a place to those that it came from."""

from __future__ import annotations

from batonpass.coordinator import commands as c
from batonpass.coordinator.rows import Place, Write
from batonpass.coordinator.snapshots import open_checkpoint
from tests.harness.bench import MINUTE, Bench, commit_of, new_checkpoint
from tests.harness.places import Places, first_part, large


def walked(bench: Bench, key: str, scope: str = "", limit: int = 100) -> list[str]:
    return [row.place.key for row in bench.do(c.Walk("run", scope, key, limit))]


def test_from_parent_to_parent(bench: Bench) -> None:
    run = Places(bench)
    run.line("a", "b", "c", run="r")
    run.put("d", "b")
    rows = bench.do(c.Walk("run", "", "d"))
    assert [row.place for row in rows] == [Place("", "d"), Place("", "b", "r"), Place("", "a", "r")]
    assert [open_checkpoint(row.checkpoint).state for row in rows] == ["d", "b", "a"]
    assert (walked(bench, "c"), walked(bench, "a")) == (["c", "b", "a"], ["a"])


def test_a_page_at_a_time(bench: Bench) -> None:
    run = Places(bench)
    keys = [f"{number:02}" for number in range(20)]
    run.line(*keys, scope="s")
    for limit in (1, 3, 20, 50):
        found = walked(bench, keys[-1], "s", limit)
        while len(found) < len(keys):
            found += walked(bench, keys[-1 - len(found)], "s", limit)
        assert found == keys[::-1]


def test_it_ends_at_a_checkpoint(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c", "d")
    for at, (key, end) in enumerate(zip("abcd", ids, strict=True)):
        assert [row.place.key for row in bench.do(c.Walk("run", "", "d", until=end))] == list("dcba")[: 4 - at], key
    aside = run.put("e", "a")
    assert [row.place.key for row in bench.do(c.Walk("run", "", "d", until=aside))] == ["d", "c", "b", "a"]
    assert [row.place.key for row in bench.do(c.Walk("run", "", "d", limit=2, until=ids[0]))] == ["d", "c"]


def test_what_is_not_there_ends_it(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c", "d")
    bench.do(c.Expire(ids[1]))
    assert walked(bench, "d") == ["d", "c"]
    assert (walked(bench, "b"), walked(bench, "e"), walked(bench, ""), walked(bench, "d", "s")) == ([], [], [], [])


def test_so_does_one_whose_time_is_over(bench: Bench) -> None:
    run = Places(bench)
    run.put("a")
    run.put("b", "a", ttl=MINUTE)
    run.put("c", "b")
    bench.clock.advance(MINUTE)
    assert (walked(bench, "c"), walked(bench, "b")) == (["c"], [])


def test_it_stays_in_the_thread_and_at_places(bench: Bench) -> None:
    run = Places(bench)
    other = Places(bench, "other").put("a")
    new = run.new("b")
    bench.do(c.Import("run", 0, [new], [other]))
    assert walked(bench, "b") == ["b"]
    plain = new_checkpoint(thread="run")
    bench.do(c.Save("run", plain))
    placed = run.new("c")
    bench.do(c.Save("run", placed))
    assert commit_of(bench.do(c.Restore(placed.id))).parent == plain.id
    assert walked(bench, "c") == ["c"]


def test_with_state_and_writes_but_without_logs(bench: Bench) -> None:
    run = Places(bench)
    new = run.new("a", large("a"))
    bench.do(c.Put(new))
    spans, _ = first_part(new)
    run.write("a", Write("x", b"1", spans), Write("y", b"2"))
    run.put("b", "a", state="small")
    small, whole = bench.do(c.Walk("run", "", "b"))
    assert open_checkpoint(small.checkpoint).state == "small"
    assert whole.checkpoint.state == bench.do(c.Restore(new.id)).state
    assert tuple(whole.checkpoint.bodies) == ()
    assert sorted(whole.writes, key=lambda write: write.name) == [Write("x", b"1", spans), Write("y", b"2")]


def test_an_answer_has_a_size(bench: Bench) -> None:
    run = Places(bench)
    run.put("0", state="x" * 900)
    for number in range(1, 9):
        run.write(f"{number - 1}", Write("large", b"w" * 20_000))
        run.put(f"{number}", f"{number - 1}", state="x" * 900)
    assert walked(bench, "8") == ["8", "7", "6", "5", "4"]


def test_a_damaged_one_does_not_hide_what_came_after(bench: Bench) -> None:
    run = Places(bench)
    ids = run.line("a", "b", "c", "d")
    with bench.harness.tampered(ids[1], "header", lambda data: b"?" + data[1:]):
        assert walked(bench, "d") == ["d", "c", "b", "a"]
    with bench.harness.tampered(ids[1], "commit", lambda line: b"\xff " + line[1:]):
        assert walked(bench, "d") == ["d", "c"]
        assert walked(bench, "b") == ["b"]
