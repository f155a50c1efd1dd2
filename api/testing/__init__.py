"""For your tests: a context for one agent, an app on memory, crashes, and test cases for adapters."""

from batonpass.contracts.errors import MissingExtra

try:
    import pytest
except ModuleNotFoundError as missing:
    raise MissingExtra(f"batonpass.testing needs pytest ({missing}): pip install 'batonpass[testing]'") from None

pytest.register_assert_rewrite("batonpass.testing.adapters")  # so that a failed case says what it compared

from batonpass.testing.adapters import AdapterCases, Given, Told  # noqa: E402
from batonpass.testing.asking import asked  # noqa: E402
from batonpass.testing.crashing import Crash, crash_everywhere  # noqa: E402
from batonpass.testing.serving import context, serving  # noqa: E402
from batonpass.testing.work import Work  # noqa: E402

__all__ = ["AdapterCases", "Crash", "Given", "Told", "Work", "asked", "context", "crash_everywhere", "serving"]
