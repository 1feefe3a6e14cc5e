"""No leaks: who was where is in no output, log, repr, exception, dead letter or metric label.

Every user id of these feeds holds a mark, every coordinate has six digits that nothing else has.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import random
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest
import structlog
from aiohttp.test_utils import TestClient, TestServer
from aiohttp.web import Application
from aiokafka import TopicPartition
from click.testing import CliRunner
from prometheus_client import CollectorRegistry

from core.records.record import INPUT_KINDS, Kind, Reason
from stream.cli.main import main
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.feeds.feed import Feed, build_feeds
from stream.formats.files.record_file import FileFormatError
from stream.formats.input.errors import UnreadableError
from stream.ingest.ingest import Ingest
from stream.ingest.positions import Batch
from stream.observe.health import Health, add_health
from stream.observe.logs import hear_kafka_client, set_up_logs
from stream.observe.metrics import LABELS, Metrics
from stream.replay.replay import Replay
from stream.settings.input import FieldSettings
from stream.settings.load import load_settings
from stream.settings.service import LogSettings
from stream.worker.recent_windows import RecentWindows
from stream.worker.web import add_pages
from tests.builders.inputs import decoder, record_file
from tests.builders.live_windows import of_folder

MARK = "Zw9qK"
SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
NAMES: dict[str, str] = FieldSettings().model_dump()
SETTINGS = {
    "privacy.k": 3,
    "privacy.secret": SECRET,
    "location.cell_m": 2000,
    "window.size": "30m",
    "window.allowed_lateness": "5m",
    "time.max_ahead": "36500d",
    "logs.level": "debug",
}


@dataclass(frozen=True)
class MarkedFeed:
    """A feed, and what of it must not be found anywhere else."""

    kind: Kind
    content: bytes
    coordinates: frozenset[str]

    def traces(self, text: str) -> list[str]:
        """Return what of the feed a text holds."""
        numbers = set(re.findall(r"\d+\.\d+", text))
        return [*([MARK] if MARK in text else []), *sorted(self.coordinates & numbers)]


def marked(messages: Iterable[tuple[Kind, bytes]], kind: Kind) -> MarkedFeed:
    """Put a mark into every user id, and note every coordinate with five decimals or more."""
    lines = [re.sub(rb'"user":"(\w+)"', rb'"user":"%s\1"' % MARK.encode(), value) for k, value in messages if k is kind]
    content = b"\n".join(lines)
    found = re.findall(r"\d+\.\d{5,}", content.decode())
    return MarkedFeed(kind, content, frozenset(found))


@pytest.fixture(scope="module")
def city() -> dict[Kind, MarkedFeed]:
    """A morning in a small city with much dirt."""
    options = CityOptions(people=60, venues=40, radius_m=1_500.0, dirty_share=0.2, checkins_per_person_day=10)
    messages = list(City(options).messages(until_ms=options.start_ms + 43_200_000))
    return {kind: marked([(m.kind, m.value) for m in messages], kind) for kind in INPUT_KINDS}


def arguments(**changes: object) -> list[str]:
    """Return the settings as arguments of a command."""
    return [part for name, value in (SETTINGS | changes).items() for part in ("--set", f"{name}={value}")]


# What leaves, and what is said meanwhile


STOPS: dict[str, Any] = {"stops.min_duration": "2m", "stops.radius_m": 300}
"""Settings with which people stop in the morning of a small city."""


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        (Kind.CHECKINS, {}),
        (Kind.CHECKINS, {"privacy.model": "flows", "window.size": "12h"}),
        (Kind.FRAGMENTS, {}),
        (Kind.STOPS, STOPS),
        (Kind.STOPS, STOPS | {"privacy.model": "flows", "window.size": "12h"}),
    ],
)
@pytest.mark.parametrize("as_json", [True, False])
def test_a_replay_tells_nobody_where_a_person_was(
    kind: Kind, changes: dict[str, Any], as_json: bool, city: dict[Kind, MarkedFeed], tmp_path: Path
) -> None:
    """
    Neither results nor logs at their loudest hold a user id or a coordinate of the feed.
    """
    feed = city[kind.input_kind]
    path = tmp_path / "feed.ndjson"
    path.write_bytes(feed.content)
    assert len(feed.coordinates) > 50
    command = ["replay", str(path), "--kind", kind.value, "--output", str(tmp_path / "out"), *arguments(**changes)]
    result = CliRunner().invoke(main, [*command, *(["--json"] if as_json else [])])
    assert result.exit_code == 0, result.output
    assert feed.traces(result.stdout + result.stderr) == []
    windows = (tmp_path / "out" / "windows.ndjson").read_text()
    assert "released" in windows
    anonymized = (tmp_path / "out" / "anonymized.ndjson").read_text()
    assert MARK not in windows + anonymized
    if kind is Kind.STOPS:  # the middle of some cells may share one of its two numbers with a point, by chance
        raw = set(re.findall(r"(\d+\.\d+),(\d+\.\d+)\]", feed.content.decode()))
        published = set(re.findall(r'"lat":(\d+\.\d+),"lon":(\d+\.\d+)', windows))
        assert published
        assert not raw & published
        return
    assert feed.traces(windows) == []
    if kind is Kind.CHECKINS:
        assert feed.traces(anonymized) == []


def test_no_point_of_a_fragment_leaves(city: dict[Kind, MarkedFeed], tmp_path: Path) -> None:
    """
    With the default translation no released position is a position of the feed, the pivots' included.
    """
    path = tmp_path / "feed.ndjson"
    path.write_bytes(city[Kind.FRAGMENTS].content)
    command = ["replay", str(path), "--kind", "fragments", "--output", str(tmp_path / "out"), *arguments()]
    assert CliRunner().invoke(main, command).exit_code == 0
    raw = set(re.findall(r"(\d+\.\d+),(\d+\.\d+)\]", city[Kind.FRAGMENTS].content.decode()))
    published = set(re.findall(r"(\d+\.\d+),(\d+\.\d+)\]", (tmp_path / "out" / "anonymized.ndjson").read_text()))
    assert min(len(raw), len(published)) > 100
    assert not raw & published


BAD_CHECKINS = [
    f'{{"user":"{MARK}1","ts":"{MARK}","lat":48.271828,"lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":1600000000,"lat":"48.271828","lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":1600000000,"lat":948.271828,"lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":1600000000,"lat":48.271828,"lon":NaN}}',
    f'{{"user":["{MARK}1"],"ts":1600000000,"lat":48.271828,"lon":16.314159}}',
    f'{{"user":{{"{MARK}":1}},"ts":1600000000,"lat":48.271828,"lon":16.314159}}',
    f'{{"user":"{MARK * 60}","ts":1600000000,"lat":48.271828,"lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":-3339575999.271828,"lat":48.271828,"lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":1600000000,"lat":48.271828}}',
    f'{{"{MARK}":48.271828}}',
    f'"{MARK} at 48.271828"',
    f"{MARK} at 48.271828, 16.314159",
    f'{{"user":"{MARK}1","ts":1600000000,"lat":48.271828,"lon":16.314159',
    f'{{"user":"{MARK}1","ts":1{"0" * 400},"lat":48.271828,"lon":16.314159}}',
    f'{{"user":"{MARK}1","ts":1600000000,"x":{"[" * 5000}',
]
BAD_FRAGMENTS = [
    f'{{"user":"{MARK}1","points":[]}}',
    f'{{"user":"{MARK}1","points":[[1600000000,948.271828,16.314159]]}}',
    f'{{"user":"{MARK}1","points":[["{MARK}",48.271828,16.314159]]}}',
    f'{{"user":"{MARK}1","points":[[1600000000,48.271828]]}}',
    f'{{"user":"{MARK}1","points":"48.271828, 16.314159"}}',
    f'{{"user":"{MARK}1","points":[[1600000000,48.271828,16.314159]],"k":271828314159}}',
    f'{{"user":"{MARK}1","points":[[1600000000,48.271828,16.314159]],"delta_m":-48.271828}}',
]
BAD_CSV = [
    f"{MARK}1,48.271828,16.314159,{MARK}",
    f"{MARK}1,{MARK},16.314159,1600000000",
    f"{MARK}1,948.271828,16.314159,1600000000",
    f"{MARK * 60},48.271828,16.314159,1600000000",
    f"{MARK}1,48.271828,,1600000000",
    f"{MARK}1 48.271828 16.314159 1600000000",
    f'"{MARK}1",48.271828,16.314159,1e400',
]
BAD = {
    "checkins.ndjson": (Kind.CHECKINS, BAD_CHECKINS),
    "fragments.ndjson": (Kind.FRAGMENTS, BAD_FRAGMENTS),
    "checkins.csv": (Kind.CHECKINS, ["user,lat,lon,ts", *BAD_CSV]),
    "fragments.csv": (Kind.FRAGMENTS, ["user,lat,lon,ts", *BAD_CSV]),
    "headless.csv": (Kind.CHECKINS, BAD_CSV),
    "endless.csv": (Kind.CHECKINS, ["user,lat,lon,ts", f'"{MARK}1,48.271828' * 20_000]),
}


def is_clean(text: str) -> bool:
    """Whether a text holds nothing of the bad records."""
    return not any(part in text for part in (MARK, "271828", "314159", "0" * 40))


@pytest.mark.parametrize("name", BAD)
def test_bad_records_are_counted_and_not_shown(name: str, tmp_path: Path) -> None:
    """
    Whatever is wrong with a record or a file, nothing of it is on the screen or in the results.
    """
    kind, lines = BAD[name]
    path = tmp_path / name
    path.write_text("\n".join(lines))
    command = ["replay", str(path), "--kind", kind.value, "--output", str(tmp_path / "out"), "--json", *arguments()]
    result = CliRunner().invoke(main, command)
    assert isinstance(result.exception, SystemExit | None)
    assert is_clean(result.stdout + result.stderr)
    assert result.exit_code == 1
    if name == "headless.csv":
        assert "its first line holds values, not names: a header is needed" in result.stderr
    else:
        summary = json.loads(result.stdout)
        n = len(lines) - name.endswith(".csv")
        assert (summary["records"], summary["rejected"]) == (n, n)
        assert summary["reasons"].keys() <= set(Reason)
        assert sum(one["records"] for one in summary["rejections"]) == n
        assert "no record was accepted: " in result.stderr


# What is told of a person: the same for attributes

TOLD = {
    "privacy.attributes.age": "0..120",
    "privacy.sensitive_field": "ward",
    "privacy.sensitive_values": "oncology,surgery",
}
"""Settings; ``plan`` is added with its hierarchy."""

AGES = (97, 98, 99)
"""Nothing else in these tests is written so, but for hashes and numbers with a point."""

BAD_TOLD = [
    f'"age":271828,"plan":"{MARK}x"',
    f'"age":"{MARK}","plan":"{MARK}x"',
    f'"age":98,"plan":"{MARK}314159"',
    f'"age":98,"plan":["{MARK}"]',
    f'"age":{{"{MARK}":1}},"plan":"{MARK}x"',
    f'"plan":"{MARK}x","ward":"{MARK}"',
    f'"age":98.271828,"plan":"{MARK}x"',
    '"age":98',
    f'"age":98,"plan":"{MARK}x","ward":{{"{MARK}":1}}',
]


@pytest.fixture
def told(tmp_path: Path) -> tuple[dict[str, Any], bytes]:
    """Settings with attributes, whose values are marked, and a feed of people who tell them, good and bad."""
    tree = tmp_path / "plans.csv"
    tree.write_text(f"category,parent\n{MARK}x,\n{MARK}y,\n")
    heads = [f'"user":"{MARK}{i % 9}","ts":{1_600_000_000 + 7 * i},"lat":48.2,"lon":16.3' for i in range(200)]
    tails = [f'"age":{AGES[i % 3]},"plan":"{MARK}{"xy"[i % 2]}","ward":"{MARK}{i % 4}"' for i in range(200)]
    tails[50 : 50 + len(BAD_TOLD)] = BAD_TOLD
    lines = [f"{{{head},{tail}}}" for head, tail in zip(heads, tails, strict=True)]
    return TOLD | {"privacy.attributes.plan": str(tree)}, "\n".join(lines).encode()


def test_a_replay_tells_nobody_what_is_told_of_a_person(told: tuple[dict[str, Any], bytes], tmp_path: Path) -> None:
    """
    No attribute's value, allowed or not, is in results, logs, sentences or reprs of what passes.
    """
    given, content = told
    path = tmp_path / "feed.ndjson"
    path.write_bytes(content)
    command = ["replay", str(path), "--kind", "checkins", "--output", str(tmp_path / "out"), "--json"]
    result = CliRunner().invoke(main, [*command, *arguments(**given)])
    assert result.exit_code == 0, result.output
    assert is_clean(result.stdout + result.stderr)
    reasons = json.loads(result.stdout)["reasons"]
    assert reasons == {"attribute_missing": 2, "attribute_out_of_range": 4, "wrong_type": 3}
    left = "".join((tmp_path / "out" / name).read_text() for name in ("anonymized.ndjson", "windows.ndjson"))
    assert '"released"' in left
    assert is_clean(left)

    settings = load_settings(given=SETTINGS | given)
    with Watch() as seen:
        feed = Feed(settings, Kind.CHECKINS, secret=SECRET)
        file = record_file(path, Kind.CHECKINS, NAMES, max_bytes=100_000, attributes=feed.attributes)
        Replay(feed, [file], now_ms=2**41, max_bytes=10**6).run(tmp_path / "again")
    assert {"CheckIn", "Encoded", "ValidCheckIns", "Rejected", "Chunk"} <= seen.shown.keys()
    # What may be told is public: the profile itself shows it, as the settings do.
    of_settings = {"Profile", "Numeric", "Categorical", "Categories"}
    texts = {name: texts for name, texts in seen.shown.items() if name not in of_settings and "Settings" not in name}
    assert {name for name, shown in texts.items() if not all(is_clean(text) for text in shown)} == set()
    assert all(is_clean(text) for text in seen.exceptions)
    assert "97" not in "".join(texts["CheckIn"] | texts["Rejected"])


async def test_dead_letters_tell_nobody_what_is_told_of_a_person(
    told: tuple[dict[str, Any], bytes], log_stream: io.StringIO
) -> None:
    """
    A dead letter names the attribute and what is allowed, and nothing is logged.
    """
    given, content = told
    settings, metrics, producer = load_settings(given=SETTINGS | given), Metrics(CollectorRegistry()), NotedProducer()
    ingest = Ingest(
        settings,
        build_feeds(settings),
        producer,
        metrics,
        n_partitions=1,
        now_ms=lambda: 2**41,
        on_trouble=lambda _: None,
    )
    messages = [SimpleNamespace(offset=i, value=line, timestamp=0) for i, line in enumerate(content.splitlines())]
    await ingest._forward(Batch(TopicPartition("checkins", 0), "", messages))
    letters = [json.loads(letter) for letter in producer.sent[settings.topics.dead_letters]]
    assert is_clean(json.dumps(letters) + log_stream.getvalue())
    assert {letter["detail"] for letter in letters if letter["reason"] != "wrong_type"} == {
        "age is needed: a whole number from 0 to 120",
        "plan is needed: one of the 2 values that privacy.attributes allows",
        "age must be a whole number from 0 to 120",
        "plan must be one of the 2 values that privacy.attributes allows",
    }
    assert not any(MARK.encode() in value for value in producer.sent[settings.topics.shards])


# What the program says about its own objects


class Watch:
    """Notes every object of our own types that any function of ours returns, and every exception of our own."""

    def __init__(self) -> None:
        self.shown: dict[str, set[str]] = {}
        self.exceptions: list[str] = []

    def __enter__(self) -> Watch:
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(None)

    def _trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        module = frame.f_globals.get("__name__", "")
        if not module.startswith(("core.", "stream.")):
            return None
        frame.f_trace_lines = False
        if event == "return":
            self._note(frame.f_locals.get("self") if frame.f_code.co_name == "__init__" else arg)
        elif event == "exception" and arg[0].__module__.startswith(("core.", "stream.")):
            self.exceptions.append(str(arg[1]))
        return self._trace

    def _note(self, value: Any) -> None:
        if type(value).__module__.startswith(("core.", "stream.")):
            self.shown.setdefault(type(value).__qualname__, set()).add(repr(value))
        elif isinstance(value, list | tuple):
            for part in value[:50]:
                self._note(part)


@pytest.fixture(scope="module")
def watch(city: dict[Kind, MarkedFeed], tmp_path_factory: pytest.TempPathFactory) -> Watch:
    """Everything that a replay of both kinds, and of all that is bad, made on its way."""
    folder = tmp_path_factory.mktemp("watched")
    settings = load_settings(given=SETTINGS | STOPS)
    inputs: list[tuple[str, Kind, bytes]] = [(f"{kind}.ndjson", kind, feed.content) for kind, feed in city.items()]
    inputs.append(("stops.ndjson", Kind.STOPS, city[Kind.FRAGMENTS].content))
    inputs += [(f"bad-{name}", kind, "\n".join(lines).encode()) for name, (kind, lines) in BAD.items()]
    with Watch() as seen:
        for name, kind, content in inputs:
            (folder / name).write_bytes(content)
            try:
                file = record_file(folder / name, kind.input_kind, NAMES, max_bytes=100_000)
                Replay(Feed(settings, kind, secret=SECRET), [file], now_ms=2**41, max_bytes=10**6).run(folder / "out")
            except FileFormatError:
                assert name.startswith("bad-")
    return seen


def test_no_repr_tells_who_was_where(watch: Watch, city: dict[Kind, MarkedFeed]) -> None:
    """
    Whatever object of ours ends up in a log or a traceback, its repr holds no user id and no coordinate of a record.
    """
    passed = {"CheckIn", "Fragment", "Rejected", "Chunk", "Rules", "ValidCheckIns", "Accepted", "ReleaseWindow", "Seal"}
    passed |= {"SequenceWindow", "PointWindow", "Release", "Withheld", "OutMessage", "WindowResult"}
    passed |= {"FoundStops", "Roster", "History"}
    assert passed <= watch.shown.keys()
    everything = city[Kind.CHECKINS].coordinates | city[Kind.FRAGMENTS].coordinates
    both = MarkedFeed(Kind.CHECKINS, b"", everything)
    # Their coordinates are to be seen; one of the middle of some cells may be that of a point, by chance.
    published = {"Release", "PointTrajectory", "GeneralizedLocation", "OutMessage", "WindowResult"}
    leaky = {
        name
        for name, texts in watch.shown.items()
        if any(MARK in text or (name not in published and both.traces(text)) for text in texts)
    }
    assert leaky == set()


def test_no_repr_tells_a_secret(watch: Watch) -> None:
    """
    The keys that pseudonyms and hashes are made with are in no repr.
    """
    settings = load_settings(given=SETTINGS)
    keys = [repr(Feed(settings, kind, secret=SECRET).plan.secret)[2:-1] for kind in INPUT_KINDS]
    for texts in watch.shown.values():
        for text in texts:
            assert SECRET not in text
            assert "user_key" not in text
            assert not any(key in text for key in keys)


def test_no_exception_of_ours_tells_who_was_where(watch: Watch) -> None:
    """
    The bad inputs made our exceptions come up, and none of them holds a value.
    """
    assert len(watch.exceptions) > 5
    assert all(is_clean(text) for text in watch.exceptions)


def test_a_renamed_record_does_not_show_itself_either() -> None:
    """
    With a field map records are of a type made at run time.
    """
    names = NAMES | {"user": "driver_id"}
    checkin = decoder(Kind.CHECKINS, names)(f'{{"driver_id":"{MARK}","ts":1,"lat":48.271828,"lon":1}}'.encode())
    fragment = decoder(Kind.FRAGMENTS, names)(f'{{"driver_id":"{MARK}","points":[[1,48.271828,1]]}}'.encode())
    for record in (checkin, fragment):
        assert is_clean(repr(record) + str(record) + repr([record]))


@pytest.mark.parametrize(("kind", "line"), [(k, b) for k, lines in BAD.values() for b in lines if b.startswith("{")])
def test_the_traceback_of_a_decoder_shows_no_record(kind: Kind, line: str) -> None:
    """
    Even printed in full, with its causes, the exception holds nothing of the message.
    """
    texts = []
    for value in (line.encode(), line.encode().replace(b'"user":"', b'"user":"\xff')):
        try:
            decoder(kind, NAMES)(value)
        except UnreadableError as fault:
            texts.append("".join(traceback.format_exception(fault)) + str(fault.args) + fault.detail)
    assert all(is_clean(text) for text in texts)


# Logs


def lines_of(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return the log, one JSON object to a line."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.fixture
def log_stream() -> Iterator[io.StringIO]:
    """JSON logs at their loudest, into a string; everything is as before afterwards."""
    root, ours = logging.getLogger(), logging.getLogger("shoal")
    before = (list(root.handlers), root.level, ours.level)
    stream = io.StringIO()
    set_up_logs(LogSettings(format="json", level="debug"), stream=stream)
    hear_kafka_client()  # a test of a command may have silenced it
    yield stream
    root.handlers[:], level, own_level = before
    root.setLevel(level)
    ours.setLevel(own_level)
    structlog.reset_defaults()


def test_a_logged_exception_names_its_place_but_no_values_around_it(log_stream: io.StringIO) -> None:
    """
    Values of local variables, which could be records, are not written.
    """

    def fail(user: str) -> float:
        return len(user) / 0

    try:
        fail("".join(["Zw9", "qK"]))
    except ZeroDivisionError:
        structlog.get_logger("shoal.test").exception("it_failed", kind="checkins")
    (line,) = lines_of(log_stream)
    assert (line["event"], line["level"], line["kind"]) == ("it_failed", "error", "checkins")
    assert "ZeroDivisionError" in line["exception"]
    assert is_clean(log_stream.getvalue())


def test_libraries_are_heard_from_warnings_on(log_stream: io.StringIO) -> None:
    """
    At debug level a client library would log the messages that it sends.
    """
    for name in ("aiokafka.conn", "faust", "some.library"):
        logging.getLogger(name).debug("sending %s", MARK)
        logging.getLogger(name).info("sending %s", MARK)
        logging.getLogger(name).warning("broker is away")
    structlog.get_logger("shoal.test").debug("heard")
    assert [line["event"] for line in lines_of(log_stream)] == ["broker is away"] * 3 + ["heard"]


# The web pages


async def test_no_answer_of_the_web_server_tells_who_was_where(city: dict[Kind, MarkedFeed], tmp_path: Path) -> None:
    """
    After a morning no answer holds a user id or a coordinate of the feed, and every position on the map is in a message
    that left.
    """
    settings = load_settings(given=SETTINGS | {"web.page": True})
    feeds = build_feeds(settings)
    live = RecentWindows(settings, feeds, started_ms=0)
    left = ""
    for kind, feed in city.items():
        (tmp_path / f"{kind}.ndjson").write_bytes(feed.content)
        file = record_file(tmp_path / f"{kind}.ndjson", kind, NAMES, max_bytes=100_000)
        Replay(feeds[kind], [file], now_ms=2**41, max_bytes=10**6).run(tmp_path / kind)
        for window in of_folder(tmp_path / kind)[-8:]:
            live.add(window)
        left += "".join((tmp_path / kind / name).read_text() for name in ("anonymized.ndjson", "windows.ndjson"))
    app = Application()
    add_pages(app, Health(), live)
    add_health(app, CollectorRegistry(), Health())
    async with TestClient(TestServer(app)) as client:

        async def get(path: str) -> str:
            return await (await client.get(path)).text()

        answers = [await get(path) for path in ("/", "/metrics", "/api/status", "/api/windows")]
        mapped = [one["release"] for one in json.loads(answers[-1])["windows"] if one["on_map"]]
        shapes = [await get(f"/api/windows?release={release}") for release in mapped]
    drawn = [json.loads(shape) for shape in shapes]
    assert MARK not in "".join(shapes)
    # A released point may share one of its two numbers with somebody's, by chance.
    places = "".join(answers + [shape for shape, one in zip(shapes, drawn, strict=True) if one["regions"]])
    assert city[Kind.CHECKINS].traces(places) + city[Kind.FRAGMENTS].traces(places) == []
    pairs = re.compile(r"(\d+\.\d+),(\d+\.\d+)\]")
    assert not {*pairs.findall("".join(shapes))} & {*pairs.findall(city[Kind.FRAGMENTS].content.decode())}
    assert {bool(one["regions"]) for one in drawn} == {True, False}
    for one in drawn:
        positions = [point for trajectory in one["trajectories"] for point in trajectory.get("points", [])]
        positions += [[region["lat"], region["lon"]] for region in one["regions"]]
        assert positions
        assert all(json.dumps(value) in left for position in positions for value in position)


# Ingest: dead letters and metrics


class NotedProducer:
    """Notes what is sent."""

    def __init__(self) -> None:
        self.sent: dict[str, list[bytes]] = {}

    async def send_and_wait(self, topic: str, value: bytes, key: bytes, partition: int) -> None:
        self.sent.setdefault(topic, []).extend([value, key])

    async def send(self, topic: str, value: bytes) -> asyncio.Future[None]:
        self.sent.setdefault(topic, []).append(value)
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


async def test_dead_letters_and_metrics_of_ingest_hold_nothing_of_a_record(city: dict[Kind, MarkedFeed]) -> None:
    """
    A dead letter says where the record stands; labels come from closed sets; user ids end at ingest.
    """
    settings, metrics, producer = load_settings(given=SETTINGS), Metrics(CollectorRegistry()), NotedProducer()
    ingest = Ingest(
        settings,
        build_feeds(settings),
        producer,
        metrics,
        n_partitions=1,
        now_ms=lambda: 2**41,
        on_trouble=lambda _: None,
    )
    inputs = {kind: feed.content.splitlines() for kind, feed in city.items()}
    inputs[Kind.CHECKINS] += [line.encode() for line in BAD_CHECKINS]
    inputs[Kind.FRAGMENTS] += [line.encode() for line in BAD_FRAGMENTS]
    n = 0
    for kind, lines in inputs.items():
        random.Random(1).shuffle(lines)
        messages = [SimpleNamespace(offset=i, value=line, timestamp=0) for i, line in enumerate(lines)]
        await ingest._forward(Batch(TopicPartition(kind.value, 0), "", messages))
        n += len(messages)

    letters = producer.sent[settings.topics.dead_letters]
    assert len(letters) >= len(BAD_CHECKINS) + len(BAD_FRAGMENTS)
    for letter in letters:
        assert is_clean(letter.decode())
        assert city[Kind.CHECKINS].traces(letter.decode()) + city[Kind.FRAGMENTS].traces(letter.decode()) == []
        assert json.loads(letter)["reason"] in set(Reason)
    assert not any(MARK.encode() in value for value in producer.sent[settings.topics.shards])

    counted = 0.0
    for family in metrics.registry.collect():
        assert family.name.startswith("shoal_")
        for sample in family.samples:
            for label, value in sample.labels.items():
                assert label == "le" or value in LABELS[label]
            if sample.name == "shoal_records_total" and sample.labels["outcome"] == "read":
                counted += sample.value
    assert counted == n
