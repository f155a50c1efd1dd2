"""A pool of processes at a moment when no process can be made."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import anyio
import pytest

import batonpass as bp
from batonpass.workers.children import child_factory, start
from batonpass.workers.children.settings import ChildSettings

from ..sqlite.beside import finished, run
from .apart import app
from .processes import DEADLINE


def none_left(*_: Any) -> Any:
    raise OSError(errno.EMFILE, "Too many open files")


@pytest.mark.usefixtures("log")
async def test_whoever_needs_one_is_told_and_the_next_one_gets_one(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker goes on, and so does what it runs."""
    pool = ChildSettings(f"{__package__}.apart:app", sqlite_url).pool([app["pid"]], 3)
    await pool.open()
    try:
        with anyio.fail_after(DEADLINE):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(pool.run)
                with monkeypatch.context() as patch:
                    patch.setattr(child_factory, "socketpair", none_left)
                    children = [await pool.take()]
                    with pytest.raises(bp.BadSetup, match=r"did not start: .*Too many open files"):
                        await pool.take()
                children.append(await pool.take())
                assert len({child.pid for child in children if child}) == 2
                tasks.cancel_scope.cancel()
    finally:
        await pool.close()


@pytest.mark.usefixtures("log")
async def test_children_begin_in_their_workers_first_folder(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An agent may have moved the worker meanwhile. The app, and a store with a relative path, are found as before."""
    pool = ChildSettings(f"{__package__}.apart:app", sqlite_url).pool([app["pid"]], 1)
    monkeypatch.chdir(tmp_path)
    await pool.open()
    try:
        assert await pool.take()
    finally:
        await pool.close()


# Nobody is refused what root may do, so the process becomes somebody else, after all imports.
_IN_A_CLOSED_FOLDER = """
import os, sys
from batonpass.workers.children.setup import Setup, prepare
def make():
    return prepare(Setup(sys.argv[1], "memory://", None, ("function",), os.getcwd()).pack())
make()
os.chdir(sys.argv[2])
os.chmod(".", 0)
if os.getuid() == 0:
    os.setuid(65534)
print(make().app.name)
"""


def test_a_worker_may_begin_in_a_folder_that_its_user_may_not_enter(tmp_path: Path) -> None:
    """As one does that root starts for another user, in root's home."""
    assert finished(run(_IN_A_CLOSED_FOLDER, f"{__package__}.apart:app", tmp_path)) == app.name


async def test_one_that_can_not_be_opened_says_so(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = ChildSettings(f"{__package__}.apart:app", sqlite_url).pool([app["pid"]], 3)
    with monkeypatch.context() as patch, pytest.raises(bp.BadSetup, match=r"did not start: .*Too many open files"):
        patch.setattr(start, "socketpair", none_left)
        await pool.open()
