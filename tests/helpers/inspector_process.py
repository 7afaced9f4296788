"""`run_inspect.py` as a process of its own, and a headless browser that looks at its page."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_LONGEST_SECONDS = 180.0


class InspectorProcess:
    """The inspector, started in another folder than the project's.

    Attributes:
        url: The address of its page.
        lines: What it has printed so far.
    """

    def __init__(self, runs_dir: Path, *arguments: str, working_dir: Path) -> None:
        """Start it and wait until it tells its address."""
        command = [sys.executable, str(ROOT / "run_inspect.py"), "--runs-dir", str(runs_dir)]
        self._process = subprocess.Popen(
            [*command, "--port", "0", *arguments],
            cwd=working_dir,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.rstrip())
            if found := re.search(r"http://\S+", line):
                self.url = found[0]
                return
        raise AssertionError(f"the inspector ended: {self.lines}")

    @property
    def session(self) -> int:
        """The session of its processes."""
        return self._process.pid

    def processor_seconds(self) -> float:
        """Return the processor time that it has taken so far."""
        stat = Path(f"/proc/{self.session}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, number: signal.Signals = signal.SIGINT) -> tuple[int, str]:
        """Send a signal; return the exit code and what was printed after the address."""
        self._process.send_signal(number)
        out, _ = self._process.communicate(timeout=180)
        return self._process.returncode, out

    def kill(self) -> None:
        """End it in any case."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.session, signal.SIGKILL)
        self._process.wait()


def find_browser() -> tuple[str, str] | None:
    """Return the paths of a browser and its driver; None where one of them is not installed."""
    browser = next((path for name in _BROWSERS if (path := shutil.which(name))), None)
    driver = shutil.which("chromedriver")
    return None if browser is None or driver is None else (browser, driver)


@contextlib.contextmanager
def headless_browser(width: int, height: int) -> Iterator[Any]:
    """Open a browser that draws nowhere and remembers all that it asked for and complained of."""
    from selenium import webdriver

    found = find_browser()
    assert found is not None
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in ("--headless=new", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(found[1]))
    browser.set_script_timeout(_LONGEST_SECONDS)
    try:
        yield browser
    finally:
        browser.quit()


def wait_for(browser: Any, expression: str) -> Any:
    """Return what a JavaScript expression gives as soon as it is true."""
    deadline = time.monotonic() + _LONGEST_SECONDS
    while time.monotonic() < deadline:
        if value := browser.execute_script(f"return {expression}"):
            return value
        time.sleep(0.05)
    shown = browser.execute_script("return document.body.innerText")
    raise AssertionError(f"never true: {expression}\nthe page shows:\n{shown[:2000]}")


def requested_urls(browser: Any) -> set[str]:
    """Return all URLs that the browser has asked for since the last call."""
    messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
    return {
        message["params"]["request"]["url"]
        for message in messages
        if message["method"] == "Network.requestWillBeSent"
    }
