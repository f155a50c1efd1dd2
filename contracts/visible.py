"""Visible: texts that act on no terminal, and that a page shows in their order. Names and errors come from users and
agents, who may write anything."""

from __future__ import annotations

import re

# ASCII's control characters but tabs, those of Latin-1 (to some terminals U+009B is ESC [), what may begin a line, and
# what has the rest of a line read backwards.
_BESIDES_ASCII = "\x7f-\x9f\u2028-\u202e\u2066-\u2069"
_CONTROL = re.compile(f"[\x00-\x08\x0a-\x1f{_BESIDES_ASCII}]")
_IN_JSON = re.compile(f"[{_BESIDES_ASCII}]")
_BUT_LINES = re.compile(f"[\x00-\x08\x0b-\x1f{_BESIDES_ASCII}]")

# Of these, what changes how a page shows a text. Its lines may end in any way. Languages that are written from right to
# left need marks of direction (U+200E, U+200F, U+061C), but nothing that turns around what others have written.
_IN_A_PAGE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text in one line, with its control characters as escapes, such as \\x1b."""
    return _CONTROL.sub(_escape, text)


def visible_lines(text: str) -> str:
    """The text with its lines, and with its other control characters as escapes."""
    return _IN_A_PAGE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return repr(found[0])[1:-1]


def visible_json(text: str) -> str:
    """JSON that means the same, without the control characters that it may contain as they are."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def without_controls(text: str) -> str:
    """The text without its control characters, but with its lines."""
    return _BUT_LINES.sub("", text)
