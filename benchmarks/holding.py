"""Holding: a job under a lease, as a worker holds it."""

from __future__ import annotations

from batonpass.contracts.agent import Agent
from batonpass.contracts.contract import contract_ref, dump_payload
from batonpass.contracts.handoff import Envelope
from batonpass.contracts.names import mint
from batonpass.coordinator.blobs import open_envelope, seal_envelope
from batonpass.coordinator.book import target
from batonpass.coordinator.commands import Claim, Submit
from batonpass.coordinator.store import Store
from batonpass.workers.session import LeaseSession
from benchmarks.agents import Topic

_LEASE = 600_000  # ms: nobody takes it back in the middle of a measurement


def held(store: Store, agent: Agent[Topic]) -> tuple[LeaseSession, Envelope]:
    """A new job of an agent, submitted and claimed."""
    job_id = mint("j")
    contract = contract_ref(agent.accepts)
    sent = Envelope(contract=contract, payload=dump_payload(Topic(number=0)), path=(agent.name,))
    to = target(agent.name, contract, seal_envelope(sent))
    store.call(Submit(job_id, job_id, to))
    [delivery] = store.call(Claim("benchmark", ((to.queue, _LEASE),), (mint("l"),)))
    return LeaseSession(store, delivery), open_envelope(delivery.job.envelope, of=f"job {job_id}")
