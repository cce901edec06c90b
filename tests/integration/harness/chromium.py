"""A real headless Chromium, spoken to through two pipes: no port, no driver, no further library.

The DevTools protocol is JSON, one message after another, each ended by a zero byte; with
``--remote-debugging-pipe`` Chromium reads it from file 3 and writes it to file 4.
"""

import base64
import json
import os
import select
import shutil
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from support import speed
from support.missing import give_up

_FLAGS = (
    "--headless=new",
    "--no-sandbox",  # the tests may run as root, and look at pages of their own only
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "about:blank",
)


def require_chromium() -> str:
    """Return the program; skip the test, or fail it if ORPHANGC_REQUIRE names chromium."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        give_up("chromium", "there is none on this machine")
    return program


@dataclass
class Look:
    requests: list[str] = field(default_factory=list)  # every URL that was asked for
    # what the console, the log and the network said was wrong
    complaints: list[str] = field(default_factory=list)


class Browser:
    """One Chromium with one page."""

    def __init__(self, folder: Path) -> None:
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        command = f'exec 3<&{to_browser} 4>&{from_browser}; exec "$@"'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                command,
                "bash",
                require_chromium(),
                *_FLAGS,
                f"--user-data-dir={folder}",
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._session: str | None = None
        self._buffer = b""
        self._events: list[dict[str, Any]] = []
        self.look = Look()
        try:
            self._attach()
        except BaseException:
            self.close()
            raise

    def _attach(self) -> None:
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def close(self) -> None:
        """End it, and nothing else."""
        with suppress(OSError, AssertionError):
            self._session = None
            self.ask("Browser.close")
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def open(self, url: str, *, width: int, scheme: str = "light") -> None:
        """Show a page at a width, in a colour scheme, until it has loaded."""
        self.look = Look()
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=800,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=features)
        self._events.clear()
        answer = self.ask("Page.navigate", url=url)
        assert "errorText" not in answer, answer
        self.wait_until_loaded()

    def wait_until_loaded(self) -> None:
        """Wait for the page that something just led to."""
        while not any(each["method"] == "Page.loadEventFired" for each in self._events):
            self._next()
        self._events.clear()

    def evaluate(self, expression: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self) -> bytes:
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return base64.b64decode(shot["data"])

    def press(self, key: str) -> None:
        code = {"Tab": 9, "Enter": 13}[key]
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(text if kind == "keyDown" else {}),
            )

    def accessible_tree(self) -> list[dict[str, Any]]:
        nodes: list[dict[str, Any]] = self.ask("Accessibility.getFullAXTree")["nodes"]
        return nodes

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + speed.patience()
        while b"\0" not in self._buffer:
            left = deadline - time.monotonic()
            is_heard = left > 0 and select.select([self._in], [], [], left)[0]
            assert is_heard, "Chromium is silent"
            data = os.read(self._in, 1 << 20)
            assert data, "Chromium has ended"
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        told: dict[str, Any] = json.loads(message)
        if "method" in told:
            self._events.append(told)
            _note(self.look, told)
        return told


def _note(look: Look, event: dict[str, Any]) -> None:
    params = event["params"]
    match event["method"]:
        case "Network.requestWillBeSent":
            look.requests.append(params["request"]["url"])
        case "Network.loadingFailed":
            look.complaints.append(f"not loaded: {params}")
        case "Network.responseReceived" if params["response"]["status"] >= 400:
            look.complaints.append(f"{params['response']['status']}: {params['response']['url']}")
        case "Log.entryAdded":
            look.complaints.append(f"log: {params['entry']['text']}")
        case "Runtime.consoleAPICalled" | "Runtime.exceptionThrown":
            look.complaints.append(f"console: {params}")
        case _:
            pass
