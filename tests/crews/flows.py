"""A flow that asks a person and persists by itself. `python -m tests.crews.flows URL ID` answers it, and dies."""

from __future__ import annotations

import os
import sys
from typing import Any

from crewai.flow import Flow, human_feedback, listen, persist, start
from crewai.flow.async_feedback import HumanFeedbackPending
from pydantic import BaseModel

from batonpass.adapters.crewai.persistence import BatonpassPersistence

DIED = 7


class Later:
    def request_feedback(self, context: Any, flow: Any) -> str:
        raise HumanFeedbackPending(context=context)


class Trail(BaseModel):
    id: str = ""
    trail: list[str] = []


def asking(backend: BatonpassPersistence, *, die: bool = False) -> Any:
    """The class of a flow that asks in the middle, and may die after it was answered."""

    @persist(backend)
    class Asking(Flow[Trail]):
        _skip_auto_memory = True

        @start()
        def draft(self) -> str:
            self.state.trail.append("draft")
            return "a draft"

        @listen(draft)
        @human_feedback(message="Is it good?", provider=Later())
        def review(self, said: str) -> str:
            self.state.trail.append("review")
            return f"reviewed {said}"

        @listen(review)
        def publish(self, said: Any) -> str:
            if die:
                os._exit(DIED)
            self.state.trail.append("publish")
            return f"{said.output}: {said.feedback}"

    return Asking


def main() -> None:
    url, flow_id = sys.argv[1:]
    backend = BatonpassPersistence(url)
    asking(backend, die=True).from_pending(flow_id, backend).resume("ship it")


if __name__ == "__main__":
    main()
