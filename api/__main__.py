"""The command `batonpass`, and `python -m batonpass`.

Imports nothing of its own before it can end quietly on Ctrl-C.
"""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line. Ctrl-C while it is loading, or ending, ends it at once: nothing is open then."""
    usual = signal.getsignal(signal.SIGINT)
    is_usual = usual is signal.default_int_handler  # a program that a shell runs in the background ignores it
    if is_usual:
        signal.signal(signal.SIGINT, _leave)
    from batonpass.cli import main as run

    try:
        if is_usual:
            signal.signal(signal.SIGINT, usual)
        run()
    finally:
        if is_usual:
            signal.signal(signal.SIGINT, _leave)


def _leave(number: int, frame: FrameType | None) -> None:
    os._exit(130)


if __name__ == "__main__":
    main()
