"""docker-compose.yml is valid, and starts what the README says: a Redis that keeps its data, a worker per framework."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from batonpass.cli.serve import serve
from batonpass.examples.incident_desk.app import app
from tests.house.tree import PYPROJECT, ROOT

COMPOSE = ROOT / "docker-compose.yml"


def problems(path: Path) -> str:
    """What the compose specification's own JSON Schema has against the file; empty when nothing."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(path)]
    run = subprocess.run(command, capture_output=True, text=True)
    return "" if run.returncode == 0 else run.stdout + run.stderr


@pytest.fixture
def services() -> dict[str, Any]:
    declared: dict[str, Any] = YAML(typ="safe").load(COMPOSE)["services"]
    return declared


def test_it_follows_the_compose_specification(tmp_path: Path) -> None:
    assert problems(COMPOSE) == ""
    broken = tmp_path / "broken.yml"
    broken.write_text(COMPOSE.read_text().replace("healthcheck:", "healthcheque:"))
    assert "healthcheque" in problems(broken)


def test_redis_keeps_its_data(services: dict[str, Any]) -> None:
    redis = services["redis"]
    assert "--appendonly yes" in redis["command"]
    assert "--maxmemory-policy noeviction" in redis["command"]
    assert redis["healthcheck"]["test"]
    assert [volume.partition(":")[2] for volume in redis["volumes"]] == ["/data"]


def test_the_log_that_is_shown_is_there(services: dict[str, Any]) -> None:
    [shown] = re.findall(r'"log": "(.*?)"', COMPOSE.read_text())
    [(source, target, mode)] = [volume.split(":") for volume in services["triage"]["volumes"]]
    assert (ROOT / source / Path(shown).relative_to(target)).is_file()
    assert mode == "ro"


def test_every_agent_of_the_demo_has_a_worker_with_its_framework(services: dict[str, Any]) -> None:
    workers = {name: service for name, service in services.items() if name not in ("redis", "page")}
    served: set[str] = set()
    for name, worker in workers.items():
        command = worker["command"]
        agents = command[command.index("--agents") + 1].split(",")
        served.update(agents)
        extras = worker["build"]["args"]["EXTRAS"].split(",")
        assert set(extras) <= PYPROJECT["project"]["optional-dependencies"].keys()
        assert {app[agent].kind for agent in agents} | {"redis"} == set(extras), name
        assert worker["depends_on"] == {"redis": {"condition": "service_healthy"}}
        assert worker["stop_grace_period"]
    assert served == {agent.name for agent in app}


def test_the_page_is_there_if_asked_for_with_a_token(services: dict[str, Any], tmp_path: Path) -> None:
    page = services["page"]
    assert page["profiles"] == ["page"]
    assert page["build"]["args"]["EXTRAS"] == "redis,http"
    token = page["environment"]["BATONPASS_TOKEN"].replace("${BATONPASS_TOKEN:-}", "")
    command = [
        str(Path(sys.executable).parent / "batonpass"),
        *page["command"],
        "--store",
        f"sqlite:///{tmp_path}/s.db",
    ]
    environment = {**os.environ, "BATONPASS_TOKEN": token}
    refused = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 2
    assert "give --token or BATONPASS_TOKEN" in refused.stderr
    shown = next(param.default for param in signature(serve).parameters.values() if param.name == "port")
    assert page["ports"] == [f"127.0.0.1:{shown}:{shown}"]
