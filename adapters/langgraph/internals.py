"""The private parts of LangGraph that we use, in one place. Checked with langgraph 1.2.22, checkpoint 4.3.2."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import FunctionType
from typing import Any, cast

# The module whose functions write values.
import langgraph.checkpoint.serde.jsonplus as jsonplus
import ormsgpack

# In a config: the checkpoints of the graphs around, by namespaces, whether a graph shall go on from its own, and where
# what its nodes stream goes to if it is part of another graph.
from langgraph._internal._constants import CONFIG_KEY_CHECKPOINT_MAP as CHECKPOINT_MAP
from langgraph._internal._constants import CONFIG_KEY_RESUMING as RESUMING
from langgraph._internal._constants import CONFIG_KEY_RUNTIME as RUNTIME
from langgraph._internal._constants import CONFIG_KEY_STREAM as STREAM

# The marker that a failed node's error handler has to run. It must be kept with the error, or a resume forgets it. And
# the channel in which the functional API keeps what an entrypoint saved.
from langgraph._internal._constants import ERROR_SOURCE_NODE, PREVIOUS

# LangGraph's own way to find the types that a graph's schemas and channels name. It is public only by effect: it runs
# inside compile() when LANGGRAPH_STRICT_MSGPACK is set, and we are strict without that variable.
from langgraph._internal._serde import build_serde_allowlist

# The types that a strict serializer restores without being told. Needed to refuse, at save, what it would not restore.
from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES

# The code of what a function makes of one argument.
from langgraph.checkpoint.serde.jsonplus import EXT_CONSTRUCTOR_SINGLE_ARG as CALL
from langgraph.constants import END

# What runs a graph's supersteps.
from langgraph.pregel._loop import AsyncPregelLoop, SyncPregelLoop

__all__ = [
    "CALL",
    "CHECKPOINT_MAP",
    "ERROR_SOURCE_NODE",
    "HANDLER",
    "RESUMING",
    "RUNTIME",
    "SAFE_MSGPACK_TYPES",
    "STREAM",
    "allow_subgraphs_without_checkpoints",
    "build_serde_allowlist",
    "encoder",
    "is_branch",
    "is_visible",
    "response_format_of",
]
# Marks the path of a task that is an error handler. The path of the task that failed comes before it.
HANDLER = "node_error_handler"
# Begins the names of the channels with which a StateGraph says that a node is next.
_BRANCH = "branch:"
# Where the functional API keeps what its entrypoints return and save, and a graph its state if that is one value.
_VALUES = frozenset({END, PREVIOUS, "__root__"})
# The functions that write a value, and what msgpack lacks in it, which call each other, and their option.
_ENCODE, _DEFAULT, _OPTION = "_msgpack_enc", "_msgpack_default", "_option"
# The attribute in which those keep the put of the last superstep.
_PUT = "_put_checkpoint_fut"
# The names under which functions of create_agent and create_react_agent keep their response_format.
_FORMATS = ("initial_response_format", "response_format")


class _NoPut:
    """A put that was not needed, for sync and for async code."""

    def result(self) -> None:
        """Like a future's."""

    def __await__(self) -> Iterator[None]:
        return iter(())


def is_branch(channel: str) -> bool:
    """Whether a StateGraph says with a channel that a node is next."""
    return channel.startswith(_BRANCH)


@lru_cache(maxsize=1024)
def is_visible(channel: str) -> bool:
    """Whether a channel's values belong to the user, not to LangGraph itself."""
    return channel in _VALUES or not channel.startswith(("__", _BRANCH))


def allow_subgraphs_without_checkpoints() -> None:
    """Let a subgraph that keeps nothing (`compile(checkpointer=False)`) run in a graph with durability "sync".

    LangGraph waits after each of its supersteps for a put that it never began, and fails with an AttributeError.
    """
    for loop in (SyncPregelLoop, AsyncPregelLoop):
        if not hasattr(loop, _PUT):
            setattr(loop, _PUT, _NoPut())


def encoder(own: Callable[[Any], Any]) -> Callable[[Any], bytes]:
    """What writes values as LangGraph's serializer does, but asks `own` first about each object whose class msgpack
    lacks, at any depth, also those that LangGraph would write as the base of their class. None from it leaves the
    object to LangGraph.

    The serializer has no place for such a function. These are copies of its own, with other globals: what they call by
    its name is ours.
    """
    names = {**vars(jsonplus)}
    names[_OPTION] |= ormsgpack.OPT_PASSTHROUGH_SUBCLASS
    for name in (_ENCODE, _DEFAULT):
        names[name] = FunctionType(names[name].__code__, names, name)
    theirs = names[_DEFAULT]

    def default(value: Any) -> Any:
        found = own(value)
        return theirs(value) if found is None else found

    names[_DEFAULT] = default
    return cast("Callable[[Any], bytes]", names[_ENCODE])


def response_format_of(node: Any) -> Any:
    """The class, or classes, in which an agent's model has to answer (`response_format=`). None if there is none. The
    state's schema does not name it."""
    function = getattr(node, "func", None) or getattr(node, "afunc", None)
    if not inspect.isfunction(function):
        return None
    names = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for name in _FORMATS:
        if name in names:
            given = names[name].cell_contents
            form: Any = cast("tuple[Any, Any]", given)[1] if isinstance(given, tuple) else given  # (prompt, form)
            schema: Any = form if isinstance(form, type) else getattr(form, "schema", None)
            return None if isinstance(schema, dict) else schema  # with a JSON Schema, the answer is plain values
    return None
