"""A headless browser that looks at pages: at a width, by day or by night, with all that goes wrong on the way."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DRIVER, BROWSER = shutil.which("chromedriver"), shutil.which("chromium")
# Nothing that a browser does of its own accord.
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)
HEIGHT = 900
OVERFLOW = """
const wide = document.documentElement.clientWidth;
return [document.documentElement.scrollWidth > wide,
  [...document.querySelectorAll("body *")].filter(each => each.getBoundingClientRect().right > wide + 1
    && !each.closest(".scroll, .picture")).map(each => each.tagName + ": " + each.textContent.slice(0, 40))];
"""
SMALLEST = """
return Math.min(99, ...[...document.querySelectorAll("svg text")].map(each => {
  const box = each.ownerSVGElement.getBoundingClientRect(), view = each.ownerSVGElement.viewBox.baseVal;
  return parseFloat(getComputedStyle(each).fontSize) * box.width / view.width;
}));
"""


@dataclass(frozen=True)
class Visit:
    """What was seen of a page: messages of its console, addresses that it asked for, whether it is wider than the screen."""

    messages: tuple[str, ...]
    requests: tuple[str, ...]
    overflows: bool
    too_wide: tuple[str, ...]
    smallest_letters: float

    def problems(self) -> list[str]:
        """All that should not be."""
        found = [
            *(f"console: {each}" for each in self.messages),
            *(f"asked for {each}" for each in self.requests),
        ]
        found += [f"wider than the screen: {self.too_wide}"] if self.overflows or self.too_wide else []
        return found + ([f"letters of {self.smallest_letters:.1f} px"] if self.smallest_letters < 8 else [])


class Browser:
    """One session for all pages."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def visit(self, file: Path, width: int, mode: str, media: str = "screen") -> Visit:
        """Open a file as if on a screen so wide, ``light`` or ``dark``."""
        call = self.driver.execute_cdp_cmd
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 600}
        call("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": mode}]
        call("Emulation.setEmulatedMedia", {"media": media, "features": features})
        self.driver.get_log("performance")
        self.driver.get_log("browser")
        address = file.resolve().as_uri()
        self.driver.get(address)
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        asked = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        overflows, too_wide = self.driver.execute_script(OVERFLOW)
        return Visit(
            tuple(entry["message"] for entry in self.driver.get_log("browser")),
            tuple(url for url in asked if url != address),
            overflows,
            tuple(too_wide),
            self.driver.execute_script(SMALLEST),
        )

    def run(self, script: str) -> Any:
        """What a script on the page returns."""
        return self.driver.execute_script(script)

    def screenshot(self, file: Path) -> None:
        """The whole page as a PNG file."""
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})
        file.write_bytes(base64.b64decode(shot["data"]))


def missing() -> str | None:
    """Why no page can be looked at, if none can."""
    absent = [name for name, found in (("chromium", BROWSER), ("chromedriver", DRIVER)) if found is None]
    return f"needs {' and '.join(absent)}: apt-get install chromium chromium-driver" if absent else None


@contextmanager
def open_browser() -> Iterator[Browser]:
    """A browser, closed at the end."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER or ""
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    with tempfile.TemporaryDirectory() as folder:
        for flag in (*FLAGS, f"--user-data-dir={folder}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
