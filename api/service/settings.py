"""Settings: to whom the service is offered, and where."""

from __future__ import annotations

import re
from dataclasses import KW_ONLY, dataclass, field
from ipaddress import ip_network

from batonpass.contracts.errors import BadSetup

LEAST = 16  # characters of a token that other machines may guess at
# The first parts of the service's own paths: a proxy's path that begins so could not be told from them.
OWN = frozenset(
    (
        *("agents", "checkpoints", "dead-letters", "diff", "events", "health", "inbox", "jobs", "metrics"),
        *("openapi.json", "rollback", "schedules", "threads", "timeline", "ui", "workers"),
    )
)
_SEGMENTS = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)*")
_STRONG = "python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"


@dataclass(frozen=True)
class Settings:
    """`token` opens everything, and `read_token` what changes nothing. `root_path` is the path below which a proxy
    offers the service. `proxies` are the addresses whose forwarded headers are believed. With `log_all`, every request
    is logged, and not only those that change something."""

    token: str = field(repr=False)
    read_token: str | None = field(default=None, repr=False)
    _: KW_ONLY
    root_path: str = ""
    proxies: str = ""
    log_all: bool = False

    def __post_init__(self) -> None:
        for token, named in self._tokens():
            if not (token.isascii() and token.isprintable() and token and " " not in token):
                raise BadSetup(f"{named} is sent in a header: use ASCII letters, digits and signs, no spaces")
        if self.read_token == self.token:
            raise BadSetup("--read-token (BATONPASS_READ_TOKEN) is the full token: give it one of its own")
        object.__setattr__(self, "root_path", _path(self.root_path))
        _check_proxies(self.proxies)

    def check_strength(self, reached: str) -> None:
        """Refuse tokens that can be guessed. `reached` says how other machines reach the service."""
        for token, named in self._tokens():
            if len(token) < LEAST:
                raise BadSetup(
                    f"{reached}, and {named} has only {len(token)} characters, so that it could be guessed: give it "
                    f"at least {LEAST}, for example with {_STRONG}"
                )

    def _tokens(self) -> list[tuple[str, str]]:
        read = [] if self.read_token is None else [(self.read_token, "--read-token (BATONPASS_READ_TOKEN)")]
        return [(self.token, "--token (BATONPASS_TOKEN)"), *read]


def _path(given: str) -> str:
    """A proxy's path without a slash at its end: it is put into links, headers and cookies."""
    path = given.removesuffix("/")
    if not _SEGMENTS.fullmatch(path):
        raise BadSetup(
            f"--root-path {given!r} is not a plain path: write / and letters, digits, - . _ or ~, such as /batonpass"
        )
    if (first := path[1:].partition("/")[0]) in OWN:
        raise BadSetup(f"--root-path {given!r} begins like the service's own path /{first}: use another name")
    return path


def _check_proxies(given: str) -> None:
    """uvicorn would take what it can't read for a name that nobody has."""
    for each in given.split(",") if given not in ("", "*") else ():
        try:
            ip_network(each.strip())
        except ValueError as error:
            raise BadSetup(
                f"--forwarded-allow-ips {given!r}: write addresses and networks, separated by commas, such as "
                f"10.0.0.7,10.1.0.0/16, or * for all ({error})"
            ) from None
