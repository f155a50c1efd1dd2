"""What the callbacks of a crew's task change in its output is there after a restart, too, and they are not repeated."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from crewai import Crew, TaskOutput

import batonpass as bp
from batonpass.adapters.crewai.crews.outputs import dump_output
from batonpass.testing import serving

from ..apps.crewai_app import Article, Topic
from ..apps.crewai_kit import Crews, Failing, Note, failure, only, result
from ..apps.kit import checkpoints

pytestmark = [
    pytest.mark.capability("crewai"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # CrewAI uses deprecated parts of itself
]


class Redacting:
    """A crew whose first task has callbacks. Its last one fails in the first attempt, and tells what it saw then."""

    def __init__(self, crews: Crews) -> None:
        self.called: list[str] = []
        self.crews = crews
        crews.script |= {"secret": '{"text": "key 4711"}'}
        crews.fails_once("end", "")
        fail_or_say = crews.script["end"]
        crews.script["end"] = lambda said: fail_or_say(said) or ("leaked" if "4711" in said else "redacted")

    def crew(self, callback: Any, *, of_crew: bool = False, **options: Any) -> Crew:
        def called(output: Any) -> None:
            self.called.append(output.raw)
            callback(output)

        secret = self.crews.task("secret", **options)
        crew = self.crews.crew(secret, self.crews.task("end"))
        if of_crew:  # set later: CrewAI warns of a function
            crew.task_callback = lambda output: called(output) if output.name == "secret" else None
        else:
            secret.callback = called
        return crew


async def ended(factory: Any) -> tuple[str, list[str], Any]:
    """What the job says, its checkpoints' steps, and the output of the first task as the last one has it."""
    async with serving(only(factory)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        text = (await job.result(timeout=20)).text
        saved = await checkpoints(coordinator, job)
        return text, [each.step for each in saved], saved[-1].state["tasks"]["secret"]


@pytest.mark.parametrize("of_crew", [True, False])
async def test_later_tasks_get_the_output_as_the_callbacks_left_it(of_crew: bool, crews: Crews) -> None:
    redacting = Redacting(crews)

    def redact(output: Any) -> None:
        output.raw = output.raw.replace("4711", "***")

    said, steps, kept = await ended(lambda: redacting.crew(redact, of_crew=of_crew))
    assert (said, kept["raw"]) == ("redacted", '{"text": "key ***"}')
    assert steps == ["secret", "secret (callbacks)", "end"]
    assert redacting.called == ['{"text": "key 4711"}']


@pytest.mark.parametrize(("kind", "place"), [("output_pydantic", "pydantic"), ("output_json", "json")])
async def test_so_do_objects_that_they_change_in_place(kind: str, place: str, crews: Crews) -> None:
    redacting = Redacting(crews)

    def redact(output: Any) -> None:
        if output.pydantic is not None:
            output.pydantic.text = "***"
        else:
            output.json_dict["text"] = "***"

    options: dict[str, Any] = {kind: Note}
    _, steps, kept = await ended(lambda: redacting.crew(redact, **options))
    assert kept[place] == {"text": "***"}
    assert (steps, len(redacting.called)) == (["secret", "secret (callbacks)", "end"], 1)


async def test_what_they_change_after_a_restart_is_kept_too(crews: Crews) -> None:
    """The first attempt fails in the callback, the second one in the next task."""
    redacting, fail = Redacting(crews), Failing()

    def redact(output: Any) -> None:
        fail()
        output.raw = output.raw.replace("4711", "***")

    said, steps, _ = await ended(lambda: redacting.crew(redact))
    assert (said, steps) == ("redacted", ["secret", "secret (callbacks)", "end"])
    assert len(redacting.called) == 2


async def test_callbacks_that_change_nothing_cost_no_checkpoint(crews: Crews) -> None:
    redacting = Redacting(crews)
    said, steps, _ = await ended(lambda: redacting.crew(lambda output: None, output_pydantic=Note))
    assert (said, steps, len(redacting.called)) == ("leaked", ["secret", "end"], 1)


async def test_a_callback_that_failed_midway_begins_with_the_output_as_it_was(crews: Crews) -> None:
    """Though another task was saved in the meantime."""
    redacting, beside_is_done, failed = Redacting(crews), threading.Event(), list[bool]()

    def redact(output: Any) -> None:
        output.raw += " seen"
        beside_is_done.wait(10)
        if not failed:
            failed.append(True)
            raise OSError("no disk")

    def factory() -> Crew:
        crew = redacting.crew(redact, async_execution=True)
        beside = crews.task("beside", async_execution=True)
        beside.callback = lambda output: beside_is_done.set()
        crew.tasks.insert(1, beside)
        return crew

    _, _, kept = await ended(factory)
    assert kept["raw"] == '{"text": "key 4711"} seen'
    assert redacting.called == ['{"text": "key 4711"}'] * 2


async def test_callbacks_that_change_nothing_after_a_restart_cost_no_checkpoint_either(crews: Crews) -> None:
    redacting, fail = Redacting(crews), Failing()
    said, steps, _ = await ended(lambda: redacting.crew(lambda output: fail()))
    assert (said, steps, len(redacting.called)) == ("leaked", ["secret", "end"], 2)


async def test_one_that_failed_midway_after_a_restart_begins_with_the_output_as_it_was(crews: Crews) -> None:
    """The second attempt has another task saved while the callback is in the middle."""
    redacting, beside_is_done, attempts = Redacting(crews), threading.Event(), list[int]()

    def redact(output: Any) -> None:
        if len(attempts) == 1:
            raise OSError("no disk")
        output.raw += " seen"
        assert beside_is_done.wait(10)
        if len(attempts) == 2:
            raise OSError("no disk")

    def say(_: str) -> str:
        if len(attempts) == 1:
            raise OSError("no network")
        return "fine"

    def factory() -> Crew:
        attempts.append(1)
        crew = redacting.crew(redact, async_execution=True)
        beside = crews.task("beside", async_execution=True)
        beside.callback = lambda output: beside_is_done.set()
        crew.tasks.insert(1, beside)
        return crew

    crews.script |= {"beside": say, "end": "fine"}
    _, steps, kept = await ended(factory)
    assert kept["raw"] == '{"text": "key 4711"} seen'
    assert redacting.called == ['{"text": "key 4711"}'] * 3
    assert steps[:2] == ["secret", "beside"]


def report(output: Any) -> None:
    output.pydantic = Note(text=output.raw)  # which the task does not declare


def thing(output: Any) -> None:
    output.json_dict = {"at": object()}


@pytest.mark.parametrize("change", [report, thing])
@pytest.mark.parametrize("name", ["first", "end"])
async def test_what_can_not_be_saved_is_told_and_the_output_from_before_kept(
    name: str, change: Callable[[Any], None], crews: Crews, caplog: pytest.LogCaptureFixture
) -> None:
    called = list[str]()

    def callback(output: Any) -> None:
        called.append(output.name)
        change(output)

    def factory() -> Crew:
        tasks = {each: crews.task(each) for each in ("first", "end")}
        tasks[name].callback = callback
        return crews.crew(*tasks.values())

    def leave(left: Any) -> Article:
        output = next(each for each in left.tasks_output if each.name == name)
        return Article(text=str(output.pydantic or output.json_dict))

    async with serving(only(factory, leave=leave)) as coordinator:
        job = await coordinator.submit("a", Topic(text="rain"))
        assert (await job.result(timeout=20)).text != "None"
        saved = await checkpoints(coordinator, job)
    assert [each.step for each in saved] == ["first", "end"]
    assert saved[-1].state["tasks"][name] == {"raw": f"out of {name}"}
    assert called == [name]
    assert f"the output of task '{name}' can't be saved as its callbacks left it" in caplog.text


ODD: list[tuple[str, Any]] = [
    ("raw", {"text": "rain"}),
    ("raw", 7),
    ("raw", b"rain"),
    ("raw", None),
    ("raw", Note(text="rain")),
    ("json_dict", ["rain"]),
    ("json_dict", {1: "rain"}),
    ("agent", None),
    ("name", 7),
]


class Putting:
    """A crew whose first task has something else put in place of its text. The other one does not look at that, and
    fails in the first attempt."""

    def __init__(self, crews: Crews, value: Any) -> None:
        self.outputs: list[Any] = []
        self._value = value
        self._crews = crews
        crews.fails_once("end", "fine")

    def put(self, output: Any) -> tuple[bool, Any]:
        output.raw = self._value
        return True, output

    def crew(self, by: str) -> Crew:
        options = {"guardrail": lambda output: self.put(output)} if by == "guardrail" else {}
        first = self._crews.task("first", **options)
        if by == "callback":  # set later: CrewAI warns of a function
            first.callback = self.put
        return self._crews.crew(first, self._crews.task("end", context=[]))

    def leave(self, left: Any) -> Article:
        self.outputs += left.tasks_output
        return Article(text="fine")


@pytest.mark.parametrize(("field", "value"), ODD)
def test_what_could_not_come_back_is_not_saved(field: str, value: Any, crews: Crews) -> None:
    output = TaskOutput(description="d", agent="a", raw="rain")
    dump_output(crews.task("first"), output, "first")
    setattr(output, field, value)
    with pytest.raises(bp.Unserializable, match=rf"output of task 'first' can't be saved as it is now \({field}"):
        dump_output(crews.task("first"), output, "first")


async def test_what_a_callback_puts_there_in_place_of_a_text_does_not_come_back(
    crews: Crews, caplog: pytest.LogCaptureFixture
) -> None:
    putting = Putting(crews, {"text": "rain"})
    await result(lambda: putting.crew("callback"), leave=putting.leave)
    assert putting.outputs[0].raw == "out of first"
    assert "the output of task 'first' can't be saved as its callbacks left it" in caplog.text


async def test_and_from_a_guardrail_it_is_refused_at_once(crews: Crews) -> None:
    putting = Putting(crews, {"text": "rain"})
    failed = await failure(lambda: putting.crew("guardrail"))
    assert failed.reason == "refused"
    assert "output of task 'first' can't be saved as it is now (raw: " in failed.error
    assert crews.ran == ["first"]


class Accessor(str):
    """As LangChain has one for a message's text."""


@pytest.mark.parametrize("by", ["callback", "guardrail"])
async def test_a_text_of_another_class_comes_back_as_a_text(by: str, crews: Crews) -> None:
    putting = Putting(crews, Accessor("rain"))
    await result(lambda: putting.crew(by), leave=putting.leave)
    assert putting.outputs[0].raw == "rain"


async def test_after_a_restart_they_are_not_called_again_for_it(crews: Crews) -> None:
    redacting = Redacting(crews)
    said, steps, kept = await ended(lambda: redacting.crew(report))
    assert (said, steps, kept) == ("leaked", ["secret", "end"], {"raw": '{"text": "key 4711"}'})
    assert len(redacting.called) == 1
