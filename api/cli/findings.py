"""Findings: how `doctor` and `check` tell them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

import typer

from batonpass.coordinator.checkup import Finding

from .printing import print_json, say


def tell(findings: Iterable[Finding], *, as_json: bool) -> None:
    """Print findings, each as soon as it is there. Exit code 1 if one of them fails."""
    found: list[Finding] = []
    for finding in findings:
        found.append(finding)
        if not as_json:
            say(f"{finding.level:<5} {finding.about:<14} {' '.join(finding.text.split())}")
    failed = any(finding.level == "fail" for finding in found)
    if as_json:
        print_json({"ok": not failed, "findings": [asdict(finding) for finding in found]})
    if failed:
        raise typer.Exit(1)
