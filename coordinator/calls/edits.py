"""Edit: how a state is changed for what goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, cast

from ...contracts.alike import alike
from ...contracts.checkpoint import Checkpoint, Snapshot
from ...contracts.codec import pack, unpack
from ...contracts.errors import BadSetup
from ...contracts.lean import dataclass
from ..editing import check_edit, taken
from ..parts.nodes import Base
from ..paths import is_inside, put, root
from ..snapshots import amended
from .inputs import mapping


@dataclass(frozen=True, slots=True)
class Edit:
    """What a fork changes in the state that it goes on from: nothing, some of it, or all of it."""

    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    append: Mapping[str, Any] = field(default_factory=dict[str, Any])
    state: Any = None

    @property
    def anything(self) -> bool:
        """Whether it changes anything."""
        return bool(self.changes or self.append) or self.state is not None

    def own(self) -> Edit:
        """The same edit with copies of its values: the caller may change them while the store answers."""
        return Edit(*(_own(given) for given in (dict(self.changes), dict(self.append), self.state)))

    def within(self, state: Any) -> Edit:
        """The same edit, with changes of places in the state's values ("messages[0].content") as changes of those
        values. A name that the state has is never taken for a place."""
        if strange := [name for name in self.append if is_inside(name, state)]:
            raise BadSetup(
                f"append= takes the names of values: to change {strange[0]!r}, which is in one, use changes="
            )
        changes = dict(self.changes)
        for place in [name for name in self.changes if is_inside(name, state)]:
            name = root(place)
            held = {name: changes[name] if name in changes else _own(state[name])} if name in state else state
            changes[name] = put(held, place, changes.pop(place))[name]
        return replace(self, changes=changes)

    def changed(self, before: Any) -> set[str]:
        """The values that it changes, by name."""
        found = {*self.changes, *self.append}
        after: Any = self.state
        if isinstance(after, dict) and isinstance(before, dict):
            old, new = cast("dict[str, Any]", before), cast("dict[str, Any]", after)
            found |= {name for name, value in new.items() if name not in old or not alike(old[name], value)}
            found |= old.keys() - new.keys()
        return found

    def __post_init__(self) -> None:
        if self.state is not None and (self.changes or self.append):
            raise BadSetup("give the whole state=, or what is new in it (changes=, append=), not both")
        mapping(self.changes, "changes")
        mapping(self.append, "append")

    def of(self, source: Checkpoint, base: Base, step: str, *, resumes: bool = True) -> Snapshot:
        """The snapshot to save, with the framework's own notes. `BadSetup` if the framework could not go on from it, or
        could not read it, if nothing `resumes` from it."""
        if self.anything:
            check_edit(source, lambda: self._after(source.state), resumes=resumes)
            edit = Edit(*(taken(source, given) for given in (self.changes, self.append, self.state)))
            return edit._snapshot(source, base, step)
        return self._snapshot(source, base, step)

    def _snapshot(self, source: Checkpoint, base: Base, step: str) -> Snapshot:
        made = Snapshot(step=step, framework=source.framework, native=source.native, context=source.context)
        if not (self.changes or self.append):
            return replace(made, state=source.state if self.state is None else self.state)
        if base.version == source.version:
            return replace(made, changes=self.changes, append=self.append)
        return replace(made, state=self._after(source.state))  # the source may have been migrated

    def _after(self, before: Any) -> Any:
        return amended(before, self.changes, self.append) if self.state is None else self.state


def _own(given: Any) -> Any:
    return None if given is None else unpack(pack(given, path="state"))
