"""The coordinator's own methods: the same from sync and async code, on every store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

import batonpass as bp
from batonpass.contracts.contract import ContractRef, Payload, load_payload
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from batonpass.coordinator.blobs import open_envelope
from batonpass.coordinator.calls.jobs import seal_result
from tests.harness.bench import MINUTE, Bench, fence_of


class Notes(bp.Contract, name="conformance.notes"):
    facts: list[str]


class Draft(bp.Contract, name="conformance.draft"):
    text: str


desk = bp.App("conformance")


@desk.agent("writer", accepts=Notes, returns=Draft)
def writer(notes: Notes) -> Draft:
    return Draft(text=notes.facts[0])


@desk.agent("approver", accepts=bp.State, returns=Draft)
def approver(state: bp.State) -> Draft:
    return Draft(text="fine")


NOTES = Notes(facts=["one"])


def take(bench: Bench, job: Any) -> c.Fence:
    """Claim the handle's job."""
    row = bench.job(job.id)
    [delivery] = bench.do(c.Claim("w", ((row.queue, MINUTE),), (mint("l"),)))
    assert delivery.job.id == job.id
    return fence_of(delivery)


def test_submit_and_look(bench: Bench) -> None:
    face = bench.face(desk)
    job = bench.run(face.submit(writer, NOTES, key="ticket-1", thread="run"))
    info: bp.JobInfo = bench.run(job.info())
    assert (info.id, info.state, info.reason, info.agent, info.thread) == (
        *(job.id, bp.JobState.SUBMITTED, "ready", "writer", "run"),
    )
    assert (info.contract, info.path, info.key, info.hop, info.attempt) == (
        *(ContractRef("conformance.notes", 1), ("writer",), "ticket-1", 0, 1),
    )
    assert (info.lease, info.checkpoint_id, info.question, info.error, info.due_at) == (None,) * 5
    assert info.created_at == datetime.fromtimestamp(bench.clock.now / 1000, UTC)
    fence = take(bench, job)
    lease = bench.run(job.info()).lease
    assert (lease.id, lease.token, lease.worker) == (fence.lease_id, fence.token, "w")
    assert lease.expires_at.timestamp() * 1000 == bench.clock.now + MINUTE


def test_what_a_job_was_given(bench: Bench) -> None:
    class Changed(bp.Contract, name="conformance.notes"):
        facts: list[int]

    changed = bp.App("desk")
    changed.agent("writer", accepts=Changed, returns=Draft)(lambda notes: Draft(text=""))
    job = bench.run(bench.face(desk).submit(writer, NOTES))
    assert bench.run(job.payload()) == NOTES
    for client in (bench.face(), bench.face(changed)):  # without the class, and with one that it does not fit
        as_stored = Payload(ContractRef("conformance.notes", 1), NOTES.model_dump())
        assert bench.run(client.job(job.id).payload()) == as_stored
    with bench.refused(bp.NotFound):
        bench.run(bench.face().job(mint("j")).payload())


def test_the_same_key_with_the_same_words_of_another_contract(bench: Bench) -> None:
    class Two(bp.Contract, name="conformance.notes", version=2):
        facts: list[str]

    later = bp.App("desk")
    later.agent("writer", accepts=Two, returns=Two)(lambda notes: notes)
    first = bench.run(bench.face(desk).submit("writer", NOTES, key="k"))
    with bench.refused(bp.KeyConflict, first.id):
        bench.run(bench.face(later).submit("writer", Two(facts=NOTES.facts), key="k"))


def test_the_same_key(bench: Bench) -> None:
    face = bench.face(desk)
    first = bench.run(face.submit("writer", NOTES, key="k"))
    with bench.nothing_changes():
        assert bench.run(face.submit("writer", {"facts": ["one"]}, key="k")).id == first.id
    with bench.refused(bp.KeyConflict, first.id):
        bench.run(face.submit("writer", Notes(facts=["two"]), key="k"))


@pytest.mark.parametrize(
    ("agent", "payload", "error", "match"),
    [
        ("nobody", NOTES, bp.UnknownAgent, "'nobody'.*approver, writer"),
        ("writer", {"facts": "one"}, bp.ContractViolation, "facts"),
        ("writer", {}, bp.ContractViolation, "facts"),
        ("writer", Draft(text="x"), bp.ContractViolation, "accepts conformance.notes@1, not conformance.draft@1"),
        ("writer", ["one"], bp.ContractViolation, "not list"),
        ("writer", Notes.model_construct(facts=[3]), bp.ContractViolation, "facts"),
        ("approver", {"x": object()}, bp.Unserializable, r"payload\['x'\]"),
    ],
)
def test_bad_input_is_refused_before_anything_is_written(
    bench: Bench, agent: str, payload: Any, error: type[Exception], match: str
) -> None:
    with bench.refused(error, match):
        bench.run(bench.face(desk).submit(agent, payload))


