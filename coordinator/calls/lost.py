"""Lost children: having those of a failed job go on, whatever it has done since."""

from __future__ import annotations

from ...contracts.errors import BadSetup
from ..blobs import open_blob, seal_blob
from ..commands import ACTED, AGAIN, DUE, FAN, ReadKept
from ..rows import LATE, JobRow, KeptJob
from . import Call


def made_again(row: JobRow) -> Call[dict[str, bytes]]:
    """What to record so that the children go on that its hop's fan-outs have lost."""
    kept: KeptJob = yield ReadKept(row.id)
    lost = {
        fan for fan, outcome in kept.outcomes if outcome.state != "completed" and not outcome.state.startswith(LATE)
    }
    records = dict[str, bytes]()
    for key, data in kept.journal.items():
        if key.startswith(FAN):
            _, *fans = open_blob(data, of=f"record {key!r} of job {row.id}")
            if fans[-1] in lost:
                full = key.removeprefix(FAN)
                records |= {AGAIN + full: seal_blob(DUE, path=key), ACTED + full: seal_blob("", path=key)}
    if not records and row.verdict != "cut":  # those of one that had not ended go on in any case
        raise BadSetup(f"hop {row.hop} of job {row.id} has lost no children: redrive it without lost_children")
    return records
