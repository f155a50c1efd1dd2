"""Arguments of the wrong type are refused where they are given, and the error says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

import batonpass as bp
from batonpass.langgraph import BatonpassSaver, BatonpassStore


class Note(bp.Contract, name="wrongtypes.note"):
    text: str


def keep(note: Note) -> Note:
    return note


NOTE = Note(text="x")
other = bp.App("other").agent("other", accepts=Note, returns=Note)(keep)


def declared(**options: Any) -> Any:
    agent: Any = bp.App("desk").agent
    return agent("keep", **{"accepts": Note, "returns": Note, **options})(keep)


@pytest.mark.parametrize("opens", [bp.connect, BatonpassSaver.from_url, BatonpassStore.from_url])
@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        (5, "5 is not a store URL: write sqlite:///file.db, redis://"),
        (None, "None is not a store URL: write sqlite:///file.db"),
        (Path("runs.db"), "'runs.db' is a path, but a store needs a URL: write 'sqlite:///runs.db'"),
        (Path("/x/50%#.db"), "write 'sqlite:////x/50%25%23.db'"),
    ],
    ids=["5", "None", "a path", "an odd path"],
)
def test_a_store_that_no_url_names(opens: Callable[[Any], Any], url: Any, complaint: str) -> None:
    with pytest.raises(bp.BadSetup, match=complaint):
        opens(url)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: bp.connect("memory://", namespace=untyped(5)), "the namespace 5 is not text"),
    (lambda: bp.connect("memory://", app=untyped("desk:app")), "app='desk:app', but it must be a batonpass.App"),
    (lambda: bp.connect("memory://", codec=untyped({"a": b""})), "codec={'a': b''}, but it must be a batonpass.Codec"),
    (lambda: bp.Codec(encrypt=untyped(b"k" * 32)), "are keys by name"),
    (lambda: bp.Codec(sign=untyped({"a": "k" * 32})), "the key 'a' is not bytes"),
    (lambda: bp.Retry(on=untyped(5)), "Retry.on=5.: give an error class, its name, or a list"),
    (lambda: bp.App(untyped(5)), "App.5, version=''.: both must be text"),
    (lambda: bp.App("desk", lifespan=untyped(5)), "lifespan=5, but it must be an async context manager's function"),
    (lambda: declared(hands_to={other: Note}), "hands_to= and fallback= take agents' names as text, not Agent"),
    (lambda: declared(fallback=other), "hands_to= and fallback= take agents' names as text, not Agent"),
    (lambda: declared(kind="langgraph", asks={"timeout": 5}), "asks={'timeout': 5}, but it must be a batonpass.Asks"),
    (
        lambda: bp.App("d").langgraph("a", accepts=bp.State, returns=bp.State)(cast("Any", object())),
        "return it from a function",
    ),
    (lambda: declared(leave=5), "leave=5, but it must be a function"),
    (lambda: declared(kind="autogen", leave=lambda: NOTE), r"the function of leave= must take \(result, ctx\), or \("),
    (
        lambda: declared(kind="autogen", enter=lambda a, b, c: a),
        r"the function of enter= must take \(payload, ctx\), or \(",
    ),
    (
        lambda: BatonpassSaver.from_url("memory://", allow=untyped(Note)),
        "allow=<class .*, but it must be a list of classes",
    ),
    (
        lambda: BatonpassSaver.from_url("memory://", allow=["Note"]),
        r"allow=\['Note'\], but it must be a list of classes",
    ),
    (lambda: BatonpassStore.from_url("memory://", ttl=untyped(5)), "ttl=5, but it must be a dict"),
    (lambda: BatonpassStore.from_url("memory://", index=untyped("x")), "index='x', but it must be a dict"),
]


def untyped(given: object) -> Any:
    """What a user without a type checker may pass."""
    return given


@pytest.mark.parametrize(("call", "complaint"), WRONG, ids=[complaint[:30] for _, complaint in WRONG])
def test_what_is_of_the_wrong_type(call: Callable[[], Any], complaint: str) -> None:
    """They used to be TypeErrors and AttributeErrors from deep inside, at once or when a job ran."""
    with pytest.raises(bp.BadSetup, match=complaint):
        call()


async def test_an_app_is_declared_in_an_open_store() -> None:
    with pytest.raises(bp.BadSetup, match=r"declare\(\) needs an open coordinator: `async with"):
        await bp.App("desk").declare(untyped("memory://"))


async def add(number: int) -> int:
    return number + 1


@pytest.mark.parametrize("way", ["step", "effect"])
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_step_of_what_was_called_already(way: str, is_async: bool) -> None:
    """This used to be "TypeError: 'coroutine' object is not callable", three times, and left an effect ambiguous."""
    app = bp.App("desk")

    async def later(note: Note, ctx: bp.Context) -> Note:
        done: Note = await getattr(ctx, way)("add", add(1))
        return done

    def now(note: Note, ctx: bp.SyncContext) -> Note:
        done: Note = getattr(ctx, way)("add", add(1))
        return done

    app.agent("keep", accepts=Note, returns=Note)(later if is_async else now)
    with pytest.raises(
        bp.JobFailed, match=rf"{way} 'add': <coroutine object add .* is not a function: give the"
    ) as failed:
        await app.run("keep", NOTE)
    assert failed.value.reason == "refused"


async def test_who_is_asked_next_has_a_time() -> None:
    app = bp.App("desk")

    @app.agent("keep", accepts=Note, returns=Note)
    async def asks(note: Note, ctx: bp.Context) -> Note:
        answered: Note = await ctx.ask("?", timeout=5, escalate=untyped(["ann"]))
        return answered

    with pytest.raises(bp.JobFailed, match=r"escalate=\['ann'\], but it must be a name, or a list of pairs"):
        await app.run("keep", NOTE)
