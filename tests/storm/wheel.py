"""An older Batonpass to run beside this one: the last commit that stored something else, or had other scripts, and yet
may be run beside it: an older one refuses a file with a newer schema."""

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
_SHARED = (
    *("coordinator/rows.py", "coordinator/blobs.py", "coordinator/seals.py", "coordinator/parts"),
    *("contracts/codec.py", "contracts/handoff.py", "workers/context/arguments.py", "workers/context/ordering.py"),
    "workers/context/stand_ins.py",
)
_MIGRATIONS = "coordinator/sqlite/sql"
_FORMS = {
    "redis": (*_SHARED, "coordinator/redis/lua", "coordinator/redis/server.py"),
    "sqlite": (*_SHARED, _MIGRATIONS, "coordinator/sqlite/commit_lines.py", "coordinator/sqlite/records.py"),
}


def commit(store: str) -> str | None:
    """The commit; None where there is no repository, or none may be run beside this one on that store."""
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        return None
    commits = _git("log", "--format=%h", "--", *_FORMS[store]).split()
    now = _forms("HEAD", store)
    beside = [older for older in commits[1:8] if _schema(_forms(older, store)) == _schema(now)]
    return next((older for older in beside if _forms(older, store) != now), next(iter(beside), None))


def _schema(forms: dict[str, str]) -> list[str]:
    """What tells which schema it is: the file's migrations, or the namespace's number."""
    names = [name for name in forms if name.startswith(_MIGRATIONS)]
    return names or re.findall(r"SCHEMA_VERSION=(\d+)", "".join(forms.values()))


@cache
def _forms(commit: str, store: str) -> dict[str, str]:
    """What decides it, without comments and spaces."""
    folders = ("coordinator", "contracts", "workers")  # whole, because a file may have had another name
    packed = subprocess.run(["git", "archive", commit, *folders], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
        told = [one for one in tree if one.isfile() and one.name.startswith(_FORMS[store])]
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
