"""URLs of users who may do everything: from files, because others see the arguments of a process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import batonpass as bp
from tests.cli.commandline import CommandLine
from tests.repartition.conftest import Desk, app


@pytest.fixture
def line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    return CommandLine("memory://", capsys, monkeypatch)


def test_the_urls_of_a_move_from_a_file(
    sqlite_url: str, redis_place: Callable[[], str], tmp_path: Path, line: CommandLine
) -> None:
    urls = {name: redis_place() for name in ("to", "further")}
    with bp.connect(sqlite_url, app=app) as old:
        job = old.submit("write", Desk(topic="new"))
    for name, url in urls.items():
        (tmp_path / name).write_text(f"{url}\n")
    assert line("move", sqlite_url, f"@{tmp_path / 'to'}").code == 0
    assert line("repartition", f"@{tmp_path / 'to'}", f"@{tmp_path / 'further'}").code == 0
    with bp.connect(urls["further"]) as new:
        assert [each.id for each in new.jobs()] == [job.id]


@pytest.mark.parametrize("command", ["move", "repartition"])
def test_a_file_that_is_not_there(tmp_path: Path, line: CommandLine, command: str) -> None:
    told = line(command, "sqlite:///desk.db", f"@{tmp_path / 'none'}").complaint
    assert told.startswith("the URL can't be read: [Errno 2] No such file or directory")
