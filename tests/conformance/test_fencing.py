"""The token decides: what is not the stored lease writes nothing, whatever it tries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import MINUTE, Bench, new_checkpoint, new_target

Writing = Callable[[c.Fence], c.Command[object]]
WRITES: dict[str, Writing] = {
    "save": lambda fence: c.Save(fence.job_id, new_checkpoint(), fence, records={"a": b"1"}),
    "record": lambda fence: c.Record(fence, {"a": b"1"}),
    "hand_off": lambda fence: c.HandOff(fence, new_target("review"), new_checkpoint()),
    "hand_off without a checkpoint": lambda fence: c.HandOff(fence, new_target("review")),
    "complete": lambda fence: c.Complete(fence, b"result", new_checkpoint()),
    "complete without a checkpoint": lambda fence: c.Complete(fence, b"result"),
    "fail": lambda fence: c.Fail(fence, "boom", "attempts"),
    "retry": lambda fence: c.Fail(fence, "boom", "", retry_in=1),
    "reject": lambda fence: c.Fail(fence, "no", "rejected", None, "rejected"),
    "suspend": lambda fence: c.Suspend(fence, b"sure?", new_checkpoint()),
    "sleep": lambda fence: c.Sleep(fence, 1, new_checkpoint()),
    "release": lambda fence: c.Release(fence),
}


ENDS = ["hand_off", "complete", "fail", "retry", "suspend", "sleep", "release"]


def all_refused(bench: Bench, fence: c.Fence, error: type[Exception], match: str | None = None) -> None:
    """Whatever may be done under a lease is refused under this one, and changes nothing."""
    with bench.nothing_changes():
        for write in WRITES.values():
            with pytest.raises(error, match=match):
                bench.do(write(fence))


def test_the_holder_may(bench: Bench) -> None:
    """And what it writes counts."""
    for agent, write in WRITES.items():
        fence = bench.start(agent)
        before = bench.harness.dump()
        bench.do(write(fence))
        assert bench.harness.dump() != before, agent


def test_another_token_is_refused(bench: Bench) -> None:
    fence = bench.start()
    for token in (fence.token - 1, fence.token + 1, 0):
        told = f"now belongs to worker w .token {fence.token}.: token {token} was refused"
        all_refused(bench, replace(fence, token=token), bp.Fenced, told)


def test_another_lease_with_the_same_token_is_refused(bench: Bench) -> None:
    """As after a failover that lost the last claim: the token may repeat, the lease id does not."""
    fence = bench.start()
    all_refused(bench, replace(fence, lease_id=mint("l")), bp.Fenced)
    all_refused(bench, replace(fence, lease_id=""), bp.Fenced)


def test_an_unclaimed_job_has_no_holder(bench: Bench) -> None:
    all_refused(bench, c.Fence(bench.submit(), 0, mint("l")), bp.Fenced)


def test_after_a_takeover_the_old_holder_is_refused(bench: Bench) -> None:
    zombie = bench.start()
    bench.clock.advance(MINUTE)
    bench.do(c.Reap())
    all_refused(bench, zombie, bp.Fenced, r"was taken back \(submitted\)")
    holder = bench.take(worker="w2")
    all_refused(bench, zombie, bp.Fenced, f"now belongs to worker w2 .token {holder.token}.:")
    bench.do(c.Complete(holder, b"result"))
    all_refused(bench, zombie, bp.Fenced, "is already completed")


def test_after_cancel_the_holder_is_refused(bench: Bench) -> None:
    fence = bench.start()
    bench.do(c.Cancel(fence.job_id))
    all_refused(bench, fence, bp.Canceled, "was canceled: stop working on it")


@pytest.mark.parametrize("end", ENDS)
def test_after_its_end_a_lease_is_over(bench: Bench, end: str) -> None:
    """Only the operation that ended it may be repeated (its reply was lost), and that changes nothing."""
    fence = bench.start()
    ended = WRITES[end](fence)
    bench.do(ended)
    with bench.nothing_changes():
        for write in WRITES.values():
            again = write(fence)
            if type(again) is type(ended):
                bench.do(again)
            else:
                with pytest.raises(bp.Fenced):
                    bench.do(again)


def test_a_job_that_there_is_not(bench: Bench) -> None:
    bench.start()
    all_refused(bench, c.Fence(mint("j"), 1, mint("l")), bp.NotFound)
