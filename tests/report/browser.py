"""A real browser for tests: chromium through chromedriver, by its plain HTTP protocol."""

import json
import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)
CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
MISSING = CHROMIUM is None or DRIVER is None
WHY = "there is no browser: install the packages chromium and chromium-driver"


class Browser:
    """One tab."""

    def __init__(self, address: str, session: str) -> None:
        self._session = f"{address}/session/{session}"

    def _send(self, path: str, **values):
        return send(f"{self._session}/{path}", **values)

    def open(self, page: Path) -> None:
        self._send("url", url=page.resolve().as_uri())

    def script(self, text: str, *arguments):
        return self._send("execute/sync", script=text, args=list(arguments))

    def type(self, keys: str, *, held: str = "") -> None:
        """Press keys one after the other, while another may be held down."""
        pressed = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        if held:
            pressed = [
                {"type": "keyDown", "value": held},
                *pressed,
                {"type": "keyUp", "value": held},
            ]
        self._send("actions", actions=[{"type": "key", "id": "keyboard", "actions": pressed}])

    def devtools(self, command: str, **parameters):
        return self._send("goog/cdp/execute", cmd=command, params=parameters)

    def size(self, width: int, height: int = 900) -> None:
        self.devtools(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def scheme(self, name: str) -> None:
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.devtools("Emulation.setEmulatedMedia", features=features)

    def console(self) -> list[str]:
        return [one["message"] for one in self._send("se/log", type="browser")]

    def requests(self) -> list[str]:
        """Addresses that the page asked for since the last question."""
        events = [
            json.loads(one["message"])["message"]
            for one in self._send("se/log", type="performance")
        ]
        sent = [one for one in events if one["method"] == "Network.requestWillBeSent"]
        return [one["params"]["request"]["url"] for one in sent]

    def accessible(self) -> list[dict]:
        """What a screen reader is told, in order: role, name."""
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        return [
            {"role": one["role"]["value"], "name": one.get("name", {}).get("value", "")}
            for one in nodes
            if not one.get("ignored")
        ]

    def picture(self, path: Path) -> None:
        import base64

        height = self.script("return document.documentElement.scrollHeight")
        width = self.script("return window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        found = self.devtools("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        path.write_bytes(base64.b64decode(found["data"]))


def send(address: str, method: str = "POST", **values):
    data = json.dumps(values).encode() if method == "POST" else None
    request = urllib.request.Request(
        address, data, {"Content-Type": "application/json"}, method=method
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())["value"]


@contextmanager
def browser(profile: Path):
    """A browser with an empty profile; it is closed at the end."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    driver = subprocess.Popen(
        [DRIVER, f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address)
        options = {"binary": CHROMIUM, "args": [*FLAGS, f"--user-data-dir={profile}"]}
        wanted = {
            "goog:chromeOptions": options,
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }
        session = send(f"{address}/session", capabilities={"alwaysMatch": wanted})["sessionId"]
        try:
            yield Browser(address, session)
        finally:
            send(f"{address}/session/{session}", "DELETE")
    finally:
        driver.terminate()
        driver.wait(10)


def _wait(address: str) -> None:
    for _ in range(100):
        try:
            send(f"{address}/status", "GET")
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("chromedriver does not answer")
