"""A headless Chromium on the console: log in, go, look, judge; by Debian's own browser and driver."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parent / "vendor" / "axe.min.js"
WIDTHS = (1280, 375)
SCHEMES = ("light", "dark")
PATIENCE_SECONDS = 20.0


class Page:
    """One browser, logged in or not, at one width and in one scheme."""

    def __init__(self, driver: Any, address: str) -> None:
        self.driver, self.address = driver, address

    def look(self, width: int, scheme: str, height: int = 900) -> None:
        """Be a screen of this width that prefers this scheme."""
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        features.append({"name": "prefers-reduced-motion", "value": "reduce"})
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})

    def go(self, path: str) -> Page:
        self.driver.get(self.address + path)
        return self

    def log_in(self, password: str, path: str = "/console") -> None:
        """Give the password on the page that asks for it."""
        self.go(path)
        self.one("#password").send_keys(password)
        self.one("form[action='/console/login'] button").click()
        self.until("return location.pathname != '/console/login' && !document.querySelector('#password')")

    def one(self, css: str) -> Any:
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, css)

    def text(self, css: str = "main") -> str:
        return str(self.one(css).text)

    def run(self, script: str, *values: object) -> Any:
        return self.driver.execute_script(script, *values)

    def until(self, script: str, seconds: float = PATIENCE_SECONDS) -> None:
        """Wait until a script returns something true."""
        from selenium.common.exceptions import JavascriptException
        from selenium.webdriver.support.ui import WebDriverWait

        waiting = WebDriverWait(self.driver, seconds, 0.05, ignored_exceptions=[JavascriptException])
        waiting.until(lambda driver: driver.execute_script(script), script)

    def violations(self) -> list[str]:
        """Return what axe-core finds wrong with the page, one line each."""
        self.driver.execute_cdp_cmd("Page.setBypassCSP", {"enabled": True})
        self.run(AXE.read_text())
        found = self.driver.execute_async_script(
            "const done = arguments[0];"
            "axe.run(document, {resultTypes: ['violations']})"
            ".then(found => done(found.violations), error => done([{id: String(error), nodes: []}]));"
        )
        return [
            f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')[:300]}"
            for each in found
            for node in each["nodes"]
        ]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than the screen."""
        return int(self.run("return document.documentElement.scrollWidth - window.innerWidth"))

    def picture(self, path: Path, *, whole: bool = False) -> None:
        """Write what is seen, or the whole page, as PNG."""
        path.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, object] = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
            options["clip"] = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.driver.execute_cdp_cmd("Page.captureScreenshot", options)
        path.write_bytes(base64.b64decode(shot["data"]))

    def complaints(self) -> list[str]:
        """Return what the browser logged since the last call: errors of scripts, refusals by the policy."""
        return [f"{each['level']}: {each['message']}" for each in self.driver.get_log("browser")]


@contextmanager
def browser(address: str) -> Iterator[Page]:
    """Run a browser; the test is skipped, and says so, where there is none."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver_path = shutil.which("chromedriver")
    if not binary or not driver_path:
        pytest.skip("no Chromium here: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--disable-component-update",
        "--no-first-run",
        "--force-color-profile=srgb",
    ):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver_path)
    driver = webdriver.Chrome(options=options, service=service)
    try:
        driver.set_page_load_timeout(60)
        driver.set_script_timeout(60)
        yield Page(driver, address)
    finally:
        driver.quit()
