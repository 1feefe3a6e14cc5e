"""The live page in a real Chromium: what people see, on a desk and on a phone, by mouse, keyboard and screen reader."""

from __future__ import annotations

import asyncio
import http.server
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

import pytest

from core.records.record import INPUT_KINDS, Kind
from core.release.outcome import WithholdReason
from stream.demo.broker import BrokerMissingError, EmbeddedBroker, free_port
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.feeds.feed import build_feeds
from stream.replay.replay import Replay
from stream.settings.input import FieldSettings
from stream.windows.report import EmittedWindow
from stream.worker.recent_windows import RecentWindows
from tests.browser.chromium import Chromium, Page
from tests.builders.inputs import record_file
from tests.builders.live_windows import PageServer, of_folder, settings_of, told, withheld
from tests.builders.windows import START_MS
from tests.cluster.workers import wait_until
from tests.paths import ROOT

pytestmark = pytest.mark.browser

PICTURES = ROOT / "deploy" / "screenshots"
LARGEST_PICTURE = 200_000
CITY: dict[str, Any] = {
    "privacy.k": 5,
    "location.cell_m": 1500,
    "window.size": "10m",
    "checkins.window.size": "30m",
    "window.allowed_lateness": "5m",
    "time.max_ahead": "36500d",
}
N_ROWS = "document.querySelectorAll('#windows tr').length"
IS_DRAWN = "document.querySelector('.shapes').childElementCount > 1"
FOCUSED = """(() => { const e = document.activeElement;
  return e.id || e.getAttribute('aria-label') || e.textContent.trim().slice(0, 40); })()"""
CONTROLS = """[...document.querySelectorAll('a, button, select, summary, [tabindex="0"]')]
  .filter(e => e.checkVisibility())
  .map(e => e.id || e.getAttribute('aria-label') || e.textContent.trim().slice(0, 40))"""


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> list[EmittedWindow]:
    """Windows of a morning in a simulated city, as they left."""
    settings = settings_of(CITY)
    feeds, folder = build_feeds(settings), tmp_path_factory.mktemp("city")
    options = CityOptions(people=700, seed=5, checkins_per_person_day=8.0)
    start_ms = options.start_ms + 27_000_000  # half past seven
    messages = [m for m in City(options).messages(until_ms=start_ms + 2 * 3_600_000) if m.arrival_ms >= start_ms]
    windows = []
    for kind in INPUT_KINDS:
        file = folder / f"{kind}.ndjson"
        file.write_bytes(b"\n".join(m.value for m in messages if m.kind is kind))
        names = FieldSettings().model_dump()
        records = record_file(file, kind, names, max_bytes=10**6)
        Replay(feeds[kind], [records], now_ms=2**41, max_bytes=10**6).run(folder / kind)
        windows += of_folder(folder / kind)
    return sorted(windows, key=lambda window: window.key)


def shown_of(
    windows: list[EmittedWindow], values: Mapping[str, Any] | None = None, *, started_ms: int = START_MS
) -> RecentWindows:
    settings = settings_of(CITY | dict(values or {}))
    shown = RecentWindows(settings, build_feeds(settings), started_ms=started_ms)
    shown.add(told(withheld()))
    for window in windows:
        shown.add(window)
    return shown


@pytest.fixture
def server(city: list[EmittedWindow]) -> Iterator[PageServer]:
    """The pages of a worker that has released a morning, but for the last four windows."""
    with PageServer(shown_of(city[:-4])) as running:
        yield running


def keep(name: str, picture: bytes) -> None:
    """Write a picture for the README, which must not grow a repository."""
    assert len(picture) < LARGEST_PICTURE
    PICTURES.mkdir(parents=True, exist_ok=True)
    (PICTURES / name).write_bytes(picture)


async def opened(page: Page, server: PageServer) -> None:
    await page.go(server.url)
    await page.wait_for(f"{N_ROWS} > 3 && {IS_DRAWN}")


