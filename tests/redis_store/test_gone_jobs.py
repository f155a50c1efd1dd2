"""A job that is gone while its worker still runs it: one that was deleted is nothing to raise an alarm about, one that
the server has lost is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.names import partition_of
from batonpass.coordinator import commands as c
from batonpass.coordinator.redis.witness import Witness
from batonpass.coordinator.store import Store
from batonpass.coordinator.urls import open_store
from tests.harness.bench import MINUTE, fence_of, new_checkpoint, new_job, new_target

QUEUE = (new_target().queue, MINUTE)
_BACK = "went back in time: it does not know job"


@pytest.fixture(params=["redis_place", "cluster_place"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    made = open_store(request.getfixturevalue(request.param)())
    made.open()
    yield made
    made.close()


def _leased(store: Store) -> tuple[str, c.Fence]:
    job = store.call(new_job()).id
    [delivery] = store.call(c.Claim("w", (QUEUE,), ("lease-0",)))
    return job, fence_of(delivery)


def _by_thread(store: Store, job: str) -> None:
    store.call(c.DeleteThread(job))


def _by_itself(store: Store, job: str) -> None:
    store.call(c.DeleteJob(job))


@pytest.mark.parametrize("delete", [_by_thread, _by_itself])
def test_a_job_that_was_deleted_is_not_lost(
    store: Store, delete: Callable[[Store, str], None], caplog: pytest.LogCaptureFixture
) -> None:
    job, fence = _leased(store)
    store.call(c.Save(job, new_checkpoint(thread=job), fence))
    store.call(c.Cancel(job))
    delete(store, job)
    for late in (c.Save(job, new_checkpoint(thread=job), fence), c.Complete(fence, b"result"), c.Record(fence, {})):
        with pytest.raises(bp.NotFound, match=job):
            store.call(late)
    assert not caplog.records


def test_a_job_that_is_lost_is(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    job, fence = _leased(store)
    _delete_key(store, job)
    with pytest.raises(bp.NotFound, match=job):
        store.call(c.Save(job, new_checkpoint(thread=job), fence))
    [record] = caplog.records
    assert (record.levelno, record.name) == (logging.ERROR, "batonpass.store")
    assert f"{_BACK} {job}, which it leased" in record.getMessage()


def test_what_can_not_be_told_is_no_proof(caplog: pytest.LogCaptureFixture) -> None:
    """There are more events since the job was made than a script looks at. So the next call looks at the store."""
    witness, job = Witness("redis://there"), new_job().job_id
    for searched, told in ((b"", 0), (b"9999999999999-0", 0), (b"1700000000000-7", 1), (b"0-0", 2)):
        witness.refused([b"!no_job", job.encode(), searched])
        assert len(caplog.records) == told
    assert witness.due(c.ReadJob(job))


def _delete_key(store: Any, job: str) -> None:
    if store.url.startswith("redis+cluster"):
        store._link.client.delete(f"{store.prefix(partition_of(job) % 16)}j:{job}")
    else:
        store._sync.delete(f"{store.prefix}j:{job}")
