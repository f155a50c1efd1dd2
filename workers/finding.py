"""Finds an app by its name."""

from __future__ import annotations

import gc
import importlib
import os
import sys
import traceback
from collections.abc import Generator
from contextlib import contextmanager

from ..adapters.quiet import no_thread_at_import
from ..contracts.app import App
from ..contracts.errors import BadSetup


def find_app(name: str) -> App:
    """Import `MODULE:APP` (or `MODULE`, for its `app`) from the working directory or the installed packages."""
    module_name, _, attribute = name.partition(":")
    if not module_name:
        raise BadSetup(f"{name!r} names no module: write MODULE:APP")
    if "/" in module_name or module_name.endswith(".py"):
        meant = module_name.removeprefix("./").removesuffix(".py").strip("/").replace("/", ".")
        raise BadSetup(f"{name!r} names a file: write the module as Python imports it, {meant}:{attribute or 'app'}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    no_thread_at_import()
    try:
        with _few_collections():
            module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise BadSetup(f"there is no module {error.name!r} to import {name!r} from (in {os.getcwd()})") from None
        raise BadSetup(f"app {name!r} can't be imported: {error}{_where(error)}") from error
    except SyntaxError as error:
        raise BadSetup(f"app {name!r} can't be imported: {type(error).__name__}: {error}") from error
    except (Exception, SystemExit) as error:
        raise BadSetup(f"app {name!r} can't be imported: {type(error).__name__}: {error}{_where(error)}") from error
    app = getattr(module, attribute or "app", None)
    if not isinstance(app, App):
        found = " or ".join(f"{module_name}:{each}" for each, value in vars(module).items() if isinstance(value, App))
        raise BadSetup(f"{name!r} is not a batonpass.App: name one as {found or 'MODULE:APP'}")
    return app


@contextmanager
def _few_collections() -> Generator[None]:
    """A block in which Python seldom looks for cycles. A framework that is imported makes half a million objects that
    stay: to look at them again and again takes a sixth of the time."""
    before = gc.get_threshold()
    few = (100_000, *before[1:])
    gc.set_threshold(*few)
    try:
        yield
    finally:
        if gc.get_threshold() == few:  # the app's module may have set its own
            gc.set_threshold(*before)


def _where(error: BaseException) -> str:
    """The line of the user's code where the import failed, if there is one."""
    here = os.getcwd() + os.sep
    files = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(here)]
    own = [frame for frame in files if "site-packages" not in frame.filename]
    return f" ({os.path.relpath(own[-1].filename)}, line {own[-1].lineno})" if own else ""
