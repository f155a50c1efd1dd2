"""Marks: the keys by which a state tells objects from dicts.

    {"__class__": "Trainer", "__version__": 2, "epoch": 3, ...}    an object and its fields
    {..., "__module__": "train", ...}                              one whose class shares its name with another
    {..., "__id__": 1, ...}                                        one that other places refer to
    {"__same__": 1}                                                such a place: the same object again
    {..., "__objects__": {"1": {...}, ...}}                        in the outermost object: those that are in lists
    {"__plain__": {...}}                                           a dict of the user's that has such a key itself

If a dict's value changes, a store keeps what is new inside it. If a list's item changes, it keeps the whole item. So
objects in lists, if they may grow themselves, are kept beside the list, which refers to them.
"""

from __future__ import annotations

from typing import Any

CLASS, VERSION, MODULE, ID, SAME = "__class__", "__version__", "__module__", "__id__", "__same__"
OBJECTS, PLAIN = "__objects__", "__plain__"
MARKS = frozenset({CLASS, VERSION, MODULE, ID, SAME, OBJECTS, PLAIN})

# There is nothing to look for inside of these.
LEAVES: frozenset[type[Any]] = frozenset({str, int, float, bool, bytes, type(None)})
