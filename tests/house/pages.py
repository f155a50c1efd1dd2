"""What users read: README.md and the pages in docs/, with their examples."""

from __future__ import annotations

import ast
import inspect
import re
from types import CodeType
from typing import Any

from tests.house.tree import ROOT

README = (ROOT / "README.md").read_text()
PAGES = {str(path.relative_to(ROOT)): path.read_text() for path in (ROOT / "README.md", *(ROOT / "docs").glob("*.md"))}
EXAMPLES = [block for page in PAGES.values() for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL)]


def shown(marker: str) -> str:
    """The Python example that holds the marker."""
    [example] = [block for block in EXAMPLES if marker in block]
    return str(example)


async def run(example: str, names: dict[str, Any]) -> dict[str, Any]:
    """Run an example, awaits at its top level included, and give its names."""
    code: CodeType = compile(example, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    result = eval(code, names)
    if inspect.isawaitable(result):
        await result
    return names
