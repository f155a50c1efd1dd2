"""A web server that receives webhooks: it accepts, refuses, hangs or redirects, as a test wants."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from standardwebhooks import Webhook


@dataclass
class Receiver:
    """What a web server got and accepted, and how it answers: what `answers` says, then always 200."""

    url: str = ""
    secret: str = ""
    answers: list[int] = field(default_factory=list[int])
    asked: list[str] = field(default_factory=list[str])
    times: list[float] = field(default_factory=list[float])
    paths: set[str] = field(default_factory=set[str])
    accepted: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    ports: set[int] = field(default_factory=set[int])
    open: set[socket.socket] = field(default_factory=set[socket.socket])
    over: threading.Event = field(default_factory=threading.Event)

    @property
    def ids(self) -> list[str]:
        return [event["id"] for event in self.accepted]


HANG, CUT, TRICKLE = 1, 2, 3


def handler(receiver: Receiver) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            receiver.asked.append(self.headers["webhook-id"])
            receiver.times.append(time.monotonic())
            receiver.paths.add(self.path)
            receiver.ports.add(self.client_address[1])
            receiver.open.add(self.connection)
            answer = receiver.answers.pop(0) if receiver.answers else 200
            if answer == HANG:
                receiver.over.wait(60)
            if answer in (HANG, CUT):
                self.close_connection = True
                return
            trickles = answer == TRICKLE
            answer = 200 if trickles else answer
            if answer == 200:
                assert self.headers["content-type"].startswith("application/cloudevents+json")
                event = Webhook(receiver.secret).verify(body, dict(self.headers))
                assert "." not in self.headers["webhook-id"]  # it separates what is signed
                receiver.accepted.append(event)
            self.send_response(answer)
            self.send_header("location", receiver.url + "/elsewhere")
            self.send_header("content-length", "2")
            self.end_headers()
            self.wfile.write(b"o" if trickles else b"ok")
            if trickles:
                receiver.over.wait(60)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    return Handler


@contextmanager
def serving(receiver: Receiver, port: int = 0) -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", port), handler(receiver))
    receiver.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield server.server_port
    finally:
        receiver.over.set()
        server.shutdown()
        for connection in receiver.open:  # they would be served by threads of their own
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        server.server_close()
