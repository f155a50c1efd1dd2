"""`batonpass check`: what a new release of an app would do with what is in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal

import batonpass as bp

from ..harness.waiting import wait_until
from ..workers.serving import serving
from .commandline import CommandLine, Ran, kept


class Order(bp.Contract, name="check.order"):
    text: str


class Next(bp.Contract, name="check.order", version=2):
    text: str
    amount: int


class Wider(bp.Contract, name="check.order"):
    text: str
    amount: int = 0


class Bill(bp.Contract, name="check.bill"):
    text: str = ""


def release(accepts: type[bp.Contract], agent: str = "bill", **options: Any) -> bp.App:
    app = bp.App("shop")

    @app.agent(agent, accepts=accepts, returns=Bill, retries=1, **options)
    async def bill(order: Any, ctx: bp.Context) -> Bill:
        await ctx.step("read", str.upper, order.text)
        if order.text == "bad":
            raise ValueError("no")
        return Bill(text=await ctx.ask("how much?"))

    return app


def upcasting(amount: Any) -> bp.App:
    app = release(Next)
    app.upcast(Next, from_version=1)(lambda values: {**values, "amount": amount})
    return app


def migrating(read: Callable[[Any], Any]) -> bp.App:
    app = release(Order, state_version=2)
    app.migration("bill", from_version=1)(read)
    return app


def handing(contract: type[bp.Contract], to: str) -> bp.App:
    app = bp.App("office")
    app.agent("desk", accepts=Order, hands_to={to: contract})(lambda order: bp.Handoff(to, order))
    return app


now, later = release(Order), release(Next)
reads, misreads = upcasting(5), upcasting("many")
migrates, forgets, fails = migrating(dict), release(Order, state_version=2), migrating(lambda state: state["gone"])
returns_nothing = migrating(lambda state: None)
wider, renamed, bills = release(Wider), release(Order, agent="invoice"), release(Bill)
hands, hands_newer, hands_other, hands_nobody = (
    handing(contract, to) for contract, to in ((Order, "bill"), (Next, "bill"), (Bill, "bill"), (Order, "nobody"))
)
falls_back, inside = release(Order, agent="desk", fallback="nobody"), handing(Order, "bill")
inside.agent("bill", accepts=Next, returns=Bill)(lambda order: Bill())


UPCAST = " (@app.upcast(Next, from_version=1))"


@pytest.fixture
def check(store_url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ran]:
    """Checks an app of this module."""
    with bp.connect(store_url, app=now) as coordinator:
        coordinator.declare(now)
    cli = CommandLine(store_url, capsys, monkeypatch)
    return lambda app, *options: cli("check", f"tests.cli.test_check:{app}", *options)


@contextmanager
def working(url: str, app: bp.App | None = None) -> Iterator[None]:
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(serving(app or now, url)):
        with bp.connect(url) as coordinator:
            wait_until(coordinator.workers, what="the worker")
        yield


def problems(ran: Ran) -> dict[str, list[str]]:
    """The failures and the warnings, each with its subject."""
    found: dict[str, list[str]] = {}
    for each in ran.json["findings"]:
        if each["level"] != "ok":
            found.setdefault(f"{each['level']} {each['about']}", []).append(each["text"])
    assert ran.json["ok"] == (ran.code == 0) == (not any(about.startswith("fail") for about in found)), ran
    return found


@pytest.fixture
def asking(store_url: str, check: object) -> str:
    """A job that has a state, because it asks."""
    with working(store_url), bp.connect(store_url, app=now) as coordinator:
        job = coordinator.submit("bill", Order(text="a"))
        wait_until(lambda: job.info().state == bp.JobState.INPUT_REQUIRED, what="the question")
        return job.id


def waiting(url: str, text: str = "a") -> str:
    with bp.connect(url, app=now) as coordinator:
        return coordinator.submit("bill", Order(text=text)).id


def test_all_is_well(store_url: str, asking: str, check: Callable[..., Ran]) -> None:
    waiting(store_url)
    with bp.connect(store_url, app=now) as coordinator:
        coordinator.schedule("daily", "bill", Order(text="b"), cron="0 9 * * *")
    before = kept(store_url)
    ran = check("now")
    assert (ran.code, ran.err) == (0, "")
    assert [line.split(maxsplit=2) for line in ran.out.splitlines()] == [
        ["ok", "agents", "1 in app shop, 1 declared in the store"],
        ["ok", "job(s)", "2 fit"],
        ["ok", "dead", "letter(s) 0 fit"],
        ["ok", "schedules", "1 fit"],
    ]
    assert kept(store_url) == before


def test_an_older_version_of_a_contract(store_url: str, check: Callable[..., Ran]) -> None:
    jobs = [waiting(store_url) for _ in range(3)]
    with bp.connect(store_url, app=now) as coordinator:
        coordinator.schedule("daily", "bill", Order(text="b"), cron="0 9 * * *")
    found = problems(check("later", "--json"))
    assert found.keys() == {"fail agent bill", "fail schedule daily"}
    [jobs_text] = found["fail agent bill"]
    why = "3 job(s) have check.order@1, which this app can't read (@app.upcast(Next, from_version=1)), e.g. "
    assert jobs_text.removeprefix(why) in jobs
    assert "amount" in found["fail schedule daily"][0]
    assert problems(check("reads", "--json")) == {}
    [text] = problems(check("misreads", "--json"))["fail agent bill"]
    assert text.startswith("3 job(s) have check.order@1 with values that this app can't read, e.g. j")
    assert "amount" in text


def test_states(asking: str, check: Callable[..., Ran]) -> None:
    assert problems(check("migrates", "--json")) == {}
    for app, says in (
        ("forgets", "@app.migration('bill', from_version=1)"),
        ("fails", "KeyError"),
        ("returns_nothing", "the migration from version 1 gave a NoneType"),
    ):
        [text] = problems(check(app, "--json"))["fail agent bill"]
        assert text.startswith(f"1 job(s) have a state that this app can't read, e.g. {asking}: "), text
        assert says in text


def test_dead_letters_warn(store_url: str, check: Callable[..., Ran]) -> None:
    with working(store_url), bp.connect(store_url, app=now) as coordinator, pytest.raises(bp.JobFailed):
        coordinator.submit("bill", Order(text="bad")).result(timeout=30)
    [text] = problems(check("later", "--json"))["warn agent bill"]
    assert text.startswith("1 dead letter(s) have check.order@1, which this app can't read")


def test_an_agent_that_is_gone(store_url: str, check: Callable[..., Ran]) -> None:
    with bp.connect(store_url, app=now) as coordinator:
        coordinator.schedule("daily", "bill", Order(text="b"), cron="0 9 * * *")
    job = waiting(store_url)
    assert problems(check("renamed", "--json")) == {
        "fail agent bill": [f"1 job(s) are at this agent, which no app has any more, e.g. {job}"],
        "fail schedule daily": ["submits to bill, which no app has any more"],
    }
    # Another app's agents do not concern this one.
    assert problems(check("hands", "--json")) == {}


def test_other_fields_in_the_same_version(store_url: str, check: Callable[..., Ran]) -> None:
    says = ["check.order@1 has other fields than app 'shop' declared: raise its version="]
    assert problems(check("wider", "--json")) == {"warn agent bill": says}
    with working(store_url):
        assert problems(check("wider", "--json")) == {"fail agent bill": says}


@pytest.mark.parametrize(
    ("app", "level", "says"),
    [
        ("hands_newer", "warn", "hands check.order@2 to bill, which accepts check.order@1: deploy app shop first"),
        ("hands_other", "fail", "hands check.bill@1 to bill, which accepts check.order@1"),
        ("hands_nobody", "warn", "hands off to nobody, which no app has declared: deploy that first, or its jobs fail"),
        ("falls_back", "warn", "hands off to nobody, which no app has declared: deploy that first, or its jobs fail"),
        ("inside", "fail", f"hands check.order@1 to bill, which accepts check.order@2 in app office{UPCAST}"),
    ],
)
def test_who_receives(app: str, level: str, says: str, check: Callable[..., Ran]) -> None:
    assert problems(check(app, "--json")) == {f"{level} agent desk": [says]}


def test_whether_the_receiver_reads_older_versions(store_url: str, check: Callable[..., Ran]) -> None:
    for receiver, level in ((later, "fail"), (reads, "")):
        with bp.connect(store_url, app=receiver) as coordinator:
            coordinator.declare(receiver)
        assert list(problems(check("hands", "--json"))) == ([f"{level} agent desk"] if level else [])


def test_who_sends(store_url: str, check: Callable[..., Ran]) -> None:
    with bp.connect(store_url, app=hands) as coordinator:
        coordinator.declare(hands)
    for app, accepts, remedy in (("later", "check.order@2", UPCAST), ("bills", "check.bill@1", "")):
        says = [f"hands check.order@1 to bill, which accepts {accepts} in app shop{remedy}"]
        assert problems(check(app, "--json"))["warn agent desk"] == says
        with working(store_url, hands):
            assert problems(check(app, "--json"))["fail agent desk"] == says
    assert problems(check("reads", "--json")) == problems(check("now", "--json")) == {}
    with bp.connect(store_url, app=hands_newer) as coordinator:
        coordinator.declare(hands_newer)
    with working(store_url, hands_newer):
        [text] = problems(check("now", "--json"))["warn agent desk"]
    assert text.endswith("which accepts check.order@1 in app shop: its jobs wait for a newer release of that")


def test_agents_whose_app_has_not_started(store_url: str, check: Callable[..., Ran]) -> None:
    with bp.connect(store_url, app=renamed) as coordinator:
        job = coordinator.submit("invoice", Order(text="a"))
        coordinator.schedule("daily", "invoice", Order(text="b"), cron="0 9 * * *")
    assert problems(check("now", "--json")) == {
        "warn agent invoice": [f"1 job(s) are at this agent, which no app has declared, e.g. {job.id}"],
        "warn schedule daily": ["submits to invoice, which no app has declared"],
    }


def test_bad_input(check: Callable[..., Ran], capsys: pytest.CaptureFixture[str]) -> None:
    ran = check("nothing")
    assert ran.code == 2
    told = "'tests.cli.test_check:nothing' is not a batonpass.App: name one as tests.cli.test_check:"
    assert ran.complaint.startswith(told)
