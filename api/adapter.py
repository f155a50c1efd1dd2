"""What the author of an adapter imports: an adapter makes agents of another framework survive and hand off.

An adapter is a class with one method, `run` (see `Adapter`), named by an entry point of the group `batonpass.adapters`:

    [project.entry-points."batonpass.adapters"]
    pydantic-ai = "my_package.adapter:PydanticAIAdapter"

With that installed, `@app.agent("research", kind="pydantic-ai", accepts=Topic, returns=Report)` is run by it. `run`

1. builds the framework's object with the user's factory: `async with built(agent, context) as made`;
2. goes on from `session.checkpoint` if there is one, else starts with `await enter(agent, payload, context, default)`;
3. after each finished step saves a `Snapshot` (`session.asave`; `session.save` in sync code): plain values from which
   a new object in another process goes on; what takes long and comes between two snapshots goes to `session.record`;
4. lets `Fenced` out at once: after it nothing that this process does counts;
5. returns `Finished(await leave(agent, result, context, default))`, or `Suspended(question)` for a person to answer:
   `session.answer` has the answer when it runs again.

With static methods `read_transcript` and `write_transcript` (as in `batonpass.adapters.autogen`) its conversations go
on in other frameworks. `examples/pydantic_ai_adapter.py` is one in full; `batonpass.testing.AdapterCases` tests one.
"""

from batonpass.adapters.adapter import Adapter
from batonpass.adapters.borders import enter, fit_text, leave
from batonpass.adapters.factory import built
from batonpass.contracts.checkpoint import Snapshot
from batonpass.contracts.handoff import Answer
from batonpass.contracts.outcome import Finished, Outcome, Rejected, Suspended
from batonpass.coordinator.session import Session

__all__ = [
    "Adapter",
    "Answer",
    "Finished",
    "Outcome",
    "Rejected",
    "Session",
    "Snapshot",
    "Suspended",
    "built",
    "enter",
    "fit_text",
    "leave",
]
