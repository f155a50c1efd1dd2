"""Apart: work in a forked process, which may be killed."""

from __future__ import annotations

import os
import signal
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from batonpass.contracts.job import JobState
from batonpass.coordinator.commands import ListJobs, Release
from batonpass.coordinator.sync_client import SyncCoordinator

_BROKEN = 70


def was_killed(work: Callable[[], Any]) -> bool:
    """Do some work in a forked process. Returns whether that was killed by SIGKILL. `AssertionError` if it failed."""
    with warnings.catch_warnings():
        # Python 3.12 warns about a fork of a process with threads. The work needs none of those.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(_BROKEN)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if ended not in (0, -signal.SIGKILL):
        raise AssertionError(f"the process that ran the agent ended with {ended}: see its output")
    return ended != 0


def give_back(coordinator: SyncCoordinator) -> None:
    """Give back what the killed process held, as a worker does when its child is dead."""
    for row in coordinator.store.call(ListJobs(state=JobState.WORKING)):
        if row.lease:
            coordinator.store.call(Release(row.fence, "killed by a test"))
