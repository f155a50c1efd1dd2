"""A real browser: Chromium without a window, driven by its DevTools protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests import capabilities
from tests.harness.waiting import wait_until

_QUIET = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--remote-debugging-port=0"),
)
# What a page would do if it ran a script that it was given.
_ALARMS = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")


def binary() -> str | None:
    """A Chromium, if one is installed."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class _GoneError(Exception):
    """Another page has come before the one that was asked could answer."""


class Browser:
    """One tab. `alarms` is what scripts did there, and `blocked` what the browser refused to load or run."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._tab = ""
        self.alarms: list[str] = []
        self.blocked: list[str] = []
        target = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._tab = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def open(self, url: str) -> None:
        """Go to an address, and wait until the page is there."""
        failed = self._ask("Page.navigate", url=url).get("errorText")
        assert failed is None, (url, failed)
        self._loaded()

    def run(self, script: str) -> Any:
        """What a script gives, run by us."""
        reply = self._ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in reply, reply
        return reply["result"].get("value")

    def text(self, selector: str = "body") -> str:
        """What is to be read there."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def type(self, label: str, text: str) -> None:
        """Type into the field that has this label, as a person does."""
        self.run(
            f"(() => {{ const label = [...document.querySelectorAll('label')].find("
            f"each => each.innerText.startsWith({json.dumps(label)}));"
            f"label.control.focus(); label.control.select?.(); }})()"
        )
        self._ask("Input.insertText", text=text)

    def choose(self, label: str, name: str) -> None:
        """Choose from the list that has this label."""
        self.run(
            f"(() => {{ const list = [...document.querySelectorAll('label')].find("
            f"each => each.innerText.startsWith({json.dumps(label)})).control;"
            f"list.value = [...list.options].find(each => each.text === {json.dumps(name)}).value; }})()"
        )

    def press(self, button: str) -> None:
        """Press a button or follow a link, with the keyboard, and wait for the page that comes."""
        self.run(
            f"(() => {{ window.left = true; [...document.querySelectorAll('main button, main a, nav a, header button')]"
            f".find(each => each.innerText.trim() === {json.dumps(button)}).focus(); }})()"
        )
        enter = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"}
        self._ask("Input.dispatchKeyEvent", type="keyDown", **enter)
        self._ask("Input.dispatchKeyEvent", type="keyUp", **enter)
        wait_until(lambda: self._is("window.left !== true"), what=f"what comes after {button!r}")
        self._loaded()

    def look(self, width: int = 1100, *, dark: bool = False) -> bytes:
        """A picture of the whole page."""
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self._ask("Emulation.setEmulatedMedia", features=scheme)
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False)
        shot = self._ask("Page.captureScreenshot", captureBeyondViewport=True)["data"]
        return base64.b64decode(shot)

    def _loaded(self) -> None:
        wait_until(lambda: self._is("document.readyState === 'complete'"), what="the page")

    def _is(self, script: str) -> bool:
        """Whether that is so. Not while the page that was asked goes away."""
        try:
            return bool(self.run(script))
        except _GoneError:
            return False

    def _ask(self, method: str, **parameters: Any) -> Any:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": parameters}
        self._socket.send(json.dumps({**asked, "sessionId": self._tab} if self._tab else asked))
        while True:
            told = json.loads(self._socket.recv(timeout=30))
            if told.get("id") == self._number:
                if "navigated or closed" in str(told.get("error")):
                    raise _GoneError
                assert "error" not in told, (method, told)
                return told["result"]
            if told.get("method") in _ALARMS:
                self.alarms.append(str(told))
            if told.get("method") == "Log.entryAdded":
                self.blocked.append(str(told["params"]["entry"]["text"]))


@contextmanager
def browsing(folder: Path, program: str) -> Iterator[Browser]:
    """A browser with a folder of its own, until the end of the block."""
    command = [program, *_QUIET, f"--user-data-dir={folder}", "about:blank"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        try:
            told = folder / "DevToolsActivePort"
            wait_until(lambda: told.exists() and told.read_text().count("\n") == 1, what="the browser")
            port, path = told.read_text().split()
            with connect(f"ws://127.0.0.1:{port}{path}", max_size=None) as socket:
                browser = Browser(socket)
                version = browser.run("navigator.userAgent.match(/Chrome\\/(\\d+)/)[1]")
                capabilities.note("browser", f"Chromium {version}")
                yield browser
        finally:
            running.terminate()
