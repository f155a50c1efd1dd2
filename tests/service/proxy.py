"""Proxy: a small one before the service, as a company has it: it offers the service below a path."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import httpx

from ..workers.serving import DEADLINE

_OF_A_CONNECTION = ("connection", "transfer-encoding", "content-length", "content-encoding", "date")


@contextmanager
def proxied(address: str, path: str, *, strips: bool, scheme: str = "http") -> Iterator[str]:
    """The address below which a service is offered. What is not below it is somebody else's: 418. The proxy says that
    it was asked by `scheme`."""
    with httpx.Client(base_url=address, timeout=DEADLINE) as http:

        class Passes(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                if not (self.path == path or self.path.startswith(f"{path}/")):
                    self.send_error(418)
                    return
                asked = self.path.removeprefix(path) or "/" if strips else self.path
                content = self.rfile.read(int(self.headers.get("content-length", 0)))
                sent = {name: value for name, value in self.headers.items() if name.lower() not in _OF_A_CONNECTION}
                sent |= {"X-Forwarded-For": "192.0.2.7", "X-Forwarded-Proto": scheme}
                reply = http.request(self.command, asked, headers=sent, content=content)
                self.send_response(reply.status_code)
                for name, value in reply.headers.multi_items():
                    if name not in _OF_A_CONNECTION:
                        self.send_header(name, value)
                self.send_header("content-length", str(len(reply.content)))
                self.end_headers()
                self.wfile.write(reply.content)

            do_POST = do_DELETE = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Passes) as server:
            thread = Thread(target=server.serve_forever)
            thread.start()
            try:
                yield f"http://127.0.0.1:{server.server_port}{path}"
            finally:
                server.shutdown()
                thread.join()