async def assert_all_is_well(page: Page, server: PageServer) -> None:
    """Nothing on the console, and nobody else was asked for anything."""
    assert page.complaints == []
    assert page.requests
    assert [url for url in page.requests if not url.startswith((server.url, "data:"))] == []


async def test_the_page_shows_what_left(chromium: Chromium, server: PageServer, city: list[EmittedWindow]) -> None:
    """
    Windows, charts with the promised k, models, reasons, and the newest release on the map; no other host is asked.
    """
    async with chromium.page(height=1300) as page:
        await opened(page, server)
        text = await page.evaluate("document.body.innerText")
        for words in ("seqanon", "w4m", "k = 5", "too few people", "Smallest support", "Points released", "ready"):
            assert words in text
        assert await page.evaluate(N_ROWS) == len(city) - 3
        assert await page.evaluate("document.querySelectorAll('figure').length") == 8
        assert await page.evaluate("document.querySelectorAll('.cells, .track').length") > 3
        keep("page.png", await page.screenshot())
        await assert_all_is_well(page, server)


@pytest.fixture(scope="module")
def flows(tmp_path_factory: pytest.TempPathFactory) -> list[EmittedWindow]:
    """Flows between the stops of a day in a simulated city."""
    values = CITY | {"stops.of_fragments": "only", "stops.privacy.model": "flows", "stops.window.size": "4h"}
    settings = settings_of(values)
    folder = tmp_path_factory.mktemp("flows")
    messages = City(CityOptions(people=900, seed=5)).messages(until_ms=CityOptions().start_ms + 86_400_000)
    file = folder / "fragments.ndjson"
    file.write_bytes(b"\n".join(m.value for m in messages if m.kind is Kind.FRAGMENTS))
    records = record_file(file, Kind.FRAGMENTS, FieldSettings().model_dump(), max_bytes=10**6)
    Replay(build_feeds(settings)[Kind.STOPS], [records], now_ms=2**41, max_bytes=10**6).run(folder / "out")
    return of_folder(folder / "out")


async def test_flows_are_drawn_and_told(chromium: Chromium, flows: list[EmittedWindow]) -> None:
    """
    Lines between places, and a table with the number of people of each.
    """
    values = {"stops.of_fragments": "only", "stops.privacy.model": "flows", "stops.window.size": "4h"}
    largest = max(flows, key=lambda window: len(window.messages))
    with PageServer(shown_of([largest], values)) as server:
        async with chromium.page(height=1300) as page:
            await page.go(server.url)
            await page.wait_for(IS_DRAWN)
            await page.evaluate("document.getElementById('map-details').open = true")
            n = len(largest.messages) - 1
            assert f"{n} released flows between" in await page.evaluate("document.body.innerText")
            lines = await page.evaluate("document.querySelectorAll('.step').length")
            assert 0 < lines == await page.evaluate("document.querySelectorAll('.head').length") <= n
            people = await page.evaluate(
                "[...document.querySelectorAll('#map-table tbody tr')].map(row => +row.lastChild.textContent)"
            )
            assert people == sorted(people, reverse=True)
            assert min(people) >= 5
            await assert_all_is_well(page, server)


async def test_a_person_on_a_phone_reads_it_without_scrolling_sideways(chromium: Chromium, server: PageServer) -> None:
    """
    At 360 pixels nothing is wider than the screen, and what one taps is large enough.
    """
    async with chromium.page(width=360, height=740) as page:
        await opened(page, server)
        await page.evaluate("document.getElementById('map-details').open = true")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 360
        wide = "[...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > 361 && "
        wide += "!e.closest('svg, .hidden, thead')).map(e => e.outerHTML.slice(0, 90))"
        assert await page.evaluate(wide) == []
        small = "[...document.querySelectorAll('button, select')].filter(e => e.checkVisibility() && "
        small += "e.getBoundingClientRect().height < 36).map(e => e.textContent)"
        assert await page.evaluate(small) == []
        await page.evaluate("document.getElementById('map-details').open = false")
        await page.evaluate("document.querySelector('#windows button[aria-label*=fragments]').click()")
        await page.wait_for("document.querySelectorAll('.track').length > 20")
        await page.evaluate("scrollTo(0, 0)")
        await page.evaluate("document.activeElement.blur()")
        keep("page-phone.png", await page.screenshot())
        await assert_all_is_well(page, server)


