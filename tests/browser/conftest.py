"""One browser for all tests, and the accessibility rules that are run in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium, find_chromium

AXE = "axe-core@4.10.3"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shoal" / "browser"
"""Outside the repository: nothing that is fetched is committed."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A browser that is installed; tests skip where there is none."""
    program = find_chromium()
    if program is None:
        pytest.skip("no Chromium: install it (Debian: apt-get install chromium) or name it in SHOAL_CHROMIUM")
    with Chromium(program) as browser:
        yield browser


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core, fetched once with npm; tests skip where that is not to be had."""
    script = CACHE / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip("no npm to fetch axe-core with")
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--prefix", str(CACHE), "--no-audit", "--no-fund", "--ignore-scripts", AXE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode or not script.exists():
            pytest.skip(f"npm cannot fetch {AXE}: {done.stderr.strip()[-200:]}")
    return script.read_text(encoding="utf-8")
