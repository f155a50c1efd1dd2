"""What you need to write an adapter, so that another framework's agents survive crashes and hand off jobs.

An adapter is a class with one method, `run` (see `Adapter`), named by an entry point of the group `batonpass.adapters`:

    [project.entry-points."batonpass.adapters"]
    pydantic-ai = "my_package.adapter:PydanticAIAdapter"

Once that is installed, it runs `@app.agent("research", kind="pydantic-ai", accepts=Topic, returns=Report)`. `run` must

1. build the framework's object with the user's factory: `async with built(agent, context) as made`;
2. continue from `session.checkpoint` if there is one, else start with `await enter(agent, payload, context, default)`;
3. after each finished step save a `Snapshot` (`session.asave`; `session.save` in sync code): plain values from which a
   new object in another process can continue. For slow work between two snapshots, use `session.record`;
4. let `Fenced` out at once, because nothing that this process does after it counts;
5. return `Finished(await leave(agent, result, context, default))`, or `Suspended(question)` to ask a person. When it
   runs again, `session.answer` has the answer.

An adapter with `remembers = True` begins with `session.remembered` where there is no checkpoint: a worker refuses
`memory=` for agents of others. `session.inherited` (with `remembered`, `session.news`) is the conversation that the
agent continues, and `session.spend` counts what models used towards the job's budget. Another payload for a job that
has saved is refused, unless a static method `keeps_payload(checkpoint)` returns "": then `run` reads it again.

With static methods `read_transcript` and `write_transcript` (as in `batonpass.adapters.autogen`), its conversations can
continue in other frameworks. `examples/pydantic_ai_adapter.py` is a complete example, and
`batonpass.testing.AdapterCases` tests an adapter.
"""

from batonpass.adapters.adapter import Adapter
from batonpass.adapters.borders import enter, fit, fit_text, leave
from batonpass.adapters.factory import built
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.handoff import Answer
from batonpass.contracts.outcome import Finished, Outcome, Rejected, Suspended
from batonpass.contracts.transcript_losses import Losses
from batonpass.coordinator.session import Session
from batonpass.coordinator.transcripts import Saved

__all__ = [
    "Adapter",
    "Answer",
    "Finished",
    "Losses",
    "Outcome",
    "Rejected",
    "Saved",
    "Session",
    "Snapshot",
    "Suspended",
    "built",
    "enter",
    "fit",
    "fit_text",
    "leave",
]