def test_an_agent_that_only_the_store_knows(bench: Bench) -> None:
    bench.run(bench.face(desk).declare(desk))
    stranger = bench.face(bp.App("stranger"))
    job = bench.run(stranger.submit("writer", {"facts": ["one"]}))
    assert bench.job(job.id).contract == "conformance.notes@1"
    for payload, error in ((Draft(text="x"), bp.ContractViolation), ({"fact": 1}, bp.ContractViolation)):
        with bench.refused(error):
            bench.run(stranger.submit("writer", payload))
    with bench.refused(bp.UnknownAgent):
        bench.run(stranger.submit("nobody", {}))


def test_a_result(bench: Bench) -> None:
    face = bench.face(desk)
    job = bench.run(face.submit("writer", NOTES, returns=Draft))
    fence = take(bench, job)
    bench.do(c.Complete(fence, seal_result(ContractRef("conformance.draft", 1), b'j{"text":"done"}')))
    assert bench.run(job.result(timeout=30)) == Draft(text="done")
    assert bench.run(face.job(job.id).result(timeout=30)) == Draft(text="done")
    payload = bench.run(bench.face(bp.App("stranger")).job(job.id).result(timeout=30))
    assert (dict(payload), payload.ref) == ({"text": "done"}, ContractRef("conformance.draft", 1))


@pytest.mark.one_partition
def test_other_ends(bench: Bench) -> None:
    face = bench.face(desk)
    failed, rejected, canceled = (bench.run(face.submit("writer", NOTES)) for _ in range(3))
    bench.do(c.Fail(take(bench, failed), "boom", "attempts"))
    bench.do(c.Fail(take(bench, rejected), "not mine", "rejected", None, "rejected"))
    assert bench.run(canceled.cancel()) is True
    assert bench.run(canceled.cancel()) is False
    for job, error, words in (
        (failed, bp.JobFailed, r"failed at agent 'writer', hop 0 \(attempts\): boom"),
        (rejected, bp.JobRejected, "rejected by agent 'writer': not mine"),
        (canceled, bp.JobCanceled, "was canceled"),
    ):
        with pytest.raises(error, match=words) as raised:
            bench.run(job.result(timeout=30))
        assert raised.value.job_id == job.id


def test_a_result_that_takes_too_long_says_why(bench: Bench) -> None:
    face = bench.face(desk)
    job = bench.run(face.submit("writer", NOTES))
    with pytest.raises(bp.ResultTimeout, match="no live worker accepts it: start one"):
        bench.run(job.result(timeout=0.01))
    bench.do(c.Reap(worker="w", queues=(bench.job(job.id).queue,), presence=MINUTE))
    with pytest.raises(bp.ResultTimeout, match=r"1 live worker\(s\) accept it"):
        bench.run(job.result(timeout=0.01))
    fence = take(bench, job)
    with pytest.raises(bp.ResultTimeout, match="is working at agent 'writer' on worker w"):
        bench.run(job.result(timeout=0.01))
    bench.suspend(fence, "which one?")
    with pytest.raises(bp.ResultTimeout, match="it asks 'which one\\?'"):
        bench.run(job.result(timeout=0.01))
    later = bench.run(face.submit("writer", NOTES, delay=3600))
    with pytest.raises(
        bp.ResultTimeout, match=r"is submitted \(scheduled\), due \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, for"
    ):
        bench.run(later.result(timeout=0.01))


def test_a_question_and_its_answer(bench: Bench) -> None:
    job = bench.run(bench.face(desk).submit("writer", NOTES))
    bench.suspend(take(bench, job), "which one?")
    assert bench.run(job.info()).question == "which one?"
    with bench.refused(bp.Unserializable):
        bench.run(job.answer(object()))
    bench.run(job.answer({"choice": (1, 2)}))
    assert bench.run(job.info()).question is None
    assert take(bench, job)


def test_lists_of_jobs(bench: Bench) -> None:
    face = bench.face(desk)
    jobs: list[Any] = []
    for n in range(6):
        jobs.insert(0, bench.run(face.submit("writer" if n % 2 else "approver", {"facts": [str(n)]})))
        bench.clock.advance(1)
    bench.run(jobs[0].cancel())
    assert [info.id for info in bench.run(face.jobs())] == [job.id for job in jobs]
    assert [info.id for info in bench.run(face.jobs(limit=2))] == [job.id for job in jobs[:2]]
    assert [info.id for info in bench.run(face.jobs(limit=2, before=jobs[1].id))] == [job.id for job in jobs[2:4]]
    assert bench.run(face.jobs(before=jobs[-1].id)) == []
    with bench.refused(bp.NotFound):
        bench.run(face.jobs(before="nonsense"))
    assert [info.id for info in bench.run(face.jobs(state="canceled"))] == [jobs[0].id]
    assert [info.id for info in bench.run(face.jobs(agent="writer", limit=2))] == [jobs[0].id, jobs[2].id]


