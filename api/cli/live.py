"""Live: whether the versions of live workers agree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from batonpass.contracts.worker import WorkerInfo
from batonpass.coordinator.checkup import Finding


def judged(workers: Sequence[WorkerInfo]) -> Iterator[Finding]:
    """Findings about the versions of live workers. Two versions of one thing are a deploy that is not over."""
    running: dict[str, dict[str, list[str]]] = {}
    for worker in workers:
        running.setdefault("Batonpass", {}).setdefault(worker.batonpass, []).append(worker.id)
        running.setdefault(f"app {worker.app}", {}).setdefault(worker.version, []).append(worker.id)
    for what, versions in running.items():
        if len(versions) > 1:
            told = "; ".join(f"{name or 'no version'}: {', '.join(ids)}" for name, ids in sorted(versions.items()))
            text = f"live workers run several versions of {what} ({told})"
            yield Finding("warn", "workers", f"{text}: unless a deploy is in progress, stop the older ones")
    if workers:
        told = ", ".join(f"{what} {name}" for what, versions in running.items() for name in sorted(versions) if name)
        yield Finding("ok", "workers", f"{len(workers)} live: {told}")
