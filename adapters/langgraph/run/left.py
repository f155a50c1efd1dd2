"""Left: the records that a checkpoint has, for a visit that begins from it and finds others in its journal, or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ....coordinator.session import Session
from ..namespaces import lasts
from ..serde.values import Values
from .checkpoint import Tip
from .unanswered import closed_part
from .writes import Place, place_in


class Left(NamedTuple):
    """What a visit begins with: records, whether an earlier job's state goes on, and the interrupt that waits for the
    job."""

    records: Sequence[dict[str, Any]] = ()
    goes_on: bool = False
    passed: str | None = None


def left_by(session: Session, root: Place, about: Mapping[str, Any], values: Values) -> Left:
    """What the checkpoint has from which the visit at the place `root` begins. `about` says which superstep that is."""
    own = session.checkpoint
    begun = own or session.remembered
    if begun is None:
        return Left()
    passed = begun.native.get("passed") if begun.job == session.job_id else None
    if own is not None and "since" not in own.native:
        return Left(passed=passed)  # the journal has all
    before = begun.native.get("job", begun.job)  # a fork or rollback is of no job
    records = [_moved(record, before, root[0]) for record in begun.native.get("waiting", ())]
    if own is None and begun.job == session.job_id:
        return Left(records, passed=passed)
    lasting = [record for record in records if "frame" in record and is_lasting(place_in(record), root)]
    if own is not None:
        return Left([{**record, **about} for record in lasting], passed=passed)
    return Left([closed_part(record, values) for record in lasting], goes_on=True)  # that job has ended


def is_lasting(place: Place, root: Place) -> bool:
    """Whether a namespace outlives a superstep. So does that of a graph that a node runs on its own thread."""
    thread, namespace = place
    return thread != root[0] or lasts(namespace)


def is_undone(record: Mapping[str, Any], tip: Tip | None) -> bool:
    """Whether a record of the journal is of a superstep that comes after the one to which the thread was taken back, or
    of that one before."""
    made, number = record["superstep"], record.get("number")
    if tip is None or "since" not in tip.frame or not made or made == tip.superstep:
        return False
    return number is None or tip.number is None or number >= tip.number


def _moved(record: Mapping[str, Any], job: str | None, thread: str) -> dict[str, Any]:
    """A record of a job's visit whose graph had another thread, moved to this visit's thread."""
    before, namespace = place_in(record)
    return {**record, "place": (thread if before.rpartition(".")[0] == job else before, namespace)}
