"""Judging: what must be refused, and how, by what is known before a command is run."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha1
from typing import Any

from batonpass.coordinator import commands as c
from batonpass.coordinator.records import Records
from tests.simulation.known import Known

CLOSING: dict[type[c.Command[Any]], str] = {
    c.HandOff: "hand_off",
    c.Complete: "complete",
    c.Fail: "fail",
    c.Suspend: "suspend",
    c.Sleep: "sleep",
    c.Spawn: "spawn",
    c.Release: "release",
}


def refusal(known: Known, command: c.Command[Any], now: int, records: Records) -> str:
    """The error that a command must end with, "" if it must be carried out."""
    fence: c.Fence | None = getattr(command, "fence", None)
    judge = _JUDGES.get(type(command))
    if fence is not None:
        must = "" if known.excuses(command) else _fenced(known, fence, CLOSING.get(type(command), ""))
    else:
        must = judge(known, command, now) if judge else ""
    new: c.NewCheckpoint | None = getattr(command, "checkpoint", None)
    if must or new is None or new.id in known.kept or (fence is not None and not known.owns(fence)):
        return must
    return "" if _grounded(known, new, records) else "Ungrounded"


def _grounded(known: Known, new: c.NewCheckpoint, records: Records) -> bool:
    """Whether what the checkpoint shares is there, and ends where the checkpoint appends."""
    if new.base and new.base not in known.kept:
        return False
    return all(records.log_length(append.log) == append.at for append in new.appends)


def _fenced(known: Known, fence: c.Fence, closing: str) -> str:
    job = known.jobs.get(fence.job_id)
    if job is None:
        return "NotFound"
    if known.owns(fence) or (closing and job.closed == f"{closing} {fence.lease_id}"):
        return ""
    return "Canceled" if job.state == "canceled" else "Fenced"


def _may_submit(known: Known, command: c.Submit, now: int) -> str:
    if command.job_id in known.jobs:
        return ""
    if first := known.first(command.idem, now):
        return "KeyConflict" if first[1] != command.payload_digest else ""
    busy = known.jobs.get(known.thread(command.thread).job)
    if busy and command.terms.on_busy == "reject":
        return "ThreadBusy"
    back = busy.began if busy and command.terms.on_busy == "rollback" else ""
    return "" if {command.origin, back} <= {"", *known.kept} else "NotFound"


def _may_save(known: Known, command: c.Save, now: int) -> str:
    thread = known.thread(command.thread)
    if command.checkpoint.id in known.kept:
        return ""
    if thread.job:
        return "ThreadBusy"
    if command.parent and command.parent not in known.kept:
        return "NotFound"
    # A tip whose time is over is not one any more, freed or not.
    tips = ("", known.tip(thread, now), *known.shown(thread, now)[:1])
    return "Conflict" if command.parent not in tips and not command.branch else ""


def _may_answer(known: Known, command: c.AnswerJob, now: int) -> str:
    job = known.jobs.get(command.job_id)
    if job is None:
        return "NotFound"
    if job.state == "input_required" and command.asked in (0, job.asked):
        return ""
    asked, _, taken = job.answered.partition(" ")
    again = taken == sha1(command.answer).hexdigest() and command.asked in (0, int(asked))
    return "" if again else "WrongState"


def _may_redrive(known: Known, command: c.Redrive, now: int) -> str:
    job = known.jobs.get(command.job_id)
    if job is None:
        return "NotFound"
    if job.state != "failed":
        again = job.state == "submitted" and job.closed == "redrive"
        return "" if again else "WrongState"
    return "ThreadBusy" if known.thread(job.thread).job else ""


def _may_cancel(known: Known, command: c.Cancel | c.ReadJob, now: int) -> str:
    return "" if command.job_id in known.jobs else "NotFound"


def _may_expire(known: Known, command: c.Expire, now: int) -> str:
    if command.checkpoint_id not in known.kept:
        return "NotFound"
    return "ThreadBusy" if known.needed(command.checkpoint_id) else ""


def _may_restore(known: Known, command: c.Restore, now: int) -> str:
    kept = known.kept.get(command.checkpoint_id)
    return "" if kept and not 0 < kept[1] <= now else "NotFound"


_JUDGES: dict[type[c.Command[Any]], Callable[[Known, Any, int], str]] = {
    c.Submit: _may_submit,
    c.Save: _may_save,
    c.AnswerJob: _may_answer,
    c.Redrive: _may_redrive,
    c.Cancel: _may_cancel,
    c.Expire: _may_expire,
    c.Restore: _may_restore,
    c.ReadJob: _may_cancel,
}
