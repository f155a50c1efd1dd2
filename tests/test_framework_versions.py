"""When an adapter is made, a warning names a version of its framework that the tests have not run with."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import pytest

import batonpass as bp
from batonpass.adapters import versions
from batonpass.adapters.autogen import AutoGenAdapter
from batonpass.adapters.crewai import CrewAIAdapter
from batonpass.adapters.langgraph import LangGraphAdapter
from batonpass.agent_framework import BatonpassCheckpointStorage

pytestmark = pytest.mark.capability("langgraph", "crewai", "autogen", "agent-framework")


def storage() -> object:
    with bp.connect("memory://") as coordinator:
        return BatonpassCheckpointStorage(coordinator, thread="run")  # type: ignore[arg-type]  # it is not used


ADAPTERS: dict[str, tuple[Callable[[], object], list[str], list[str]]] = {
    "langgraph": (LangGraphAdapter, ["1.2.20", "1.2.99"], ["1.2.19", "1.3.0", "2.0"]),
    "crewai": (CrewAIAdapter, ["1.15.6", "1.15.30"], ["1.15.5", "1.15.31", "1.16.0"]),
    "autogen-agentchat": (AutoGenAdapter, ["0.7.4", "0.7.5"], ["0.7.3", "0.7.6", "0.8.1"]),
    "agent-framework-core": (storage, ["1.23.0", "1.23.4"], ["1.22.9", "1.24.0"]),
}


@pytest.mark.parametrize("package", ADAPTERS)
def test_a_version_that_is_not_tested_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, tested, untested = ADAPTERS[package]
    for installed in tested:
        monkeypatch.setattr(versions, "version", {package: installed}.__getitem__)
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            make()
    for installed in untested:
        monkeypatch.setattr(versions, "version", {package: installed}.__getitem__)
        with pytest.warns(UserWarning, match=f"{package} {installed} is installed; batonpass is tested with"):
            make()