async def test_dark_mode_has_colours_of_its_own(chromium: Chromium, server: PageServer) -> None:
    """
    Who prefers dark gets light text on dark.
    """
    found = []
    for dark in (False, True):
        async with chromium.page(dark=dark) as page:
            await opened(page, server)
            style = "(({color, backgroundColor}) => [color, backgroundColor])(getComputedStyle(document.body))"
            found.append([sum(map(int, re.findall(r"\d+", one)[:3])) for one in await page.evaluate(style)])
    (ink, paper), (dark_ink, dark_paper) = found
    dark_at_most, light_at_least = 200, 600  # of 765
    assert max(ink, dark_paper) < dark_at_most
    assert min(paper, dark_ink) > light_at_least


async def test_the_keyboard_reaches_every_control_and_the_focus_is_seen(chromium: Chromium, server: PageServer) -> None:
    """
    Tab goes through all controls in the order of the page, the skip link first, and out again.
    """
    async with chromium.page() as page:
        await opened(page, server)
        await page.evaluate("document.getElementById('pause').click()")  # so that no control is added meanwhile
        await page.evaluate("document.activeElement.blur()")
        expected, reached = await page.evaluate(CONTROLS), []
        for _ in expected:
            await page.press("Tab")
            reached.append(await page.evaluate(FOCUSED))
            outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline == "solid", reached[-1]
        assert reached == expected
        assert reached[0] == "Skip to the content"
        await page.press("Tab")
        assert await page.evaluate(FOCUSED) not in reached[1:]


async def test_the_map_moves_by_keyboard_and_mouse(chromium: Chromium, server: PageServer) -> None:
    """
    Arrows and dragging move it, plus, minus, the wheel and buttons zoom, 0 shows everything again.
    """
    view = "document.querySelector('.shapes').getAttribute('transform')"
    async with chromium.page() as page:
        await opened(page, server)
        await page.evaluate("document.getElementById('choice').selectedIndex = 2")
        await page.evaluate("document.getElementById('choice').dispatchEvent(new Event('change'))")
        await asyncio.sleep(0.5)
        await page.evaluate("document.getElementById('map').focus()")
        at_first = await page.evaluate(view)
        seen = {at_first}
        box = "(b => [b.x + b.width / 2, b.y + b.height / 2])(document.getElementById('map').getBoundingClientRect())"
        x, y = await page.evaluate(box)
        wheel: dict[str, Any] = {"type": "mouseWheel", "x": x, "y": y, "deltaX": 0, "deltaY": -200}
        acts: list[Coroutine[Any, Any, Any]] = [page.press(key) for key in ("ArrowLeft", "ArrowDown", "+", "-")]
        acts += [page.drag(x, y, x + 80, y + 30), page.send("Input.dispatchMouseEvent", **wheel)]
        for act in acts:
            await act
            await asyncio.sleep(0.15)
            seen.add(await page.evaluate(view))
        assert len(seen) >= 6  # minus undoes plus
        await page.press("0")
        await asyncio.sleep(0.15)
        assert await page.evaluate(view) == at_first
        labels = await page.evaluate("document.querySelector('.labels').textContent")
        assert re.search(r"\d\u00a0k?m", labels)
        assert "°\u00a0N" in labels