def test_the_five_operations(bench: Bench) -> None:
    face = bench.face(desk)
    state = {"text": "x", "facts": ["one"], "when": datetime(2026, 1, 2, tzinfo=UTC), "ids": {1, 2}, 3: (4,)}
    saved = bench.run(
        face.save(thread="run", agent="a", state=state, context={"invoice": "I"}, step="validate", ttl=3600)
    )
    again = bench.run(face.restore(saved.id))
    assert again == saved == bench.run(face.latest(thread="run"))
    assert (again.state, again.context, again.step, again.framework) == (state, {"invoice": "I"}, "validate", "python")
    assert (again.expires_at - again.created_at).total_seconds() == 3600
    second = bench.run(face.save(thread="run", agent="a", state={"facts": ["two"]}, parent=saved.id))
    assert (second.parent_id, second.step_index) == (saved.id, 1)
    with bench.refused(bp.Conflict):
        bench.run(face.save(thread="run", agent="a", state={}, parent=saved.id))
    assert [item.id for item in bench.run(face.timeline(thread="run"))] == [second.id, saved.id]
    assert [item.id for item in bench.run(face.timeline(thread="run", limit=5, before=second.id))] == [saved.id]
    job = bench.run(face.hand_off(second.id, to="writer", key="once"))
    info = bench.run(job.info())
    assert (info.thread, info.checkpoint_id, info.agent) == (job.id, second.id, "writer")
    with bench.nothing_changes():
        assert bench.run(face.hand_off(second.id, to="writer", key="once")).id == job.id
    bench.run(face.expire(second.id))
    assert bench.run(face.latest(thread="run")).id == saved.id


def test_handing_off_a_state_that_does_not_fit(bench: Bench) -> None:
    face = bench.face(desk)
    wrong = bench.run(face.save(thread="run", agent="a", state={"facts": 1}))
    with bench.refused(bp.ContractViolation, "facts"):
        bench.run(face.hand_off(wrong.id, to="writer"))
    assert bench.run(face.hand_off(wrong.id, to="writer", payload={"facts": ["one"]}))
    assert bench.run(face.hand_off(wrong.id, to=approver))
    plain = bench.run(face.save(thread="walk", agent="a", state=[1, 2]))
    with bench.refused(bp.ContractViolation, "is a list, not a dict: give payload="):
        bench.run(face.hand_off(plain.id, to="approver"))
    with bench.refused(bp.NotFound):
        bench.run(face.hand_off(mint("c"), to="approver"))


def test_a_state_goes_over_with_its_types(bench: Bench) -> None:
    face = bench.face(desk)
    saved = bench.run(
        face.save(thread="run", agent="a", state={"when": datetime(2026, 1, 2, tzinfo=UTC), "ids": {1, 2}})
    )
    job = bench.run(face.hand_off(saved.id, to="approver"))
    row = bench.job(job.id)
    payload = load_payload(bp.State, open_envelope(row.envelope, of="x").payload)
    assert payload.as_dict() == {"when": datetime(2026, 1, 2, tzinfo=UTC), "ids": {1, 2}}


@pytest.mark.parametrize("text", ["", "run-001", "u" * 24, "j001", "c001m7yazg2ds0rbg9z0wc6f\n", "💥"])
def test_what_is_no_id_is_refused_before_the_store_is_asked(bench: Bench, text: str) -> None:
    face = bench.face(desk)
    for call in (face.restore, face.expire, lambda id_: face.hand_off(id_, to="approver")):
        with bench.refused(bp.NotFound, "is not a checkpoint id"):
            bench.run(call(text))
    with bench.refused(bp.NotFound, "is not a job id"):
        bench.run(face.job(text))


def test_a_state_that_could_not_come_back_is_not_saved(bench: Bench) -> None:
    with bench.refused(bp.Unserializable, r"state\['items'\]\[1\] can't be saved"):
        bench.run(bench.face(desk).save(thread="run", agent="a", state={"items": [1, object()]}))


def test_what_is_saved_does_not_follow_the_savers_objects(bench: Bench) -> None:
    face = bench.face(desk)
    state = {"items": [1]}
    saved = bench.run(face.save(thread="run", agent="a", state=state))
    state["items"].append(2)
    assert saved.state == {"items": [1]} == bench.run(face.restore(saved.id)).state


@pytest.mark.one_partition
def test_events_of_one_job_and_of_all(bench: Bench) -> None:
    face = bench.face(desk)
    first, second = (bench.run(face.submit("writer", NOTES)) for _ in range(2))
    fence = take(bench, first)
    bench.do(c.Fail(fence, "boom", "", retry_in=MINUTE))
    found: list[Any] = bench.run(face.events(job=first.id))
    assert [event.type.rpartition(".")[2] for event in found] == ["submitted", "started", "retrying"]
    assert {event.subject for event in found} == {first.id}
    assert found[0].source == face.url
    assert found[0].time.tzinfo is UTC
    assert (found[1].data["token"], found[1].data["worker"], found[1].data["hop"]) == (fence.token, "w", 0)
    assert (found[2].data["error"], found[2].data["attempt"], found[2].data["due"]) == (
        "boom",
        2,
        bench.clock.now + MINUTE,
    )
    everything: list[Any] = bench.run(face.events())
    assert [event.subject for event in everything].count(second.id) == 1
    assert bench.run(face.events(after=everything[1].cursor)) == everything[2:]
    assert bench.run(face.events(after=everything[-1].cursor)) == []
    with pytest.raises(bp.BadSetup, match="is not an event cursor"):
        bench.run(face.events(after="yesterday"))
