"""The same as tests/test_wrong_context.py, in a module without `from __future__ import annotations`."""

import pytest

import batonpass as bp


class Note(bp.Contract, name="wrong_context.evaluated"):
    text: str


def test_both_kinds() -> None:
    app = bp.App("wrong")
    with pytest.raises(bp.BadSetup, match="a plain def, which gets a SyncContext"):

        @app.agent("plain", accepts=Note, returns=Note)
        def plain(note: Note, ctx: bp.Context) -> Note:
            return note

    with pytest.raises(bp.BadSetup, match="an async def, which gets a Context"):

        @app.agent("waits", accepts=Note, returns=Note)
        async def waits(note: Note, ctx: bp.SyncContext) -> Note:
            return note
