"""BatonpassPersistence: flows that run without a job keep their states, and what they ask, in a store of ours."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from crewai import Flow
from crewai.flow import listen, persist, start
from crewai.flow.async_feedback import HumanFeedbackPending
from pydantic import BaseModel

import batonpass as bp
from batonpass.adapters.crewai.persistence import BatonpassPersistence, thread_of
from tests.apps.crewai_app import Small
from tests.crews.flows import DIED, asking
from tests.rules.test_acknowledged import ROOT

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


def dies(url: str, flow_id: str) -> bool:
    """Whether a process that answers the flow dies in what comes next."""
    command = [sys.executable, "-m", "tests.crews.flows", url, flow_id]
    return subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120).returncode == DIED


@pytest.mark.timeout(240)
@pytest.mark.parametrize("store", ["sqlite", "redis"])
def test_what_is_asked_stays_until_the_flow_has_finished(store: str, new_url: Callable[[str], str]) -> None:
    """One process asks, another one gets the answer and dies, and then one goes on that has only what is stored."""
    url = new_url(store)
    backend = BatonpassPersistence(url)
    assert isinstance(asking(backend)(persistence=backend).kickoff(inputs={"id": "f1"}), HumanFeedbackPending)
    backend.close()
    assert dies(url, "f1")
    backend = BatonpassPersistence(url)
    flow = asking(backend).from_pending("f1", backend)
    assert flow.pending_feedback.message == "Is it good?"
    assert flow.resume("ship it") == "reviewed a draft: ship it"
    assert backend.load_state("f1") == {"id": "f1", "trail": ["draft", "review", "publish"]}
    with pytest.raises(ValueError, match="No pending feedback"):
        asking(backend).from_pending("f1", backend)
    backend.close()
    with bp.connect(url) as coordinator:
        steps = [each.step for each in coordinator.timeline(thread_of("f1"))]
    assert steps[-3:] == ["review", "review (asks)", "draft"]
    assert steps[0] == "publish"


def test_a_flow_goes_on_from_its_state_and_is_forked(new_url: Callable[[str], str]) -> None:
    backend = BatonpassPersistence(new_url("sqlite"))

    @persist(backend)
    class Counts(Small, Flow[dict]):  # type: ignore[type-arg]
        @start()
        def count(self) -> int:
            self.state["n"] = self.state.get("n", 0) + 1
            return int(self.state["n"])

        @listen(count)
        def stamp(self, n: int) -> int:
            self.state["when"] = datetime(2026, 1, n, tzinfo=UTC)
            return n

    assert Counts().kickoff(inputs={"id": "a"}) == 1
    assert Counts().kickoff(inputs={"id": "a"}) == 2
    kept = backend.load_state("a")
    assert kept is not None
    assert (kept["n"], kept["when"]) == (2, datetime(2026, 1, 2, tzinfo=UTC))
    assert Counts().kickoff(restore_from_state_id="a") == 3
    assert backend.load_state("a") == kept
    assert backend.load_state("nobody") is None
    assert backend.load_pending_feedback("nobody") is None


def test_a_state_that_could_not_come_back_is_refused(new_url: Callable[[str], str]) -> None:
    backend = BatonpassPersistence(new_url("sqlite"))
    with pytest.raises(bp.Unserializable, match=r"handle"):
        backend.save_state("a", "m", {"handle": object()})
    assert backend.load_state("a") is None
    with pytest.raises(bp.BadSetup):
        BatonpassPersistence("flows.db")


def test_with_a_codec_nothing_is_readable(tmp_path: Path) -> None:
    """Not even by a copy that CrewAI makes from a flow's definition: it has no codec, and is refused."""
    url = f"sqlite:///{tmp_path / 'flows.db'}"
    backend = BatonpassPersistence(url, codec=bp.Codec(encrypt={"k": b"k" * 32}))
    backend.init_db()  # CrewAI may say it again
    backend.save_state("a", "m", {"said": "the-moon-is-made-of-cheese"})
    assert backend.load_state("a") == {"said": "the-moon-is-made-of-cheese"}
    backend.close()
    assert b"cheese" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    with pytest.raises(bp.BadSetup, match="codec="):
        BatonpassPersistence(**backend.model_dump())


def test_an_option_that_there_is_not_is_refused(new_url: Callable[[str], str]) -> None:
    with pytest.raises(ValueError, match="compress"):
        BatonpassPersistence(new_url("sqlite"), compress=True)


class Numbers(BaseModel):
    id: str = ""
    numbers: list[int] = []


def test_many_threads_save_at_once(new_url: Callable[[str], str]) -> None:
    backend = BatonpassPersistence(new_url("sqlite"))

    def save(number: int) -> Any:
        for turn in range(5):
            backend.save_state(f"f{number % 2}", f"{number}.{turn}", Numbers(numbers=[number]))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(save, range(4)))
    with bp.connect(backend.url) as coordinator:
        assert [len(coordinator.timeline(thread_of(f"f{number}"))) for number in (0, 1)] == [10, 10]
