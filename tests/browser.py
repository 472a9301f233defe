"""A headless Chromium, spoken to over a pipe by the DevTools protocol."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import time

import cv2
import numpy as np
import pytest

_TIME_LIMIT = 60  # seconds that an answer may take
_COMMAND = (
    "exec chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage "
    "--no-first-run --hide-scrollbars --remote-debugging-pipe --user-data-dir={folder} "
    "about:blank 3<&{read} 4>&{write}"
)


def require_chromium():
    """Skip where there is none, unless it is said that there must be one."""
    if shutil.which("chromium") is None:
        if "NUVMATCH_WITH_BROWSER" in os.environ:
            pytest.fail("there is no chromium: apt-get install chromium")
        pytest.skip("there is no chromium")


class Browser:
    """One page, and what it said on its console and asked of the network."""

    def __init__(self, folder):
        ours, theirs = os.pipe(), os.pipe()
        command = _COMMAND.format(folder=folder, read=ours[0], write=theirs[1])
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            pass_fds=(ours[0], theirs[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ours[0])
        os.close(theirs[1])
        self._write, self._read = ours[1], theirs[0]
        self._buffer, self._number, self._session = b"", 0, None
        self.events = []
        (page,) = (
            target["targetId"]
            for target in self("Target.getTargets")["targetInfos"]
            if target["type"] == "page"
        )
        self._session = self("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self(f"{domain}.enable")

    def close(self):
        with contextlib.suppress(OSError):
            self("Browser.close")
        os.close(self._write)
        os.close(self._read)
        self._process.wait(_TIME_LIMIT)

    def __call__(self, method, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        answer = self._until(lambda one: one.get("id") == number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def _until(self, wanted):
        end = time.monotonic() + _TIME_LIMIT
        while True:
            while b"\0" not in self._buffer:
                if not select.select([self._read], [], [], max(end - time.monotonic(), 0))[0]:
                    raise TimeoutError("the browser does not answer")
                data = os.read(self._read, 1 << 20)
                if not data:
                    raise OSError("the browser has ended")
                self._buffer += data
            text, self._buffer = self._buffer.split(b"\0", 1)
            message = json.loads(text)
            if "method" in message:
                self.events.append(message)
            if wanted(message):
                return message

    def open(self, path, width=1200, height=900, dark=False, mobile=False):
        """Open a file from disk, as wide as that, and wait until it is there."""
        self.events.clear()
        self(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=mobile,
        )  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self("Emulation.setEmulatedMedia", media="", features=[scheme])
        self("Page.navigate", url=path.as_uri())
        self._until(lambda one: one.get("method") == "Page.loadEventFired")

    def __getitem__(self, expression):
        """The value of a line of JavaScript."""
        answer = self("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, *keys):
        for key in keys:
            text = {"text": key} if len(key) == 1 else {}
            code = {"ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39}.get(key, 0)
            for kind in ("keyDown", "keyUp"):
                self(
                    "Input.dispatchKeyEvent",
                    type=kind, key=key, code=key, windowsVirtualKeyCode=code, **text,
                )  # fmt: skip

    def click(self, selector):
        """Click in the middle of an element."""
        box = f"document.querySelector({json.dumps(selector)})"
        self[f"{box}.scrollIntoView({{block: 'center'}})"]
        x, y = self[
            f"(({{left, top, width, height}}) => [left + width / 2, top + height / 2])"
            f"({box}.getBoundingClientRect())"
        ]
        self.click_at(x, y)

    def click_at(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def picture(self, whole=False):
        """What is seen, or the whole page, as RGB."""
        answer = self("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        data = np.frombuffer(base64.b64decode(answer["data"]), np.uint8)
        return cv2.imdecode(data, cv2.IMREAD_COLOR)[..., ::-1]

    @property
    def complaints(self):
        """Errors and warnings, exceptions included."""
        found = [event for event in self.events if event["method"] == "Runtime.exceptionThrown"]
        for event in self.events:
            said = event["params"]
            if event["method"] == "Log.entryAdded":
                found += [said["entry"]] if said["entry"]["level"] in ("error", "warning") else []
            elif event["method"] == "Runtime.consoleAPICalled":
                found += [said] if said["type"] in ("error", "warning", "assert") else []
        return found

    @property
    def asked_of_the_network(self):
        """Addresses of all that was loaded but what the page itself holds."""
        urls = [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return [url for url in urls if not url.startswith(("data:", "blob:"))]
