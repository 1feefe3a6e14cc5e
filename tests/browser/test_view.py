"""``shoal view`` in a real Chromium: a replay's folder on the live page, on a desk and on a phone."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.chromium import Chromium
from tests.builders.live_windows import many, sequences, told, tracks, withheld
from tests.paths import ROOT

pytestmark = pytest.mark.browser

IS_DRAWN = "document.querySelector('.shapes').childElementCount > 1"


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """The address of a page that shows a folder with windows of both kinds."""
    windows = [*many(sequences(), 3), *many(tracks(people=40), 3, first=3), told(withheld())]
    for one in (message for window in windows for message in window.messages):
        with (tmp_path / f"{one.topic}.ndjson").open("ab") as file:
            file.write(one.value + b"\n")
    command = [sys.executable, "-m", "stream.cli.main", "view", str(tmp_path), "--no-browser"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)


@pytest.mark.parametrize("width", [1280, 360])
async def test_a_folder_is_shown_on_a_desk_and_on_a_phone(chromium: Chromium, address: str, width: int) -> None:
    """
    Windows, maps and charts are those of the folder; nothing speaks of a worker or of durations, nothing is wider than
    the screen, and no other host is asked.
    """
    async with chromium.page(width=width) as page:
        await page.go(address)
        await page.wait_for(f"document.querySelectorAll('#windows tr').length === 7 && {IS_DRAWN}")
        text = await page.evaluate("document.body.innerText")
        assert "The releases of a replay, from the folder" in text
        for words in ("seqanon", "w4m", "6 released", "1 withheld", "too few people"):
            assert words in text
        for words in ("Close to release", "Each worker", "Pause updates", "since the worker"):
            assert words not in text
        assert await page.evaluate("document.querySelectorAll('figure').length") == 6
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await page.evaluate("document.querySelector('#windows button[aria-label*=checkins]').click()")
        await page.wait_for("document.getElementById('map-summary').textContent.includes('generalized location')")
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith((address, "data:"))] == []


async def test_no_serious_accessibility_fault(chromium: Chromium, address: str, axe: str) -> None:
    """
    axe-core finds nothing serious on the page of a folder either.
    """
    async with chromium.page() as page:
        await page.go(address)
        await page.wait_for(IS_DRAWN)
        await asyncio.sleep(0.5)
        await page.evaluate(axe + "; undefined")
        found = json.loads(await page.evaluate("axe.run(document).then(r => JSON.stringify(r.violations))"))
    assert [one["id"] for one in found if one["impact"] in ("serious", "critical", "moderate")] == []
