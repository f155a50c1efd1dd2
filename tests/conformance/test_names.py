"""Names from users may hold anything: none is taken for another, an id or a key, and each comes back as it was."""

from __future__ import annotations

import pytest

import batonpass as bp
from batonpass.contracts.names import mint
from batonpass.coordinator import commands as c
from tests.harness.bench import Bench, new_job

# Neighbours that a careless separator, encoding, case folding or normalisation would take for each other.
NAMES = [
    *(
        "a",
        "A",
        "a ",
        " a",
        "a:b",
        "a:b:",
        "a::b",
        "a{b}",
        "{a}",
        "{a}:b",
        "}",
        "{",
        "a/b",
        "a\\b",
        "a%3Ab",
        "a*",
        "a?",
    ),
    *("[a]", "a\0", "a\0b", "\0", "a\nb", "a\r\nb", "a\tb", "'", '"', "''", "';--", "%s", "%", "$1", "é", "e\u0301"),
    *("ß", "ss", "İ", "💥", "👩‍👩‍👧", "\u202ea", "\ufeffa", "\uffff", "0", "-", "+", "0-0", "(", "inf", "nil", "None"),
    *("j" * 24, "events", "leases", "default", "x" * 100_000, "x" * 99_999 + "y"),
]
LOOKS_LIKE_IDS = [mint("j"), mint("c"), mint("l")]


@pytest.mark.one_partition
def test_threads(bench: Bench) -> None:
    names = NAMES + LOOKS_LIKE_IDS
    saved = {name: bench.save(None, n, thread=name) for n, name in enumerate(names)}
    for name, checkpoint in saved.items():
        assert [(row.id, row.thread) for row in bench.line(name)] == [(checkpoint, name)]
        found = bench.do(c.Latest(name))
        assert found is not None
        assert (found.id, found.thread, bench.do(c.Restore(checkpoint)).thread) == (checkpoint, name, name)
    told = [row.fields["subject"] for row in bench.do(c.Events(limit=500))]
    assert told == names


def test_jobs_on_threads(bench: Bench) -> None:
    """One unended job on each, even if a thread's name is another job's or checkpoint's id."""
    names = [*NAMES, bench.submit(), bench.save(None, thread="t"), mint("j")]
    first = names[-3]
    with bench.refused(bp.ThreadBusy):
        bench.submit(thread=first)
    for name in names:
        if name != first:
            job_id = bench.submit(thread=name)
            assert bench.job(job_id).thread == name
            with pytest.raises(bp.ThreadBusy) as refused:
                bench.submit(thread=name)
            assert job_id in str(refused.value)


def test_agents(bench: Bench) -> None:
    jobs = {name: bench.submit(name) for name in NAMES}
    for name, job_id in jobs.items():
        [delivery] = bench.claim(5, agent=name)
        assert (delivery.job.id, delivery.job.agent) == (job_id, name)
    declarations = {name: name[:50].encode() for name in NAMES}
    bench.do(c.Declare(declarations))
    assert bench.do(c.Declared()) == declarations


def test_keys(bench: Bench) -> None:
    jobs = {name: bench.submit(key=name) for name in NAMES}
    assert len(set(jobs.values())) == len(NAMES)
    for name, job_id in jobs.items():
        assert bench.submit(key=name) == job_id
        assert bench.job(job_id).key == name
        with pytest.raises(bp.KeyConflict):
            bench.submit(key=name, payload="{} ")


def test_a_key_and_its_agent_do_not_run_into_each_other(bench: Bench) -> None:
    pairs = [("a", "bc"), ("ab", "c"), ("a:b", "c"), ("a", "b:c"), ("a\0b", "c"), ("a", "b\0c")]
    assert len({bench.submit(agent, key=key) for agent, key in pairs}) == len(pairs)


def test_workers_journal_keys_and_errors(bench: Bench) -> None:
    for name in NAMES:
        fence = bench.start()
        bench.do(c.Record(fence, {name: b"1", f"{name}:x": b"2"}))
        bench.do(c.Release(fence))
        [delivery] = bench.claim(worker=name)
        assert dict(delivery.journal) == {name: b"1", f"{name}:x": b"2"}
        fence = delivery.job.fence
        assert delivery.job.worker == name
        bench.do(c.Fail(fence, name, name))
        assert (bench.job(fence.job_id).error, bench.job(fence.job_id).reason) == (name, name)


def test_namespaces(bench: Bench) -> None:
    names = [name for name in NAMES if len(name) < 1000] + ["x" * 1000, "x" * 999 + "y"]
    jobs: dict[str, str] = {}
    for name in names:
        with bench.beside(name) as there:
            jobs[name] = there.submit(key="k", thread="run")
    assert len(set(jobs.values())) == len(names)
    for name, job_id in jobs.items():
        with bench.beside(name) as there:
            assert [row.id for row in there.do(c.ListJobs())] == [job_id]
            assert there.submit(key="k", thread="run") == job_id


def test_an_id_of_one_kind_is_none_of_another(bench: Bench) -> None:
    job = bench.do(new_job())
    saved = bench.save(None, thread="run")
    for command in (c.ReadJob(saved), c.Restore(job.id), c.Expire(job.id), c.Cancel(saved), c.Restore("run")):
        with bench.refused(bp.NotFound):
            bench.do(command)
