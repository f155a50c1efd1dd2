"""Event: what happened to a job or thread, in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .listed import Listed
from .names import digest

SUBMITTED = "batonpass.job.submitted"
STARTED = "batonpass.job.started"
SAVED = "batonpass.checkpoint.saved"
HANDED_OFF = "batonpass.job.handed_off"
COMPLETED = "batonpass.job.completed"
RETRYING = "batonpass.job.retrying"
FAILED = "batonpass.job.failed"
SUSPENDED = "batonpass.job.suspended"
SLEEPING = "batonpass.job.sleeping"
FANNED_OUT = "batonpass.job.fanned_out"
JOINED = "batonpass.job.joined"
ANSWERED = "batonpass.job.answered"
ESCALATED = "batonpass.job.escalated"
UNANSWERED = "batonpass.job.unanswered"
REDRIVEN = "batonpass.job.redriven"
CANCELED = "batonpass.job.canceled"
REJECTED = "batonpass.job.rejected"
RELEASED = "batonpass.job.released"
LIMITED = "batonpass.job.limited"
CRASHED = "batonpass.job.crashed"
LEASE_EXPIRED = "batonpass.lease.expired"
EXPIRED = "batonpass.checkpoint.expired"
NAMED = "batonpass.checkpoint.named"
PRUNED = "batonpass.thread.pruned"
THREAD_DELETED = "batonpass.thread.deleted"
JOB_DELETED = "batonpass.job.deleted"
NOT_SCHEDULED = "batonpass.schedule.failed"
AGENT_PAUSED = "batonpass.agent.paused"
AGENT_RESUMED = "batonpass.agent.resumed"
REWOUND = "batonpass.store.rewound"
IMPORTED = "batonpass.event.imported"


TYPES: frozenset[str] = frozenset(value for name, value in globals().items() if name.isupper())


@dataclass(frozen=True, kw_only=True)
class Event(Listed):
    """One event, with CloudEvents' attributes `id`, `type`, `source`, `subject` (the job, else the thread, the
    schedule or the agent) and `time`.

    `id` is unique within a namespace only, and `source` is the store's URL as its reader writes it. `cloud_event()` has
    ids by which the events of several namespaces can be told apart.

    `cursor` is the opaque position after this event: pass it as `after=` to continue from here. `data` depends on the
    type: agent, hop, worker, token, checkpoint, error ... (docs/running.md has a table; times in it are ms since 1970.)
    All types start with "batonpass.":

    - while a job lives: job.submitted, .started, .handed_off, .suspended (it asks), .answered, .escalated, .unanswered,
      .sleeping, .fanned_out, .joined, .retrying, .released, .limited, .crashed, .redriven, .deleted
    - when a job ends: job.completed, .failed, .canceled, .rejected
    - checkpoint.saved, .expired, .named; lease.expired; thread.pruned, .deleted; schedule.failed; store.rewound
    - agent.paused (`reason` says why, if that was told), .resumed
    - event.imported: what happened to an imported job elsewhere (`was`), and when (`at`, as text; a schedule's time is
      in `due` here)
    """

    id: str
    type: str
    source: str
    subject: str
    time: datetime
    data: Mapping[str, Any]
    cursor: str

    def cloud_event(self, source: str = "") -> dict[str, Any]:
        """The event as CloudEvents 1.0 says it in JSON. `source` in place of its own."""
        # Two namespaces may give the same number, and so did, when it was restored, a store of an older Batonpass.
        when = digest(self.subject, self.time.isoformat())
        return {
            "specversion": "1.0",
            "id": f"{self.id}-{when}",
            "source": source or self.source,
            "type": self.type,
            "subject": self.subject,
            "time": self.time.isoformat(),
            "datacontenttype": "application/json",
            "data": dict(self.data),
        }
