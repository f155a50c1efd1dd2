"""Our errors for what the client library or the server raised."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from redis import exceptions

from ...contracts.errors import BadSetup, BatonpassError, Overloaded, Unreachable
from ..refusals import Denied
from .sentinels import NO_MASTER
from .tls import tls_hint, tls_mistake

_ACL = (
    "~bp:* &bp:* and the commands in batonpass/coordinator/redis/acl: of worker.acl for a worker, of client.acl for "
    "what submits, answers or saves (and +xread, if it calls BatonpassSaver.own), of reader.acl for what only looks"
)
MOVERS = "this takes +@all ~bp:*, which no user of batonpass/coordinator/redis/acl has"
_FRAME = re.compile(r"^Error running script .*@user_script: \d+: -?| script: [0-9a-f]{40}, on @user_script:\d+$")
# How a call in a script is refused: by Redis up to 7.0, by newer ones and Valkey.
_NO_PERMISSION = ("The user executing the script can't", "ACL failure in script")

_NO_LOGIN = "it asks for a password, and the URL has none: redis://USER:PASSWORD@HOST, or redis://:PASSWORD@HOST"
_TOO_FEW = "it has fewer replicas than its min-replicas-to-write asks for: attach some, or wait for the failover's end"
_REPLICA = "it is a replica: try again after the failover, or give the address of its master, or redis+sentinel://"


def raise_first(replies: Iterable[Any]) -> None:
    """Raise the first of a pipeline's replies that is an error, if one is."""
    for reply in replies:
        if isinstance(reply, Exception):
            raise reply


def first_line(error: Exception) -> str:
    """What an error says, without the place in our script."""
    # With Sentinels, the client shows all that it knows about its connections to them.
    text = (str(error) or type(error).__name__).splitlines()[0].partition(" : <redis")[0].rstrip(".")
    # A script's error names the place in it. Redis 6.2 puts that first, then a dash: "-READONLY You can't".
    return _FRAME.sub("", text)


def in_script(text: str) -> bool:
    """Whether a script called a command that the user may not run."""
    return any(words in text for words in _NO_PERMISSION)


def _no_master(error: Exception, url: str, text: str) -> BatonpassError:
    """The error if no Sentinel names a master. What each one answered comes after the first words."""
    cause = error.__cause__
    if isinstance(cause, Exception) and (mistake := tls_mistake(cause, first_line(cause), f"a Sentinel of {url}")):
        return Denied(mistake)
    if "AuthenticationError" in str(error):
        return Denied(f"a Sentinel of {url} refused the login: give its password with ?sentinel_password=PASSWORD")
    why = f" ({first_line(cause)}{tls_hint(first_line(cause))})" if isinstance(cause, Exception) else ""
    return Unreachable(
        f"no Redis at {url}: {text}: its Sentinels can't be reached{why}, or watch no service of that name"
    )


def lacks(url: str, text: str, needed: str = _ACL) -> str:
    """What to tell a user who lacks rights. `needed` are those that it takes."""
    return f"{url}: the user lacks permissions ({needed}): {text}"


def failure(error: Exception, url: str, needed: str = _ACL) -> BatonpassError:
    """The error for the user: what happened at the server, and what to do. `needed` are the rights that it takes."""
    text = first_line(error)
    if isinstance(error, NO_MASTER):
        return _no_master(error, url, text)
    if isinstance(error, exceptions.AuthenticationError):
        # How a server answers a client without a password, depending on what it was asked first.
        told = _NO_LOGIN if text.startswith(("HELLO must", "NOAUTH", "Authentication required")) else text
        return Denied(f"{url} refused the login: {told}")
    if isinstance(error, exceptions.NoPermissionError) or in_script(text):
        return Denied(lacks(url, text, f"{needed}; `redis-cli ACL LOG` names which"))
    if isinstance(error, exceptions.MovedError):
        return BadSetup(f"{url} is one node of a cluster: write redis+cluster:// instead of redis://")
    if mistake := tls_mistake(error, text, url):
        return Denied(mistake)
    if isinstance(error, exceptions.InvalidResponse):
        return Unreachable(f"the server at {url} is not Redis: {text}")
    if not isinstance(error, exceptions.ResponseError):
        return Unreachable(f"no Redis at {url}: {text}{tls_hint(text)}")
    if "OOM" in text or isinstance(error, exceptions.OutOfMemoryError):
        return Overloaded(
            f"{url} is out of memory: nothing was written, raise its maxmemory or free some, and try again"
        )
    if "MISCONF" in text:
        return Overloaded(f"{url} can't write to its disk: nothing was written, free some, try again: {text}")
    if "NOREPLICAS" in text:
        return Overloaded(f"{url} can't write now: nothing was written, {_TOO_FEW}, and try again")
    if isinstance(error, exceptions.ReadOnlyError) or text.startswith("READONLY"):
        return Overloaded(f"{url} can't write now: {_REPLICA}")
    if text.startswith(("BUSY", "LOADING")):
        return Overloaded(f"{url} can't answer now: {text}")
    if "WAIT cannot be used with replica" in text:
        return Unreachable(f"{url} became a replica before others had the write, which may be lost: repeat the call")
    return Unreachable(f"{url} answered with an error: {text}")