async def test_two_fingers_zoom_the_map_and_one_scrolls_the_page(chromium: Chromium, server: PageServer) -> None:
    """
    On a phone the map is no trap: it moves under two fingers alone.
    """
    transform = "document.querySelector('.shapes').getAttribute('transform')"
    async with chromium.page(width=360, height=740) as page:
        await opened(page, server)
        await page.evaluate("document.getElementById('pause').click()")
        await page.evaluate("document.getElementById('map').scrollIntoView({block: 'center'})")
        top = await page.evaluate("document.getElementById('map').getBoundingClientRect().top")
        before, scrolled = await page.evaluate(transform), await page.evaluate("scrollY")

        async def touch(kind: str, *fingers: tuple[float, float]) -> None:
            points = [{"x": x, "y": y, "id": i} for i, (x, y) in enumerate(fingers)]
            await page.send("Input.dispatchTouchEvent", type=kind, touchPoints=points)
            await asyncio.sleep(0.1)

        await touch("touchStart", (150, top + 100), (170, top + 100))
        await touch("touchMove", (120, top + 100), (200, top + 100))
        await touch("touchMove", (90, top + 100), (230, top + 100))
        await touch("touchEnd")
        after = await page.evaluate(transform)
        scales = [float(re.findall(r"scale\((\S+)\)", one)[0]) for one in (before, after)]
        assert scales[1] > 2 * scales[0]
        assert await page.evaluate("scrollY") == scrolled
        await touch("touchStart", (150, top + 200))
        for y in range(180, 0, -20):
            await touch("touchMove", (150, top + y))
        await touch("touchEnd")
        await page.wait_for(f"scrollY > {scrolled + 50}")
        assert await page.evaluate(transform) == after


async def test_new_windows_come_by_themselves_and_are_announced(
    chromium: Chromium, server: PageServer, city: list[EmittedWindow]
) -> None:
    """
    A window that leaves is on the page within seconds, politely told to a screen reader, and takes nobody's focus;
    while updates are paused nothing moves.
    """
    async with chromium.page() as page:
        await opened(page, server)
        before = await page.evaluate(N_ROWS)
        await page.evaluate("document.querySelector('#windows button').focus()")
        focused = await page.evaluate(FOCUSED)
        server.add(city[-4:-2])
        await page.wait_for(f"{N_ROWS} === {before + 2}")
        assert await page.evaluate(FOCUSED) == focused
        await page.wait_for("document.getElementById('news').textContent.includes('2 new windows')")
        await page.evaluate("document.getElementById('pause').click()")
        server.add(city[-2:])
        await asyncio.sleep(4.5)
        assert await page.evaluate(N_ROWS) == before + 2
        await page.evaluate("document.getElementById('pause').click()")
        await page.wait_for(f"{N_ROWS} === {before + 4}")
        await assert_all_is_well(page, server)


async def test_it_says_when_the_worker_is_away_and_goes_on_with_its_successor(
    chromium: Chromium, city: list[EmittedWindow]
) -> None:
    """
    What was shown stays, with a warning; a worker that has started anew shows its own windows alone.
    """
    port = free_port()
    async with chromium.page() as page:
        with PageServer(shown_of(city), port=port) as server:
            await opened(page, server)
            n = await page.evaluate(N_ROWS)
        await page.wait_for("!document.getElementById('trouble').hidden")
        assert "has not answered since" in await page.evaluate("document.getElementById('trouble').textContent")
        assert await page.evaluate(N_ROWS) == n
        with PageServer(shown_of(city[-3:], started_ms=START_MS + 1000), port=port):
            await page.wait_for("document.getElementById('trouble').hidden")
            await page.wait_for(f"{N_ROWS} === 4")
            assert "has restarted" in await page.evaluate("document.getElementById('news').textContent")


async def test_a_window_can_be_chosen_and_read_as_a_table(chromium: Chromium, server: PageServer) -> None:
    """
    A row's button puts its release on the map, and the table beside it tells what the map shows.
    """
    async with chromium.page() as page:
        await opened(page, server)
        for kind, words in (("checkins", "generalized location"), ("fragments", "released trajectories")):
            button = f"document.querySelector('#windows button[aria-label*=\"{kind}\"]')"
            await page.evaluate(f"{button}.click()")
            await page.wait_for(f"document.getElementById('map-summary').textContent.includes('{words}')")
            assert await page.evaluate("document.activeElement.id") == "map"
            await page.evaluate("document.getElementById('map-details').open = true")
            rows = await page.evaluate("document.querySelectorAll('#map-table tbody tr').length")
            assert rows > 3


