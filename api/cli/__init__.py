"""The command line. Exit codes: 0 success, 1 the job did not complete, 2 bad input or no store (one line says why)."""

from __future__ import annotations

import errno
import os
import sys
from typing import Annotated

import typer

from batonpass import __version__
from batonpass.contracts.errors import BatonpassError, JobError
from batonpass.workers.logs import warn_by

from .commands import Commands
from .printing import drop_output, line, say

# A full or broken disk, when output is written. (Stores have their own words for it.)
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)

_ENVIRONMENT = """\b
Environment:
  BATONPASS_URL             The store
  BATONPASS_ENCRYPT_KEYS    Encryption keys: name:base64,name:base64
  BATONPASS_SIGN_KEYS       Signing keys
  BATONPASS_COMPRESS        1 turns on compression
  BATONPASS_ACCEPT_PLAIN    1 also accepts unprotected data
  BATONPASS_TOKEN           The token for `serve`
  BATONPASS_READ_TOKEN      A token for `serve` that only reads
  BATONPASS_WEBHOOK_SECRET  The signing secret for webhooks
  BATONPASS_DEMO_MODEL      The demo's model, with OPENAI_API_KEY and OPENAI_BASE_URL

\b
Exit codes:
  0    Success
  1    The job did not complete; with `doctor`: something does not work
  2    Bad input, or no store; one line says why. --json also prints errors, and what became of the job, as JSON
  130  Ctrl-C; what runs until then, such as `worker`, has code 0
  141  What read the output is gone, as in `batonpass jobs | head`"""

app = typer.Typer(
    name="batonpass",
    cls=Commands,
    help="Run jobs that pass from agent to agent and survive crashes.",
    epilog=_ENVIRONMENT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"max_content_width": 120},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        say(f"batonpass {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version", is_eager=True, callback=_print_version)
    ] = False,
    store: Annotated[str | None, typer.Option("--store", help="The store's URL; before or after the command")] = None,
    namespace: Annotated[str | None, typer.Option("--namespace", help="The namespace in the store")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON")] = False,
) -> None:
    """Options before a command. `Commands` passes them on."""


def main() -> None:
    """Run the command line."""
    warn_by(lambda text: say(f"batonpass: {text}", err=True))
    try:
        app(prog_name="batonpass")
    except JobError as error:
        _stop(str(error), 1)
    except BatonpassError as error:
        _stop(str(error), 2)
    except KeyboardInterrupt:  # while click does not handle it
        sys.exit(130)
    except OSError as error:
        if _folder_is_gone():
            _stop("the working directory no longer exists: change to another one", 2)
        if error.errno not in _UNWRITABLE:
            raise
        drop_output()
        _stop(f"the output can't be written: {error.strerror}", 2)


def _folder_is_gone() -> bool:
    try:
        return not os.getcwd()
    except FileNotFoundError:
        return True


def _stop(message: str, code: int) -> None:
    say(f"batonpass: {line(message)}", err=True)
    sys.exit(code)
