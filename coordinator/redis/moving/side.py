"""Side: one of the two namespaces of a repartition, read and written key by key."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from redis import exceptions

from ....contracts.errors import BadSetup
from ...urls import open_store
from ..cluster import DEFAULT_PARTITIONS, ClusterStore
from ..cluster_link import TROUBLE, ClusterLink
from ..cluster_pieces import Request
from ..connections import piped
from ..failures import MOVERS, failure
from ..place import connected_by, prefix_of, read_place
from ..scripts import script
from ..server import number_of
from ..store import RedisStore

# A partition, a command, a key without its prefix, and what the command takes.
Ask = tuple[Any, ...]
_SCANNED = 500


class _Server:
    """A single server, with the interface of a cluster's link."""

    def __init__(self, url: str) -> None:
        self.place = read_place(url)
        self.client = self.place.client()

    def exchange(self, requests: Sequence[Request]) -> list[Any]:
        return piped(self.client, (tuple(command) for _, command in requests))

    def close(self) -> None:
        for client in connected_by(self.client):
            client.close()


class Side:
    """A namespace, by the URL of its store. `count` is its number of partitions, or what that would be if it is new."""

    def __init__(self, url: str) -> None:
        store = open_store(url)  # reports what is wrong with the URL
        if not isinstance(store, RedisStore | ClusterStore):
            raise BadSetup(f"{store.url} is no Redis: `batonpass move` takes a SQLite file to one")
        parts = urlsplit(url)
        options = dict(parse_qsl(parts.query))
        self.namespace = options.pop("namespace", "default")
        options.pop("events", None)
        wanted = int(options.pop("partitions", 0))
        bare = urlunsplit(parts._replace(query=urlencode(options)))
        self._is_cluster = isinstance(store, ClusterStore)
        self.name = f"{store.url}?namespace={quote(self.namespace, safe='')}"
        self._link = ClusterLink(bare) if self._is_cluster else _Server(bare)
        self.url = store.url
        self.count = self._kept(wanted)

    def _kept(self, wanted: int) -> int:
        """The number of partitions. A namespace without the record was made on a single server."""
        schema, partitions = self.ask([(0, "GET", "schema"), (0, "GET", "partitions")])
        self.exists = schema is not None
        if partitions is not None:
            return number_of("partitions", partitions, self.url)
        if self.exists:
            return 1
        return (wanted or DEFAULT_PARTITIONS) if self._is_cluster else 1

    @property
    def partitions(self) -> range:
        return range(self.count)

    def ask(self, asks: Sequence[Ask]) -> list[Any]:
        """Send plain commands, all at once; their replies."""
        requests = [
            (self._prefix(at), (command, f"{self._prefix(at)}{key}", *rest)) for at, command, key, *rest in asks
        ]
        return self._exchange(requests) if requests else []

    def run(self, name: str, asks: Sequence[tuple[int, Sequence[Any]]]) -> list[list[Any]]:
        """Run a script in several partitions at once, with arguments for each; the replies."""
        known = script(name)
        prefixes = [self._prefix(at) for at, _ in asks]
        sent = [(p, ("EVALSHA", known.sha, 1, p, *argv)) for p, (_, argv) in zip(prefixes, asks, strict=True)]
        replies = self._exchange(sent, but=exceptions.NoScriptError)
        for index, reply in enumerate(replies):
            if isinstance(reply, Exception):
                prefix, argv = prefixes[index], asks[index][1]
                [replies[index]] = self._exchange([(prefix, ("EVAL", known.source, 1, prefix, *argv))])
        return replies

    def _prefix(self, at: int | str) -> str:
        return prefix_of(self.namespace, at)

    def _exchange(self, requests: Sequence[Request], but: type[Exception] | tuple[()] = ()) -> list[Any]:
        try:
            replies = self._link.exchange(requests)
            for reply in replies:
                if isinstance(reply, Exception) and not isinstance(reply, but):
                    raise reply
        except TROUBLE as error:
            raise failure(error, self.url, MOVERS) from error
        return replies

    def check_no_workers(self) -> None:
        """`BadSetup` if there are live workers."""
        queues = [key.partition(":")[2] for page in self.scan("p:*") for at, key in page if at == 0]
        [[_, number]] = self.run("store/workers", [(0, queues)])
        if number:
            raise BadSetup(
                f"{number} worker(s) are at work in {self.name}: stop them first (one that was killed is forgotten "
                "after 5 seconds)"
            )

    def scan(self, pattern: str = "*") -> Generator[list[tuple[int, str]]]:
        """All keys of the namespace, page by page: partition, and name without the prefix."""
        try:
            with ExitStack() as ending:  # also if it is not read to its end
                clients = self._clients()
                for each in (each for client in clients for each in connected_by(client)):
                    ending.callback(each.close)
                for client in clients:
                    yield from self._scanned(client, pattern)
        except TROUBLE as error:
            raise failure(error, self.url, MOVERS) from error

    def _scanned(self, client: Any, pattern: str) -> Iterator[list[tuple[int, str]]]:
        cursor, head = 0, self._prefix("")[: -len("}:")]
        while True:
            cursor, found = client.scan(cursor, match=f"{head}*}}:{pattern}", count=_SCANNED)
            page: list[tuple[int, str]] = []
            for key in found:
                number, _, rest = key.decode()[len(head) :].partition("}:")
                if number.isdecimal() and int(number) < self.count:
                    page.append((int(number), rest))
            yield page
            if not cursor:
                return

    def _clients(self) -> list[Any]:
        if isinstance(self._link, ClusterLink):
            return [self._link.place_of(node).client() for node in self._link.client.get_primaries()]
        return [self._link.place.client()]

    def close(self) -> None:
        self._link.close()
