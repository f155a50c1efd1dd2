"""A TCP proxy that can forget connections without a word, as a firewall does with idle ones, and cut them."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class Proxy:
    """Forwards connections to a port of this machine. Used as a context manager."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._era = 0
        self._is_cut = False
        self._open: list[socket.socket] = []
        self._change = threading.Lock()  # a connection that is being made while they are cut would stay open

    def __enter__(self) -> Proxy:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()

    def forget(self) -> None:
        """From now on nothing of the connections that are open gets through, and nobody is told."""
        self._era += 1

    def cut(self) -> None:
        """Break all connections, and those that are made until `mend`."""
        with self._change:
            self._is_cut = True
            while self._open:
                each = self._open.pop()
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)  # so that whoever reads from it notices
                each.close()

    def mend(self) -> None:
        """Let connections through again."""
        self._is_cut = False

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._change:
                    self._connect(near)

    def _connect(self, near: socket.socket) -> None:
        try:
            if self._is_cut:
                raise ConnectionAbortedError
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        self._open += [near, far]
        for source, sink in ((near, far), (far, near)):
            threading.Thread(target=self._forward, args=(source, sink, self._era), daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket, era: int) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if era == self._era:
                    sink.sendall(data)
