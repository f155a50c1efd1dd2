"""The command line's commands about dead letters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..workers.serving import serving
from .commandline import CommandLine


class Order(bp.Contract, name="dead.order"):
    text: str


class Bill(bp.Contract, name="dead.bill"):
    text: str


app = bp.App("dead letters")


@app.agent("bill", accepts=Order, returns=Bill, retries=1)
def bill(order: Order, ctx: bp.SyncContext) -> Bill:
    words = ctx.step("read", str.split, order.text.upper())
    if "BAD" in words:
        raise ValueError("no bad orders")
    if "UNSURE" in words:
        raise bp.Ambiguous("who knows")
    return Bill(text=" ".join(words))


@app.agent("order", accepts=Order, hands_to={"bill": Order})
def order(order: Order, ctx: bp.SyncContext) -> bp.Handoff[Order]:
    return ctx.hand_off("bill", order)


@app.agent("orders", accepts=Order, returns=Bill, hands_to={"bill": Order})
def orders(order: Order, ctx: bp.SyncContext) -> Bill:
    [only] = ctx.fan_out([bp.Handoff("bill", order)])
    return Bill(text=only.text)


@app.agent("any order", accepts=Order, returns=Bill, hands_to={"bill": Order}, retries=1)
def any_order(order: Order, ctx: bp.SyncContext) -> Bill:
    [only] = ctx.fan_out([bp.Handoff("bill", order)], failures=1)
    if "noted" in order.text:
        ctx.step("note", lambda: None)
    if "broken" in order.text:
        raise ValueError("broken")
    return Bill(text=only.reason)


@app.agent("all orders", accepts=Order, returns=Bill, hands_to={"orders": Order})
def all_orders(order: Order, ctx: bp.SyncContext) -> Bill:
    [only] = ctx.fan_out([bp.Handoff("orders", order)])
    return Bill(text=only.text)


@app.agent("any orders", accepts=Order, returns=Bill, hands_to={"orders": Order})
def any_orders(order: Order, ctx: bp.SyncContext) -> Bill:
    [only] = ctx.fan_out([bp.Handoff("orders", order)], failures=1)
    return Bill(text=only.reason)


@app.agent("pay", accepts=Order, returns=Bill, retries=1)
def pay(order: Order, ctx: bp.SyncContext) -> Bill:
    def lost() -> str:
        raise ConnectionError("the reply was lost")

    return Bill(text=ctx.effect("pay", lost))


@pytest.fixture
def run(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    with bp.connect(store_url, app=app) as coordinator:
        coordinator.declare(app)
    return CommandLine(store_url, capsys, monkeypatch)


@contextmanager
def working(url: str) -> Iterator[None]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app, url)):
        yield


@pytest.fixture
def dead(run: CommandLine) -> list[str]:
    """Three jobs that failed, the last one first."""
    jobs: list[str] = []
    with working(run.url):
        for _ in range(3):
            assert run("submit", "bill", '{"text": "bad"}', "--wait").code == 1
            jobs.insert(0, run("jobs", "--limit", "1", "--json").json[0]["id"])
    return jobs


def listed(run: CommandLine, *options: str) -> list[str]:
    return [job["id"] for job in run("dead-letters", "--json", *options).json]


def test_lists(run: CommandLine, dead: list[str]) -> None:
    assert listed(run) == dead
    assert listed(run, "--limit", "2") == dead[:2]
    assert listed(run, "--before", dead[1]) == dead[2:]
    assert [job["id"] for job in run("jobs", "--before", dead[0], "--limit", "1", "--json").json] == dead[1:2]
    assert listed(run, "--reason", "attempts", "--agent", "bill") == dead
    assert listed(run, "--reason", "poison") == []
    [heading, first, *_] = run("dead-letters").out.splitlines()
    assert heading.split() == ["JOB", "REASON", "AGENT", "HOP", "FAILED", "ERROR"]
    assert first.split()[:4] == [dead[0], "attempts", "bill", "0"]
    assert run("delete", dead[0]).code == 0
    assert listed(run) == dead[1:]


def test_a_mistyped_filter_is_noticed(run: CommandLine) -> None:
    """An empty list would be taken for good news."""
    for command in (("dead-letters",), ("redrive", "--all")):
        refused = run(*command, "--reason", "ambigous")
        assert (refused.code, refused.out) == (2, "")
        assert "'ambigous' is not one of" in refused.err
        assert "'ambiguous'" in refused.err
    for command in (("dead-letters",), ("redrive", "--all"), ("jobs",), ("inbox",)):
        told = run(*command, "--agent", "bil")
        assert (told.code, told.err.count("\n")) == (int("--all" in command), 1)
        assert "there is no agent 'bil': those declared are all orders, any order, any orders, bill, order" in told.err
        assert run(*command, "--agent", "bill").err == ""


def test_show_tells_what_went_wrong_and_where_it_would_go_on(run: CommandLine, dead: list[str]) -> None:
    told = run("show", dead[0]).out
    with bp.connect(run.url) as coordinator:
        tip = coordinator.job(dead[0]).info().checkpoint_id
    shown = dict(re.findall(r"^(\w+) +(.+)$", told, re.MULTILINE))
    assert (shown["state"], shown["reason"], shown["attempt"], shown["path"]) == ("failed", "attempts", "1", "bill")
    assert re.fullmatch(r"ValueError: no bad orders \(tests/cli/test_dead.py:\d+ in \w+\)", shown["error"])
    assert (shown["checkpoint_id"], told.count('"text": "bad"')) == (tip, 1)


def test_children_are_left_to_their_parents(run: CommandLine) -> None:
    """A parent that is redriven has them retried."""
    with working(run.url):
        assert run("submit", "orders", '{"text": "bad"}', "--wait").code == 1
        letters = {job["agent"]: job["id"] for job in run("dead-letters", "--json").json}
        child, parent = letters["bill"], letters["orders"]
        assert run("redrive", "--all").out.splitlines() == [
            f"redriven {parent}",
            f"left {child} to its parent, {parent}",
        ]
        with bp.connect(run.url) as coordinator, pytest.raises(bp.JobFailed):
            coordinator.job(parent).result(timeout=30)
        assert run("redrive", child, "--payload", '{"text": "good"}', "--set", 'read=["GOOD"]').code == 0
        with bp.connect(run.url, app=app) as coordinator:
            assert coordinator.job(child, returns=Bill).result(timeout=30) == Bill(text="GOOD")


def test_a_child_that_only_a_person_can_judge_comes_before_its_parent(run: CommandLine) -> None:
    """The parent would not have it retried, and fail again."""
    with working(run.url):
        assert run("submit", "orders", '{"text": "unsure"}', "--wait").code == 1
        letters = {job["agent"]: job["id"] for job in run("dead-letters", "--json").json}
        child, parent = letters["bill"], letters["orders"]
        assert run("redrive", "--all", "--json").json == {
            "redriven": [child],
            "left": {},
            "not_asked_for": {},
            "waits": {parent: child},
        }
        with bp.connect(run.url) as coordinator, pytest.raises(bp.JobFailed):
            coordinator.job(child).result(timeout=30)
        told = run("redrive", "--all").out.splitlines()
        assert told == [f"redriven {child}", f"left {parent} until {child} has completed"]


def test_so_do_the_parents_of_its_parent(run: CommandLine) -> None:
    with working(run.url):
        assert run("submit", "all orders", '{"text": "unsure"}', "--wait").code == 1
        letters = {job["agent"]: job["id"] for job in run("dead-letters", "--json").json}
        child = letters.pop("bill")
        told = run("redrive", "--all", "--json").json
        assert told == {
            "redriven": [child],
            "left": {},
            "not_asked_for": {},
            "waits": dict.fromkeys(letters.values(), child),
        }


@pytest.mark.parametrize("narrow", [["--reason", "children"], ["--agent", "orders"]])
def test_its_parent_waits_although_only_parents_are_redriven(run: CommandLine, narrow: list[str]) -> None:
    with working(run.url):
        assert run("submit", "orders", '{"text": "unsure"}', "--wait").code == 1
        letters = {job["agent"]: job["id"] for job in run("dead-letters", "--json").json}
        told = run("redrive", "--all", *narrow, "--json").json
        assert told == {"redriven": [], "left": {}, "not_asked_for": {}, "waits": {letters["orders"]: letters["bill"]}}


def test_an_unsure_child_below_a_parent_that_nobody_waits_for_is_left(run: CommandLine) -> None:
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        top = coordinator.submit("any orders", Order(text="unsure"), returns=Bill)
        assert top.result(timeout=30) == Bill(text="children")
        letters = {job["agent"]: job["id"] for job in run("dead-letters", "--json").json}
        told = run("redrive", "--all", "--json").json
        assert told == {
            "redriven": [],
            "left": {letters["bill"]: letters["orders"]},
            "not_asked_for": {letters["orders"]: top.id},
            "waits": {},
        }


def not_asked_for(child: str, parent: str) -> str:
    """What is told of a child that no redrive of its parent has go on."""
    return (
        f"left {child}, for which its parent, {parent}, does not ask any more: `batonpass redrive {child}` runs it "
        f"alone, `batonpass delete {child}` drops it\n"
    )


def test_a_child_whose_parent_failed_after_it_had_gone_on_is_left(run: CommandLine) -> None:
    """It was left to its parent for ever, which never had it go on."""
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        parent = coordinator.submit("any order", Order(text="bad noted broken"), returns=Bill)
        with pytest.raises(bp.JobFailed, match="broken"):
            parent.result(timeout=30)
        [child] = [job for job in listed(run) if job != parent.id]
        assert run("redrive", "--all").out == f"redriven {parent.id}\n" + not_asked_for(child, parent.id)
        with pytest.raises(bp.JobFailed, match="broken"):
            parent.result(timeout=30)
        told = run("redrive", "--all", "--json").json
        assert told == {"redriven": [parent.id], "left": {}, "not_asked_for": {child: parent.id}, "waits": {}}


def test_it_goes_on_if_that_is_said(run: CommandLine) -> None:
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        parent = coordinator.submit("any order", Order(text="bad noted broken"), returns=Bill)
        with pytest.raises(bp.JobFailed, match="broken"):
            parent.result(timeout=30)
        [child] = [coordinator.job(job) for job in listed(run) if job != parent.id]
        before = child.info().updated_at
        for others in (["--all"], [parent.id, child.id]):
            assert "one job at a time" in run("redrive", *others, "--lost-children").complaint
        assert "has lost no children" in run("redrive", child.id, "--lost-children").complaint
        plain = run("redrive", parent.id)
        assert (plain.code, plain.out) == (0, f"redriven {parent.id}\n")
        assert plain.err == f"{parent.id} goes on without a child that it lost: --lost-children has them go on, too\n"
        with pytest.raises(bp.JobFailed, match="broken"):
            parent.result(timeout=30)
        assert child.info().updated_at == before
        assert run("redrive", parent.id, "--lost-children").out == f"redriven {parent.id}\n"
        with pytest.raises(bp.JobFailed, match="broken"):
            parent.result(timeout=30)
        assert child.info().updated_at > before
        assert listed(run) == [parent.id, child.id]


def test_a_child_whose_parent_failed_over_it_is_left_to_it(run: CommandLine) -> None:
    """Also if the parent collects failures. One that it can do without need not be settled before."""
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        for text in ("bad broken", "unsure broken"):
            parent = coordinator.submit("any order", Order(text=text), returns=Bill)
            with pytest.raises(bp.JobFailed, match="broken"):
                parent.result(timeout=30)
            [child] = [job for job in listed(run) if job != parent.id]
            told = run("redrive", "--all").out
            assert told == f"redriven {parent.id}\nleft {child} to its parent, {parent.id}\n"
            with pytest.raises(bp.JobFailed, match="broken"):
                parent.result(timeout=30)
            for job in (child, parent.id):
                coordinator.delete_job(job)


def test_a_child_without_which_its_parent_completed_is_left(run: CommandLine) -> None:
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        parent = coordinator.submit("any order", Order(text="bad"), returns=Bill)
        assert parent.result(timeout=30) == Bill(text="attempts")
        [left] = listed(run)
        assert run("redrive", "--all").out == not_asked_for(left, parent.id)


def test_a_child_that_nobody_waits_for_is_left(run: CommandLine) -> None:
    """Its parent was deleted."""
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        parent = coordinator.submit("orders", Order(text="bad"))
        with pytest.raises(bp.JobFailed):
            parent.result(timeout=30)
        coordinator.delete_job(parent.id)
        [left] = [job["id"] for job in run("dead-letters", "--json").json]
        assert run("redrive", "--all").out == not_asked_for(left, parent.id)


@pytest.mark.parametrize("edits", [['read=["GOOD"]'], ['read[0]="GO"', "state['read'][0]=\"GOOD\""]])
def test_redrive_one_with_a_state_that_was_mended(run: CommandLine, dead: list[str], edits: list[str]) -> None:
    chosen = [part for edit in edits for part in ("--set", edit)]
    assert run("redrive", dead[1], *chosen).out == f"redriven {dead[1]}\n"
    assert listed(run) == [dead[0], dead[2]]
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        assert coordinator.job(dead[1], returns=Bill).result(timeout=30) == Bill(text="GOOD")


@pytest.mark.parametrize("option", ["--add", "--set"])
def test_redrive_one_and_tell_what_became_of_its_effect(run: CommandLine, option: str) -> None:
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        assert run("submit", "pay", '{"text": "it"}', "--wait").code == 1
        [job] = listed(run, "--reason", "ambiguous")
        assert run("redrive", job, option, 'effect:pay="paid"').out == f"redriven {job}\n"
        assert coordinator.job(job, returns=Bill).result(timeout=30) == Bill(text="paid")


def test_redrive_one_whose_effect_has_not_happened(run: CommandLine) -> None:
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        assert run("submit", "pay", '{"text": "it"}', "--wait").code == 1
        [job] = listed(run, "--reason", "ambiguous")
        assert "has not started 'effect:py'" in run("redrive", job, "--not-done", "py").complaint
        assert run("redrive", job, "--not-done", "pay").out == f"redriven {job}\n"
        with pytest.raises(bp.JobFailed, match="the reply was lost"):  # again
            coordinator.job(job).result(timeout=30)


def test_a_change_that_leads_nowhere_redrives_nothing(run: CommandLine, dead: list[str]) -> None:
    assert "a list of 1 has no 7" in run("redrive", dead[1], "--set", 'read[7]="GOOD"').complaint
    assert "has nothing at 'nothing'" in run("redrive", dead[1], "--set", 'nothing.text="GOOD"').complaint
    assert listed(run) == dead
    job = run("submit", "order", '{"text": "bad"}', "--guard", '{"hops": 1}').out.strip()
    assert "is submitted: only a failed job" in run("redrive", job, "--add", "a=1").complaint


def test_redrive_one_with_another_payload(run: CommandLine, dead: list[str]) -> None:
    with bp.connect(run.url, app=app) as coordinator:
        coordinator.redrive(dead[0])
        assert coordinator.job(dead[0]).cancel()
    assert "only a failed job" in run("redrive", dead[0]).complaint
    assert "not a valid" in run("redrive", dead[1], "--payload", '{"text": 5}').complaint
    assert listed(run) == dead[1:]


def test_redrive_all(run: CommandLine, dead: list[str]) -> None:
    assert run("redrive", "--all", "--reason", "poison").out == "there are no such dead letters\n"
    told = run("redrive", "--all", "--agent", "bill", "--json").json
    assert told == {"redriven": dead[::-1], "left": {}, "not_asked_for": {}, "waits": {}}  # the oldest first
    assert listed(run) == []


def test_a_thread_that_is_busy_keeps_no_others_back(run: CommandLine) -> None:
    with start_blocking_portal() as portal, bp.connect(run.url, app=app) as coordinator:
        with portal.wrap_async_context_manager(serving(app, run.url)):
            for thread in ("shared", "shared", "other"):
                job = coordinator.submit("bill", Order(text="bad"), thread=thread)
                with pytest.raises(bp.JobFailed):
                    job.result(timeout=30)
        other, second, first = (info.id for info in coordinator.dead_letters())
    assert run("redrive", "--all", "--json").json == {
        "redriven": [first, other],
        "left": {},
        "not_asked_for": {},
        "waits": {second: first},
    }
    assert run("redrive", "--all").out == f"left {second} until {first} has ended, which runs on its thread\n"
    busy = run("redrive", second, "--json")
    assert (busy.code, busy.json["job_id"]) == (2, first)


def test_a_job_that_its_guard_parked_goes_on_with_another_guard(run: CommandLine) -> None:
    job = run("submit", "order", '{"text": "good"}', "--guard", '{"hops": 1, "cost": 2}').out.strip()
    with working(run.url), bp.connect(run.url, app=app) as coordinator:
        with pytest.raises(bp.JobFailed):
            coordinator.job(job).result(timeout=30)
        [letter] = run("dead-letters", "--reason", "chain_guard", "--json").json
        assert "2 hops are more than hops=1: order -> bill" in letter["error"]
        assert letter["guard"]["hops"] == 1
        run("redrive", job, "--guard", '{"hops": 2}')
        assert coordinator.job(job, returns=Bill).result(timeout=30) == Bill(text="GOOD")
    assert "hops 2, repeats 5, cost 2" in run("show", job).out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["j", "--guard", '{"hop": 1}'], "write a JSON object with some of hops, repeats, tokens, cost"),
        (["j", "--guard", "5"], "write a JSON object with some of"),
        (["j", "--guard", '{"hops": 0}'], "Guard(hops=0): must be a whole number of at least 1"),
        ([], "takes the ids of jobs, or --all"),
        (["j", "--all"], "takes the ids of jobs, or --all"),
        (["j", "--agent", "a"], "takes the ids of jobs, or --all"),
        (["--all", "--payload", "{}"], "one job at a time"),
        (["j", "k", "--set", "a=1"], "one job at a time"),
        (["j"], "is not a job id"),
    ],
)
def test_bad_input(run: CommandLine, arguments: list[str], says: str) -> None:
    assert says in run("redrive", *arguments).complaint
