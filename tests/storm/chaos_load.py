"""The clients of a chaos run: they submit, and try again when the store is away."""

from __future__ import annotations

import time
from threading import Event, Thread

import batonpass as bp
from tests.storm.chaos_app import Done, Task, app

# Jobs that wait or run at any moment: enough for every slot, few enough to end soon.
_UNENDED = 60


class Load(Thread):
    """Submits `rate` jobs a second, as long as the workers keep up. `jobs` are those that were acknowledged."""

    def __init__(self, url: str, rate: float) -> None:
        super().__init__(name="chaos-load")
        self._url = url
        self._rate = rate
        self._enough = Event()
        self.jobs: list[bp.SyncJob[Done]] = []
        self.unended: list[bp.SyncJob[Done]] = []
        self.waited = 0.0  # seconds for the store
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with bp.connect(self._url, app=app) as coordinator:
                coordinator.declare(app)
                began = time.monotonic()
                while not self._enough.wait(0.05):
                    self._round(coordinator, (time.monotonic() - began) * self._rate)
        except BaseException as error:
            self.error = error

    def stop(self) -> None:
        """Submit nothing more."""
        self._enough.set()
        self.join()
        if self.error:
            raise self.error

    def _round(self, coordinator: bp.SyncCoordinator, due: float) -> None:
        try:
            if len(self.unended) >= _UNENDED:
                self.unended = [job for job in self.unended if not job.info().state.ended]
            while len(self.jobs) < due and len(self.unended) < _UNENDED:
                number = len(self.jobs)
                job = coordinator.submit("draft", Task(number=number), returns=Done, key=f"chaos-{number}")
                self.jobs.append(job)
                self.unended.append(job)
        except bp.Unavailable:
            self.waited += 0.05
