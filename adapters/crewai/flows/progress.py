"""FlowProgress: saves and restores a flow's state, and the result of each finished method."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Any

from crewai.flow.human_feedback import HumanFeedbackResult

from ....contracts.checkpoint import Snapshot
from ....coordinator.session import Session
from .. import internals
from ..calls.stop import Stop
from ..saved import VERSION, bookkeeping, fitting
from ..values.contract_versions import Mark
from ..values.values import Values
from .finished_methods import FinishedMethods
from .state import dump_state, load_state


class FlowProgress:
    """The checkpoints of one flow. `methods` holds the finished calls, `asked` the results of methods that wait for
    feedback, by call ("review#0")."""

    def __init__(self, flow: Any, values: Values, session: Session, stop: Stop) -> None:
        self._flow = flow
        self._values = values
        self._session = session
        self._stop = stop
        self._saving = asyncio.Lock()
        self._start = session.checkpoint
        native = bookkeeping(session, "entries")
        self.methods = FinishedMethods(native.get("entries", []))
        self.asked: dict[str, Any] = dict(native.get("asked", {}))
        self._contracts: tuple[int, list[Mark]] = tuple(native.get("contracts", (0, [])))

    def finished_before(self, call: str) -> bool:
        """Whether a method call ("review#0") had finished before this delivery."""
        method, _, number = call.rpartition("#")
        return self.methods.recorded(method) > int(number or 0)

    def gone(self) -> str:
        """The finished methods that the flow no longer has. "" if it has all."""
        return self._missing(entry["method"] for entry in self.methods.entries)

    def lost(self, begun: Iterable[str]) -> str:
        """The methods that the flow no longer has, of calls that have begun or wait for a person. "" if it has all."""
        return self._missing(call.rpartition("#")[0] for call in {*begun, *self.asked} if call)

    def _missing(self, methods: Iterable[str]) -> str:
        missing = sorted({*methods} - internals.methods_of(self._flow))
        return f"method{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}" if missing else ""

    def restore_state(self) -> None:
        """Give the flow its newest saved state, if there is one."""
        if self._start is None:
            return
        with self._stop.on_error():
            internals.set_state(self._flow, self._state(self._start.state))

    def replay(self, entry: Mapping[str, Any]) -> Any:
        """Bring the flow to where it was when this call had finished. Returns the call's result."""
        with self._stop.on_error():
            result, feedback = self._result(entry)
        if feedback is not None:
            self._flow.human_feedback_history.append(feedback)
            self._flow.last_human_feedback = feedback
        output = result if feedback is None or result is feedback else feedback.output
        internals.note_finished(self._flow, entry["method"], output, feedback)
        return result

    async def finished(self, call: str, method: str, result: Any, feedback: HumanFeedbackResult | None) -> None:
        """Save that a call finished. A result that routes ("approved") is kept beside the feedback it came from."""
        with self._stop.on_error():
            entry: dict[str, Any] = {"method": method}
            if feedback is not None:
                entry["feedback"] = self._values.dump(feedback, f"feedback on method {method!r}")
            if feedback is None or result is not feedback:
                entry["result"] = self._values.dump(result, f"result of method {method!r}")
            async with self._saving:
                self.methods.entries.append(entry)
                self.asked.pop(call, None)
                await self._save(method)

    async def waits(self, call: str, method: str, output: Any) -> None:
        """Save a method's output before a person is asked about it, so that the method does not run again."""
        if call in self.asked:
            return
        with self._stop.on_error():
            dumped = self._values.dump(output, f"result of method {method!r}")
            async with self._saving:
                self.asked[call] = dumped
                await self._save(f"{method} (asks)")

    def output(self, call: str) -> Any:
        """The method's output in a call that waits for feedback."""
        with self._stop.on_error():
            return self._output(call)

    def load(self) -> None:
        """Load all that was saved, as a run would. Raises what would end the run. (Results of methods that are gone are
        not loaded.)"""
        if self._start is not None:
            self._state(self._start.state)
        methods = internals.methods_of(self._flow)
        for entry in self.methods.entries:
            if entry["method"] in methods:
                self._result(entry)
        for call in self.asked:
            self._output(call)

    def _state(self, stored: Any) -> Any:
        version, where = self._contracts
        present = self._values.present
        with fitting(f"the state of flow {type(self._flow).__name__}"):
            stored = present(stored, where, migrated=version != present.state_version)
            return load_state(self._flow.state, stored, self._values)

    def _result(self, entry: Mapping[str, Any]) -> tuple[Any, Any]:
        """What a method call returned, and the feedback on that."""
        with fitting(f"the result of method {entry['method']!r}"):
            feedback = self._values.load(entry.get("feedback"))
            return self._values.load(entry["result"]) if "result" in entry else feedback, feedback

    def _output(self, call: str) -> Any:
        with fitting(f"the result of method call {call!r}"):
            return self._values.load(self.asked[call])

    async def _save(self, step: str) -> None:
        state, where = dump_state(self._flow.state, self._values, type(self._flow).__name__)
        native: dict[str, Any] = {"v": VERSION, "entries": list(self.methods.entries), "asked": dict(self.asked)}
        if where:
            native["contracts"] = [self._values.present.state_version, where]
        await self._session.asave(Snapshot(step=step, state=state, framework="crewai", native=native))
