"""The page in a real browser, over a real service and a real worker. One browser goes through all of it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import batonpass as bp

from ..apps.page_app import EVIL, Draft, app
from ..harness.browser import Browser, binary, browsing
from ..harness.waiting import wait_until
from ..workers.serving import DEADLINE
from .service import TOKEN, service_of


@contextmanager
def worker(url: str) -> Iterator[None]:
    command = [sys.executable, "-m", "batonpass", "worker", "tests.apps.page_app:app", "--store", url]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as running:
        try:
            yield
        finally:
            running.terminate()


def test_people_work_with_the_page(sqlite_url: str, tmp_path: Path) -> None:
    program = binary()
    if program is None:
        pytest.skip("no Chromium is installed")
    with (
        service_of(app, sqlite_url) as address,
        worker(sqlite_url),
        bp.connect(sqlite_url, app=app) as coordinator,
        browsing(tmp_path / "browser", program) as browser,
    ):
        asking = coordinator.submit("research", Draft(text="rain <i>today</i>"))
        failed = coordinator.submit("fragile", Draft(text="long\n" * 100))
        wait_until(lambda: asking.info().state == "input_required" and failed.info().state == "failed")
        sign_in(browser, address)
        answer(browser, address, asking.id)
        run_nothing(browser, address, asking.id, failed.id)
        redrive(browser, address, failed)
        fit_a_phone(browser, address, asking.id)
        assert browser.alarms == []
        assert not [told for told in browser.blocked if "Content Security Policy" in told]
        browser.press("Sign out")
        assert browser.text("h1") == "Sign in"


def sign_in(browser: Browser, address: str) -> None:
    browser.open(f"{address}/ui/inbox")
    assert browser.text("h1") == "Sign in"
    assert browser.run("document.activeElement.name") == "token"
    browser.type("The service", "wrong")
    browser.press("Sign in")
    assert "not the service's token" in browser.text("[role=alert]")
    browser.type("The service", TOKEN)
    browser.press("Sign in")
    assert (browser.text("h1"), browser.run("location.pathname")) == ("Inbox", "/ui/inbox")
    assert browser.run("document.cookie") == ""  # no script sees it


def answer(browser: Browser, address: str, job: str) -> None:
    """The form says that an answer is wrong, and keeps what was typed. After a right one the job goes on to its end."""
    shown = browser.text(".card")
    assert "review asks ann" in shown
    assert "May it be published?" in shown
    assert "rain <i>today</i>" in shown
    browser.choose("Approve", "yes")
    browser.type("Amount", "many")
    browser.choose("Tone", "warm")
    browser.type("Note", 'fine "so"\nfar')
    browser.press("Answer")
    assert "amount: 'many' is not of type 'integer'" in browser.text("[role=alert]")
    assert browser.run(
        "[...document.querySelectorAll('.answer :is(input:not([type=hidden]), select, textarea)')]"
        ".map(each => each.value)"
    ) == ["true", "many", "", '"warm"', "1", 'fine "so"\nfar']
    browser.type("Amount", "12")
    browser.press("Answer")
    assert "Your answer was accepted" in browser.text("[role=status]")
    wait_until(lambda: "completed" in browser.text("h1"), timeout=DEADLINE)  # the page refreshes by itself
    assert [part.strip() for part in browser.text(".chain").split("\n") if part.strip()] == ["research", "review"]
    assert 'fine \\"so\\"\\nfar: warm, 12' in browser.text("main")
    assert browser.run("document.querySelector('time').title").endswith(" UTC")
    browser.open(f"{address}/ui/inbox")
    assert "There are no open questions" in browser.text("main")


def run_nothing(browser: Browser, address: str, job: str, failed: str) -> None:
    """What agents say is shown as text everywhere."""
    for path in ("", "dead-letters", "jobs", f"jobs/{failed}", f"jobs/{failed}/events"):
        browser.open(f"{address}/ui/{path}")
        browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
        assert "<script>" in browser.text("main"), path
    browser.open(f"{address}/ui/jobs/{job}")
    assert "漢字" not in browser.text("main")
    browser.press("0")
    assert EVIL in browser.text("main").replace('\\"', '"')
    browser.open(f"{address}/ui/jobs/{job}")
    browser.press("1")
    assert "+ state['read']: ['漢字', 'rain <i>today</i>']" in browser.text(".changes")
    assert browser.run("document.scripts.length + document.images.length") == 0


def redrive(browser: Browser, address: str, job: bp.SyncJob[object]) -> None:
    browser.press("Dead letters")
    browser.press("Redrive")
    assert "The job is retried" in browser.text("[role=status]")
    wait_until(lambda: "failed" in browser.text("h1"), timeout=DEADLINE)
    assert '"number": 0' in browser.text("main")
    browser.type("New payload", '{"number": "one"}')
    browser.press("Redrive")
    assert "'one' is not of type 'integer'" in browser.text("[role=alert]")
    browser.type("New payload", '{"number": 1}')
    browser.press("Redrive")
    wait_until(lambda: "completed" in browser.text("h1"), timeout=DEADLINE)
    browser.press("Dead letters")
    assert "There are no dead letters." in browser.text("main")


def fit_a_phone(browser: Browser, address: str, job: str) -> None:
    for path in ("", f"jobs/{job}", "jobs"):
        browser.open(f"{address}/ui/{path}")
        for dark in (False, True):
            assert browser.look(360, dark=dark).startswith(b"\x89PNG")
            assert browser.run("document.documentElement.scrollWidth - innerWidth") <= 0, path
