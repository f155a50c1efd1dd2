"""Rooted: the service below a path of a proxy's."""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send


class Rooted:
    """An application below a path. It does not matter whether the proxy takes this path away from what it passes on,
    because none of the application's own paths begins like it."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app = app
        self._root_path = root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root, path = self._root_path, scope["path"]
        if path == root:
            path += "/"
        elif not path.startswith(f"{root}/"):
            path = root + path
        # ASGI's `path` has the `root_path` before it.
        await self._app({**scope, "root_path": root, "path": path}, receive, send)
