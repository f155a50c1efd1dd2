"""A pytest plugin that lists which real parts a run used, so that CI can refuse a run that silently lacked one.

A fixture that has brought up a real part says `note("redis", "7.0.15")`. A test that proves one carries
`@pytest.mark.capability("langgraph")`, which counts when the test has passed. BATONPASS_REQUIRE names, separated by
spaces, what must have run; if something is missing the run fails.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

_ran: dict[str, set[str]] = {}


def note(capability: str, detail: str = "") -> None:
    """Record that a real part was used; `detail` (a version, where it came from) is shown in the list."""
    _ran.setdefault(capability, set()).update({detail} - {""})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    # An agent's last words may not be valid Unicode, and reports travel between processes.
    report.sections = [(name, text.encode("utf-8", "backslashreplace").decode()) for name, text in report.sections]
    if report.when == "call" and report.passed:
        for mark in item.iter_markers("capability"):
            for name in mark.args:
                note(name)
    return report


class _Together:
    """With several processes (pytest-xdist), each tells the deciding one what it ran."""

    @staticmethod
    def pytest_testnodedown(node: Any) -> None:
        for name, details in getattr(node, "workeroutput", {}).get("capabilities", {}).items():
            _ran.setdefault(name, set()).update(details)


def pytest_configure(config: pytest.Config) -> None:
    if config.pluginmanager.hasplugin("xdist"):
        config.pluginmanager.register(_Together())


def pytest_sessionfinish(session: pytest.Session) -> None:
    if (told := getattr(session.config, "workeroutput", None)) is not None:
        told["capabilities"] = {name: sorted(details) for name, details in _ran.items()}
        return
    if _missing() and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    ran = [f"{name} ({', '.join(sorted(details))})" if details else name for name, details in sorted(_ran.items())]
    terminalreporter.write_line(f"Capabilities that ran: {', '.join(ran) or 'none'}")
    if _missing():
        terminalreporter.write_line(f"Capabilities required that did not run: {', '.join(_missing())}", red=True)


def _missing() -> list[str]:
    return sorted(set(os.environ.get("BATONPASS_REQUIRE", "").split()) - _ran.keys())
