"""A headless Chromium, driven over its own pipe (DevTools protocol), so that no port and no library is needed."""

import base64
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
)
WIDTH, HEIGHT = 800, 560
ANSWER_BYTES = 1024 * 1024


class PageError(Exception):
    """The browser says that a call could not be done."""


class Chromium:
    """One browser with one page, over which `evaluate` and `screenshot` are asked; ends with the block."""

    def __init__(self, home: Path) -> None:
        program = shutil.which("chromium")
        if program is None:
            assert not os.environ.get("CI"), "Chromium is not installed (Debian: apt-get install chromium)"
            pytest.skip("Chromium is not installed")
        theirs_in, self._in = os.pipe()
        self._out, theirs_out = os.pipe()
        command = [program, *OPTIONS, f"--user-data-dir={home}", f"--window-size={WIDTH},{HEIGHT}", "about:blank"]
        # The protocol's ends are descriptors 3 and 4.
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        with (home.parent / "chromium.log").open("wb") as log:
            self._process = subprocess.Popen(
                ["bash", "-c", script, "bash", *command],
                pass_fds=(theirs_in, theirs_out), stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        os.close(theirs_in)
        os.close(theirs_out)
        self._number, self._read = 0, b""

    def __enter__(self) -> "Chromium":
        page = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._page = str(self._call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"])
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        return self

    def __exit__(self, *_: object) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._in)
        os.close(self._out)

    def call(self, method: str, **words: Any) -> Any:
        """The result of a protocol call to the page. Raises PageError."""
        return self._call(method, session=self._page, **words)

    def go(self, url: str) -> None:
        """Lead the page to an address."""
        told = self.call("Page.navigate", url=url)
        assert "errorText" not in told, told

    def evaluate(self, expression: str) -> Any:
        """The value of an expression of JavaScript; None while the page is being loaded."""
        try:
            return self.call("Runtime.evaluate", expression=expression, returnByValue=True)["result"].get("value")
        except PageError:
            return None

    def wait_for(self, text: str, within_s: float = 20) -> None:
        """Wait until the page shows a text."""
        self.wait_until(f"document.body !== null && document.body.innerText.includes({json.dumps(text)})", within_s)

    def wait_until(self, expression: str, within_s: float = 20) -> None:
        """Wait until an expression of JavaScript is true."""
        deadline = time.monotonic() + within_s
        while not self.evaluate(expression):
            assert time.monotonic() < deadline, self.evaluate("document.documentElement.outerHTML")
            time.sleep(0.02)

    def screenshot(self) -> bytes:
        """What the window shows, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def _call(self, method: str, session: str | None = None, **words: Any) -> Any:
        self._number += 1
        asked = {"id": self._number, "method": method, "params": words}
        asked |= {"sessionId": session} if session else {}
        os.write(self._in, json.dumps(asked).encode() + b"\0")
        while (told := self._next()).get("id") != self._number:
            pass
        if "error" in told:
            raise PageError(told["error"]["message"])
        return told["result"]

    def _next(self) -> Any:
        while b"\0" not in self._read:
            piece = os.read(self._out, ANSWER_BYTES)
            assert piece, "the browser has ended"
            self._read += piece
        line, _, self._read = self._read.partition(b"\0")
        return json.loads(line)
