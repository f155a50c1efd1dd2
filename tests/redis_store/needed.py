"""Which Redis commands the scripts and the clients use: what a user of the server must be allowed.

python -m tests.redis_store.needed        writes the files that are shipped anew
"""

from __future__ import annotations

import re
from pathlib import Path

from batonpass.coordinator import commands
from batonpass.coordinator.redis import scripts, wire

FOLDER = Path(scripts.__file__).with_name("lua")
FILES = Path(scripts.__file__).with_name("acl")
READING = tuple(sorted(wire._OPERATIONS[kind][0] for kind in commands.READING if kind in wire._OPERATIONS))
# Who may write may do all but claim: a user who lacks a command in the middle of a script would leave it half done.
WRITING = tuple(name for name in scripts.names() if name != "claim" and name not in READING)
# What partitions and the look at the store need.
OF_WRITERS = ("store/note", "store/ring", "store/witness")
# The connection, the calls of scripts, what opening looks at, and waiting by subscription.
_ALL = {
    *("auth", "eval", "evalsha", "hello", "info", "ping", "mget", "select", "get", "xrange", "xrevrange"),
    *("psubscribe", "punsubscribe", "subscribe", "unsubscribe"),
    *("asking", "cluster|slots", "command"),
}
_WRITERS = {"publish", "set", "wait"}
_WORKERS = {"blpop", "bzpopmax", "exec", "multi", "pexpire", "rpush"}


def _code(path: Path) -> str:
    return re.sub(r"--[^\n]*", "", path.read_text())


def _functions() -> dict[str, str]:
    found: dict[str, str] = {}
    for path in FOLDER.glob("lib/*.lua"):
        found |= dict(re.findall(r"^(?:local )?function (\w+)\((.*?)^end", _code(path), re.MULTILINE | re.DOTALL))
    return found


def used(names: tuple[str, ...]) -> set[str]:
    """The commands that scripts may call, by themselves or by functions of the libraries."""
    functions, seen = _functions(), set[str]()
    left = [_code(FOLDER / f"{name}.lua") for name in names]
    commands: set[str] = set()
    while left:
        text = left.pop()
        commands |= {name.lower() for name in re.findall(r"redis\.p?call\('(\w+)'", text)}
        for name in functions.keys() - seen:
            if re.search(rf"\b{name}\(", text):
                seen.add(name)
                left.append(functions[name])
    return commands


def allowed() -> dict[str, set[str]]:
    """Role -> commands."""
    reader = _ALL | used(READING)
    client = reader | _WRITERS | used((*WRITING, *OF_WRITERS))
    every = tuple(str(path.relative_to(FOLDER).with_suffix("")) for path in FOLDER.rglob("*.lua"))
    worker = client | _WORKERS | used(every)
    return {"reader": reader, "client": client, "worker": worker}


def line(role: str, commands: set[str]) -> str:
    """The line of an ACL file. Off, until a password is set."""
    granted = " ".join(f"+{command}" for command in sorted(commands))
    return f"user batonpass-{role} off resetkeys ~bp:* resetchannels &bp:* -@all {granted}\n"


if __name__ == "__main__":
    for _role, _commands in allowed().items():
        (FILES / f"{_role}.acl").write_text(line(_role, _commands))
