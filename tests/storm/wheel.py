"""An older Batonpass to run beside this one: the last commit that stored something else, or had other scripts."""

from __future__ import annotations

import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from functools import cache
from pathlib import Path

from tests.rules.test_acknowledged import ROOT

# Where the form of what is stored, and what scripts do, is said.
_FORMS = (
    *("coordinator/redis/lua", "coordinator/sqlite/sql", "coordinator/rows.py", "coordinator/blobs.py"),
    *("coordinator/seals.py", "coordinator/parts", "contracts/codec.py", "contracts/handoff.py"),
)


def commit() -> str | None:
    """The commit; None where there is no repository."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    commits = _git("log", "--format=%h", "--", *_FORMS).split()
    return next((older for older in commits[1:] if _forms(older) != _forms("HEAD")), next(iter(commits), None))


@cache
def _forms(commit: str) -> dict[str, str]:
    """What decides it, without comments and spaces."""
    folders = ("coordinator", "contracts")  # whole, because a file may have had another name
    packed = subprocess.run(["git", "archive", commit, *folders], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
        told = [one for one in tree if one.isfile() and one.name.startswith(_FORMS)]
        texts = {one.name: file.read().decode() for one in told if (file := tree.extractfile(one))}
    return {name: re.sub(r"^\s*(--|#).*|\s", "", text, flags=re.MULTILINE) for name, text in texts.items()}


def unpacked(commit: str, folder: Path) -> Path:
    """A wheel built from a commit, unpacked in a folder that can be imported from."""
    tree, code = folder / "tree", folder / "code"
    tree.mkdir()
    packed = folder / "tree.zip"
    _git("archive", "--output", str(packed), commit)
    shutil.unpack_archive(packed, tree)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "."]
    subprocess.run(build, cwd=tree, check=True, capture_output=True)
    [wheel] = (tree / "dist").glob("*.whl")
    zipfile.ZipFile(wheel).extractall(code)
    shutil.rmtree(tree)
    asked = [sys.executable, "-c", "import batonpass; print(batonpass.__file__)"]
    where = subprocess.run(asked, env={**os.environ, "PYTHONPATH": str(code)}, check=True, capture_output=True)
    assert Path(where.stdout.decode().strip()).is_relative_to(code), where.stdout
    return code


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout
