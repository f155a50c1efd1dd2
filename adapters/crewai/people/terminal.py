"""Terminal: CrewAI asks people by reading stdin. Nobody is at a worker's stdin, so that would block for ever."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from crewai.core.providers.human_input import SyncHumanInputProvider, get_provider, reset_provider, set_provider
from crewai.flow.async_feedback import ConsoleProvider, PendingFeedbackContext
from crewai.flow.flow_config import flow_config

from ....contracts.errors import BadSetup
from ....contracts.handoff import Answer
from ....coordinator.following import afollow, follow
from .. import internals
from ..calls.steps import Steps
from .feedback import question, words

_log = logging.getLogger("batonpass.crewai")


class Asked(Exception):
    """Control flow: a task, or a flow inside the job's own, waits for a person's feedback on its output."""

    def __init__(self, question: dict[str, Any]) -> None:
        super().__init__(question["message"])
        self.question = question


class _Said(NamedTuple):
    """A person's feedback on an output.

    If the person didn't answer, later outputs are not asked about either. Otherwise each round would cost model calls,
    for ever.
    """

    words: str
    by_default: bool = False


_NOTHING = _Said("")


class _Person(SyncHumanInputProvider):
    """Suspends the job instead of reading stdin, for `Task(human_input=True)`, and for `@human_feedback` in a flow that
    a method of the job's own flow runs. What a person says is recorded like the answers of models and tools.

    `flow.ask()` would take any error for "no answer", and the method would go on without it, so it ends the run there.
    """

    def __init__(self, steps: Steps, answer: Answer | None, agent: str) -> None:
        self._steps = steps
        self._answer = answer
        self._answered = "" if answer is None else steps.at_present(str(answer.question.get("call")))
        self._heard = False
        self._agent = agent

    def handle_feedback(self, formatted_answer: Any, context: Any) -> Any:
        return follow(self._rounds(formatted_answer, context), lambda _: internals.improve(context))

    async def handle_feedback_async(self, formatted_answer: Any, context: Any) -> Any:
        return await afollow(self._rounds(formatted_answer, context), lambda _: internals.aimprove(context))

    def _rounds(self, answer: Any, context: Any) -> Generator[None, Any, Any]:
        """The answer that the person has nothing to say about. Asks for a better one until then."""
        said = self._said(answer, context)
        while said.words:
            internals.say(context, said.words)
            answer = yield
            said = _NOTHING if said.by_default else self._said(answer, context)
        context.ask_for_human_input = False
        return answer

    def _said(self, answer: Any, context: Any) -> _Said:
        """A person's feedback on an output. Empty if the output is good as it is."""
        output, task = str(answer.output), context.task
        question = {
            "message": "Is this good? If so, leave the answer empty. If not, say what to improve.",
            "output": output,
            "task": (task.name or internals.text_of(task)) if task is not None else "",
        }
        return self._ask(question, output)

    def feedback(self, context: PendingFeedbackContext) -> str:
        """A person's feedback on the output of an inner flow's method."""
        asked = question(context, "")
        return self._ask(asked, asked["method"], asked["message"], asked["output"]).words

    def _ask(self, question: dict[str, Any], *about: Any) -> _Said:
        call = self._steps.begin("person", *about)
        name = f"{call.place} {call.path}"
        self._heard = self._heard or name == self._answered
        if call.answer is not None:
            return _Said(str(call.answer[1]), by_default="by default" in call.answer[2:])
        if self._answer is None or name != self._answered:
            self._warn_of_another(call.place, question)
            with self._steps.stop.on_error():
                raise Asked({**question, "call": name})
        said = _Said(words(self._answer.value).strip(), self._answer.is_default)
        self._steps.record(call, ["said", said.words, *(["by default"] if said.by_default else [])])
        return said

    def _warn_of_another(self, place: str, question: dict[str, Any]) -> None:
        """Log that an answer is not used, because new code gives a task another text, and so its agent another
        output."""
        if not self._heard and self._steps.is_moved(place) and self._answered.startswith(f"{place} "):
            _log.warning(
                "agent %r: a person has answered about an output of task %r, but its text has changed, and its output "
                "with it: the person is asked again",
                self._agent,
                question["task"],
            )

    def request_input(self, message: str, flow: Any, metadata: Any = None) -> Any:
        self._steps.stop.halt(
            BadSetup(
                f"agent {self._agent!r}: flow.ask() reads the terminal, and a worker has nobody there. "
                "Use @human_feedback: it suspends the job until job.answer()"
            )
        )


# Who is asked in place of the terminal, by a flow of the job that runs in this context.
_nobody: ContextVar[_Person | None] = ContextVar("batonpass_crewai_nobody", default=None)


class _OfInnerFlow(ConsoleProvider):
    """Asks the person instead of the terminal."""

    def __init__(self, person: _Person) -> None:
        super().__init__()
        self._person = person

    def request_feedback(self, context: PendingFeedbackContext, flow: Any) -> str:
        return self._person.feedback(context)


def _in_place_of(provider: Any) -> Any:
    """A flow's provider of feedback. In a job, a person replaces the terminal, and a provider that is missing."""
    person = get_provider()
    asks_terminal = provider is None or isinstance(provider, ConsoleProvider)
    return _OfInnerFlow(person) if asks_terminal and isinstance(person, _Person) else provider


def _in_place_of_input(provider: Any) -> Any:
    """A flow's provider of what `ask()` returns. In a job, the terminal's is replaced by one that ends the run."""
    nobody = _nobody.get()
    return nobody if nobody is not None and isinstance(provider, ConsoleProvider) else provider


def _end_asking(flow: Any, person: _Person) -> None:
    """Have `ask()` of the job's own flow end the run from threads of the user's own, too: they have no context. It
    stays so, because such a thread may outlive the run. No other job uses the flow."""
    provider = flow_config.input_provider if flow.input_provider is None else flow.input_provider
    if provider is None or isinstance(provider, ConsoleProvider):
        flow.input_provider = person


@contextmanager
def no_terminal(steps: Steps, answer: Answer | None, agent: str, flow: Any = None) -> Generator[None]:
    """A block in which to ask a person suspends the job, or ends the run and says what to do instead. Providers that
    the user has set stay. `flow` is the job's own."""
    internals.watch_providers(_in_place_of, _in_place_of_input)
    person = _Person(steps, answer, agent)
    if flow is not None:
        _end_asking(flow, person)
    before = _nobody.set(person)
    token = set_provider(person) if type(get_provider()) is SyncHumanInputProvider else None
    try:
        yield
    finally:
        if token is not None:
            reset_provider(token)
        _nobody.reset(before)
