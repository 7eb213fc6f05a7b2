"""The app in a process of its own, and a headless Chromium to look at it."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served_app(folder: Path, *, plain: bool = False, **env: str) -> Iterator[str]:
    """Serve the app on a free port over a database in `folder`; yields its address.

    `plain` starts it as `streamlit run app.py`, without the command line around it.
    """
    port = free_port()
    log = folder / "app.log"
    world = {k: v for k, v in os.environ.items() if not k.endswith("_API_KEY")}
    world |= {
        "RAPPORT_DATA_DIR": str(folder),
        "RAPPORT_DATABASE_URL": f"sqlite:///{folder / 'rapport.db'}",
        **env,
    }
    command = [sys.executable, "cli.py", "serve", "--port", str(port)]
    if plain:
        run = [sys.executable, "-m", "streamlit", "run", "app.py"]
        command = [*run, "--server.port", str(port), "--server.address", "127.0.0.1"]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, cwd=ROOT, env=world, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            _wait_until_up(f"http://localhost:{port}", process, log)
            yield f"http://localhost:{port}"
        finally:
            process.terminate()
            process.wait(20)


def _wait_until_up(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the app ended: {log.read_text(encoding='utf-8')[-2000:]}")
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the app did not come up: {log.read_text(encoding='utf-8')[-2000:]}")


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