async def test_what_is_named_by_a_feed_is_text_and_nothing_else(chromium: Chromium) -> None:
    """
    Shards and places are data: no markup of theirs is carried out.
    """
    shown = shown_of([])
    shown.add(told(withheld(WithholdReason.TOO_LARGE, shard="<img src=x onerror=alert(1)>")))
    async with chromium.page() as page:
        with PageServer(shown) as server:
            await page.go(server.url)
            await page.wait_for(f"{N_ROWS} === 2")
            assert "<img src=x" in await page.evaluate("document.body.innerText")
            assert await page.evaluate("document.querySelectorAll('#windows img').length") == 0
            await assert_all_is_well(page, server)


class _Tiles(http.server.BaseHTTPRequestHandler):
    asked: list[str] = []  # noqa: RUF012 - of this class alone

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "image/svg+xml")
        self.end_headers()
        self.wfile.write(b'<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256"/>')

    def log_message(self, *_: object) -> None:
        pass


async def test_tiles_come_from_the_host_that_is_set_and_from_nowhere_else(
    chromium: Chromium, city: list[EmittedWindow]
) -> None:
    """
    With ``web.tile_url`` the map asks for the tiles around the release, and for no others.
    """
    tiles = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Tiles)
    threading.Thread(target=tiles.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{tiles.server_port}"
    try:
        async with chromium.page() as page:
            with PageServer(shown_of(city, {"web.tile_url": base + "/t/{z}/{x}/{y}.svg"})) as server:
                await opened(page, server)
                await page.wait_for("document.querySelectorAll('.tiles image').length > 3")
                await asyncio.sleep(0.5)
                assert page.complaints == []
                others = [url for url in page.requests if not url.startswith(server.url)]
                assert others
                assert all(url.startswith(base + "/t/") for url in others)
    finally:
        tiles.shutdown()
        tiles.server_close()
    assert _Tiles.asked


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (360, False), (360, True)])
async def test_no_serious_accessibility_fault(
    chromium: Chromium, server: PageServer, axe: str, width: int, dark: bool
) -> None:
    """
    axe-core finds nothing serious: names, roles, contrast, structure.
    """
    async with chromium.page(width=width, dark=dark) as page:
        await opened(page, server)
        await page.evaluate("document.getElementById('map-details').open = true")
        await page.evaluate(axe + "; undefined")
        found = await page.evaluate("axe.run(document).then(r => JSON.stringify(r.violations))")
    serious = [
        (one["id"], [node["html"][:120] for node in one["nodes"]][:3])
        for one in json.loads(found)
        if one["impact"] in ("serious", "critical", "moderate")
    ]
    assert serious == []


@pytest.fixture
def demo() -> Iterator[str]:
    """The address of the page of a running ``shoal demo``."""
    try:
        with EmbeddedBroker():
            pass
    except BrokerMissingError as missing:
        pytest.skip(str(missing))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOAL_")}
    environment |= {"PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with tempfile.TemporaryFile("w+") as output:
        command = [sys.executable, "-m", "stream.cli.main", "demo", "--seconds", "240"]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=ROOT)

        def address() -> re.Match[str] | None:
            output.seek(0)
            return re.search(r"live page: (http://[^/]+)/", output.read())

        try:
            wait_until(lambda: address() or process.poll() is not None, within_s=120, what="the demo is ready")
            found = address()
            assert found is not None
            yield found[1]
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(60)


@pytest.mark.broker
async def test_the_demo_is_seen_live(chromium: Chromium, demo: str) -> None:
    """
    While ``shoal demo`` runs, windows appear on its page as they leave, on the map too.
    """
    async with chromium.page() as page:
        await page.go(f"{demo}/")
        await page.wait_for(f"{N_ROWS} >= 1 && {IS_DRAWN}", within_s=90)
        n = await page.evaluate(N_ROWS)
        await page.wait_for(f"{N_ROWS} > {n}", within_s=60)
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith(demo)] == []
