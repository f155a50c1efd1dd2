"""CrewAI finds that it shall not call home, also if the app imports it before the adapter is loaded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from batonpass.adapters.quiet import keep_quiet, no_thread_at_import
from batonpass.workers.finding import find_app

pytestmark = pytest.mark.capability("crewai")
TELEMETRY = "CREWAI_DISABLE_TELEMETRY"
TRACING = "CREWAI_TRACING_ENABLED"
# Stands for an app that begins with `import crewai`.
APP = """
import os
import subprocess
import batonpass as bp
found = os.environ.get("CREWAI_DISABLE_TELEMETRY")
app = bp.App("quiet")
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project" / "src"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name in (TELEMETRY, TRACING):
        monkeypatch.setenv(name, "")  # so that what the tests' subject sets is taken back
        monkeypatch.delenv(name)
    return folder


def test_before_the_app_is_imported(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "quiet_desk.py").write_text(APP)
    monkeypatch.syspath_prepend(here)
    find_app("quiet_desk:app")
    assert sys.modules.pop("quiet_desk").found == "true"


def test_what_the_user_has_set_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TELEMETRY, "false")
    no_thread_at_import()
    keep_quiet()
    assert os.environ[TELEMETRY] == "false"
    assert os.environ[TRACING] == "false"


@pytest.mark.parametrize("folder", [".", ".."])
def test_what_a_file_will_set_is_left_to_it(here: Path, folder: str) -> None:
    (here / folder / ".env").write_text(f"{TELEMETRY}=false\nOPENAI_API_KEY=$NOT_READ\n")
    no_thread_at_import()
    assert TELEMETRY not in os.environ


def test_what_the_app_may_still_set_is_left_to_it() -> None:
    no_thread_at_import()
    assert os.environ[TELEMETRY] == "true"
    assert TRACING not in os.environ


def test_a_file_that_can_not_be_read(here: Path) -> None:
    (here / ".env").write_bytes(b"\xff\xfe\x00")
    no_thread_at_import()
    assert os.environ[TELEMETRY] == "true"


def test_something_that_stands_for_crewai(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "crewai", ModuleType("crewai"))
    no_thread_at_import()
    assert TELEMETRY not in os.environ


def test_a_project_without_dotenv(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".env").write_text("A=1\n")
    monkeypatch.setitem(sys.modules, "dotenv", None)
    no_thread_at_import()
    assert os.environ[TELEMETRY] == "true"


def test_what_crewai_reads_from_a_file_as_it_is_imported(here: Path) -> None:
    """By what stands for it: a file that CrewAI finds would be one for all the tests beside this one."""
    (here / "crewai/hooks").mkdir(parents=True)
    (here / "crewai/hooks/__init__.py").touch()
    (here / "crewai/hooks/dispatch.py").touch()
    (here / "crewai/__init__.py").write_text(
        f"import os\nprint(os.environ['{TELEMETRY}'])\nos.environ.setdefault('{TRACING}', 'true')\n"
    )
    code = (
        "import contextlib, os\nfrom batonpass.adapters.crewai.adapter import CrewAIAdapter\n"
        f"with contextlib.suppress(ImportError):\n    CrewAIAdapter()\nprint(os.environ['{TRACING}'])"
    )
    env = {**os.environ, "PYTHONPATH": str(here)}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60, check=True)
    assert ran.stdout.split() == ["true", "true"]
