"""One worker beside a real broker: the same releases as a replay, bad input, too few people, and the web pages."""

from __future__ import annotations

import asyncio
import csv
import gzip
import itertools
import json
import re
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from prometheus_client.parser import text_string_to_metric_families

from core.records.record import INPUT_KINDS, Kind
from core.release.outcome import WithholdReason
from stream.demo.city.feed import City
from stream.demo.city.options import CityOptions
from stream.observe.metrics import LABELS
from tests.cluster.brokers import ApacheKafka, RunningBroker
from tests.cluster.workers import Place, Worker, configure, forked_workers, replay, wait_until
from tests.paths import DATA

WITHIN_S = 240.0
HOUR_MS = 3_600_000
NOON_S = 1_700_006_400 - 1_700_006_400 % 3600
"""The beginning of some hour."""

FEEDS = {
    "window.size": "15m",
    "window.allowed_lateness": "5m",
    "location.cell_m": "1500",
}


def city_messages(hours: float) -> dict[Kind, list[tuple[bytes, bytes]]]:
    """Keys and values of a small city with spoiled, repeated and delayed records, in the order of arrival."""
    options = CityOptions(people=120, seed=3)
    start_ms = options.start_ms + 7 * HOUR_MS  # people are up
    found: dict[Kind, list[tuple[bytes, bytes]]] = {kind: [] for kind in INPUT_KINDS}
    for message in City(options).messages(until_ms=start_ms + round(hours * HOUR_MS)):
        if message.arrival_ms >= start_ms:
            found[message.kind].append((message.key, message.value))
    return found


def assert_the_topics_hold(place: Place, worker: Worker, expected: dict[str, dict[bytes, bytes]]) -> None:
    wait_until(
        lambda: len(place.windows()) >= len(expected["windows"]),
        within_s=WITHIN_S,
        what=lambda: f"{len(place.windows())} of {len(expected['windows'])} windows; its log:\n{worker.log[-3000:]}",
        every_s=1.0,
    )
    released = place.released()
    for topic, values in expected.items():
        assert released[topic].keys() == values.keys()
        assert released[topic] == values
    late = [worker.metric("shoal_records_total", kind=kind, outcome="late") for kind in INPUT_KINDS]
    assert late == [0.0, 0.0]


@pytest.mark.broker
class TestTheSameAsAReplay:
    def test_a_generated_city(self, broker: RunningBroker, tmp_path: Path) -> None:
        """
        What leaves a worker is byte for byte what a replay of the same records writes, for both kinds at once, from
        topics of several partitions; the last windows are closed by the idle time-out. The worker is started as people
        start it, and not by a fork.
        """
        place = Place(broker, FEEDS | {"checkins.window.size": "1h"})
        messages = city_messages(hours=4)
        expected: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}}
        for kind in INPUT_KINDS:
            file = tmp_path / f"{kind}.ndjson"
            file.write_bytes(b"".join(value + b"\n" for _, value in messages[kind]))
            summary, found = replay(place, kind, [file], tmp_path / kind)
            assert summary.late == 0
            assert summary.windows_released > 0
            assert summary.rejected > 0
            for topic, values in found.items():
                expected[topic] |= values

        place.create_topics()
        with forked_workers(forked=False), place.worker() as worker:
            for kind in INPUT_KINDS:
                place.produce(kind, messages[kind])
            assert_the_topics_hold(place, worker, expected)
            assert worker.stop() == 0

    @pytest.mark.kafka
    @pytest.mark.deep
    def test_real_feeds(self, apache_kafka: ApacheKafka, tmp_path: Path) -> None:
        """
        The same for check-ins in New York and cabs in San Francisco.
        """
        parts = {
            Kind.CHECKINS: (DATA / "gowalla_nyc.csv.gz", 12_000),
            Kind.FRAGMENTS: (DATA / "cabs_sf_20080608.csv.gz", 15_000),
        }
        if missing := [file.name for file, _ in parts.values() if not file.exists()]:
            pytest.skip(f"{', '.join(missing)} not in {DATA}")
        place = Place(apache_kafka, FEEDS | {"checkins.window.size": "7d", "location.cell_m": "500"})
        expected: dict[str, dict[bytes, bytes]] = {"anonymized": {}, "windows": {}}
        messages: dict[Kind, list[tuple[bytes, bytes]]] = {}
        for kind, (whole, n) in parts.items():
            file = tmp_path / f"{kind}.csv"
            with gzip.open(whole, "rt", encoding="utf-8", newline="") as lines:
                file.write_text("".join(itertools.islice(lines, n + 1)), encoding="utf-8")
            with file.open(encoding="utf-8", newline="") as lines:
                messages[kind] = [(row["user"].encode(), as_json(kind, row)) for row in csv.DictReader(lines)]
            _, found = replay(place, kind, [file], tmp_path / kind)
            for topic, values in found.items():
                expected[topic] |= values

        place.create_topics()
        for kind in INPUT_KINDS:
            place.produce(kind, messages[kind])  # a backlog: it is there before the worker is
        with place.worker() as worker:
            assert_the_topics_hold(place, worker, expected)
            seen = worker.log + worker.get("/metrics")[1] + worker.get("/")[1]
            assert "shoal_reidentification_risk{" in seen
            ids, positions = raw_values(tmp_path / f"{kind}.csv" for kind in parts)
            assert not [user for user in ids if user in seen]
            assert not positions & set(re.findall(r"-?\d+\.\d+", seen))


def raw_values(files: Iterable[Path]) -> tuple[set[str], set[str]]:
    """Return the user ids that are no plain numbers, which may stand for anything, and the coordinates of files."""
    ids: set[str] = set()
    positions: set[str] = set()
    for file in files:
        with file.open(encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                ids.add(row["user"])
                positions |= {row["lat"], row["lon"]}
    return {user for user in ids if not user.isdigit()}, {one for one in positions if len(one.partition(".")[2]) > 3}


def as_json(kind: Kind, row: dict[str, str]) -> bytes:
    ts, lat, lon = float(row["ts"]), float(row["lat"]), float(row["lon"])
    record: dict[str, Any] = {"user": row["user"]}
    if kind is Kind.CHECKINS:
        record |= {"ts": ts, "lat": lat, "lon": lon, "venue": row["venue"]}
    else:
        record["points"] = [[ts, lat, lon]]
    return json.dumps(record).encode()


# ---------------------------------------------------------------------- one worker, many questions

USER, LAT, LON = "somebody-very-special", 48.234567, 16.345678


def check_in(**fields: Any) -> bytes:
    return json.dumps({"user": USER, "ts": NOON_S, "lat": LAT, "lon": LON} | fields).encode()


def fragment(points: Any) -> bytes:
    return json.dumps({"user": USER, "points": points}).encode()


BAD: list[tuple[Kind, str, bytes | None, str]] = [
    (Kind.CHECKINS, "not JSON", b"user=%b" % USER.encode(), "not_json"),
    (Kind.CHECKINS, "invalid UTF-8", check_in().replace(b"very", b"\xff\xfe"), "not_utf8"),
    (Kind.CHECKINS, "half a message", check_in()[:20], "not_json"),
    (Kind.CHECKINS, "an empty message", b"", "not_json"),
    (Kind.CHECKINS, "a list of no object", b"[1]", "wrong_type"),
    (Kind.CHECKINS, "a wrong type", check_in(lat="north"), "wrong_type"),
    (Kind.CHECKINS, "no user", json.dumps({"ts": NOON_S, "lat": LAT, "lon": LON}).encode(), "missing_field"),
    (Kind.CHECKINS, "no position", json.dumps({"user": USER, "ts": NOON_S}).encode(), "missing_field"),
    (Kind.CHECKINS, "NaN, which is no position", check_in(lat=float("nan")), "position_out_of_range"),
    (Kind.CHECKINS, "beyond the pole", check_in(lat=91), "position_out_of_range"),
    (Kind.CHECKINS, "the year 9999", check_in(ts="9999-12-31T23:59:59Z"), "time_out_of_range"),
    (Kind.CHECKINS, "a number far beyond", check_in(ts=1e300), "time_out_of_range"),
    (Kind.CHECKINS, "a user of 10,000 characters", check_in(user=10_000 * "x"), "user_id_too_long"),
    (Kind.CHECKINS, "two mebibytes", check_in(note=2 * 1024**2 * "x"), "message_too_large"),
    (Kind.FRAGMENTS, "no points", fragment([]), "empty_fragment"),
    (Kind.FRAGMENTS, "too many points", fragment([[NOON_S + i, LAT, LON] for i in range(501)]), "too_many_points"),
    (Kind.FRAGMENTS, "a point of two numbers", fragment([[NOON_S, LAT]]), "missing_field"),
    (Kind.FRAGMENTS, "beyond the antimeridian", fragment([[NOON_S, LAT, 180.5]]), "position_out_of_range"),
]


@dataclass(frozen=True)
class Fed:
    """A worker after a feed: a crowd in the first hour, spoiled records, and three people in the second hour."""

    place: Place
    worker: Worker
    sent: list[tuple[Kind, str, int, int, str]]
    """Of each spoiled record its kind, what it is, partition, offset and the reason to be found."""


CROWD = [
    check_in(user=f"u{i}-of-the-crowd", ts=NOON_S + 60 * j + i, lat=LAT + (i % 2) / 100, a_new_field={"x": [1]})
    for j in range(2)
    for i in range(20)
]
FEW = [check_in(user=f"u{i}-of-few", ts=NOON_S + 3600 + i) for i in range(3)]


@pytest.fixture(scope="module")
def fed(broker: RunningBroker) -> Iterator[Fed]:
    given = {"window.size": "1h", "window.allowed_lateness": "0s", "limits.points_per_fragment": "500"}
    place = Place(broker, given | {"web.page": "true"})
    place.create_topics()
    if isinstance(broker, ApacheKafka):
        configure(broker, place.topic("checkins"), {"max.message.bytes": str(4 * 1024**2)})
    with place.worker() as worker:
        sent = send_with_offsets(place, BAD)
        place.produce("checkins", [(None, value) for value in CROWD + FEW])
        wait_until(
            lambda: len(place.windows()) >= 2 and len(place.read("dead_letters")) >= len(BAD),
            within_s=WITHIN_S,
            what=lambda: (
                f"{len(place.windows())} windows, {len(place.read('dead_letters'))} dead letters of {len(BAD)}; "
                f"its log:\n{worker.log[-3000:]}"
            ),
            every_s=1.0,
        )
        yield Fed(place, worker, sent)


def send_with_offsets(
    place: Place, bad: list[tuple[Kind, str, bytes | None, str]]
) -> list[tuple[Kind, str, int, int, str]]:
    async def send() -> list[tuple[Kind, str, int, int, str]]:
        producer = AIOKafkaProducer(bootstrap_servers=place.bootstrap_servers, max_request_size=8 * 1024**2)
        await producer.start()
        try:
            found = []
            for i, (kind, what, value, reason) in enumerate(bad):
                at = await producer.send_and_wait(place.topic(kind), value, key=b"k", partition=i % 2)
                found.append((kind, what, at.partition, at.offset, reason))
            return found
        finally:
            await producer.stop()

    return asyncio.run(send())


@pytest.mark.broker
class TestOneWorker:
    def test_spoiled_records_are_dead_letters_and_the_feed_goes_on(self, fed: Fed) -> None:
        """
        Each spoiled record gives one dead letter that says why and where it stands, and nothing of what it says; the
        records after it are released. Unknown fields are no fault.
        """
        letters = [json.loads(record.value or b"") for record in fed.place.read("dead_letters")]
        found = Counter((one["kind"], one["topic"], one["partition"], one["offset"], one["reason"]) for one in letters)
        assert found == Counter(
            (kind.value, fed.place.topic(kind), partition, offset, reason)
            for kind, _, partition, offset, reason in fed.sent
        )
        fields = {"schema", "kind", "reason", "detail", "topic", "partition", "offset", "log"}
        assert all(one.keys() - {"element"} == fields for one in letters)
        assert [one["element"] for one in letters if "element" in one] == [1]
        everything = json.dumps(letters)
        assert not any(word in everything for word in (USER, "north", "very", "48.2", "16.3", "xxx", "9999"))

        (released,) = [window for window in fed.place.windows() if window["outcome"] == "released"]
        assert (released["people"], released["points_released"]) == (20, 40)

    def test_fewer_than_k_people_are_withheld(self, fed: Fed) -> None:
        """
        Of a window with fewer than k people nothing leaves but that it was withheld, and why: no count, no place.
        """
        (withheld,) = [window for window in fed.place.windows() if window["outcome"] == "withheld"]
        assert withheld["reason"] == WithholdReason.TOO_FEW_PEOPLE
        assert withheld.keys() == {
            *("schema", "release", "window", "shard", "kind", "model", "parameters", "outcome", "reason", "verified"),
            "versions",
        }
        emitted = [json.loads(record.value or b"")["release"] for record in fed.place.read("anonymized")]
        assert withheld["release"] not in emitted
        assert len(emitted) == 20

    def test_health_and_readiness(self, fed: Fed) -> None:
        """
        A worker that has its partitions and its cluster is alive and ready, and says so at the port for it alone.
        """
        assert fed.worker.get("/healthz") == (200, "ok\n")
        assert fed.worker.get("/readyz") == (200, "ready\n")
        for url, path in [
            (fed.worker.web_url, "/readyz"),
            (fed.worker.web_url, "/metrics"),
            (fed.worker.metrics_url, "/"),
        ]:
            with pytest.raises(urllib.error.HTTPError, match="404"):
                urllib.request.urlopen(f"{url}{path}", timeout=5)  # noqa: S310 - our worker

    def test_metrics_parse_and_their_labels_are_closed_sets(self, fed: Fed) -> None:
        """
        Prometheus can read the metrics; every one is ours, and labels come from small closed sets.
        """
        status, text = fed.worker.get("/metrics")
        families = list(text_string_to_metric_families(text))
        assert status == 200
        assert families
        assert all(family.name.startswith("shoal_") for family in families)
        labels = {
            (name, value) for f in families for s in f.samples for name, value in s.labels.items() if name != "le"
        }
        assert labels
        assert all(value in LABELS[name] or name == "version" for name, value in labels)
        assert fed.worker.metric("shoal_windows_total", kind="checkins", outcome="released") == 1
        assert fed.worker.metric("shoal_records_total", kind="checkins", outcome="released") == len(CROWD)

    def test_the_last_windows_are_told_and_shown(self, fed: Fed) -> None:
        """
        Of the windows that left: what became of them, how many people, and what was released on the map.
        """
        assert "<!doctype html>" in fed.worker.get("/")[1]
        status = json.loads(fed.worker.get("/api/status")[1])
        assert status["ready"]
        assert status["counts"] == {"released": 1, "withheld": 1, "refused": 0}
        windows = json.loads(fed.worker.get("/api/windows")[1])["windows"]
        (released,) = [window for window in windows if window["outcome"] == "released"]
        (withheld,) = [window for window in windows if window["outcome"] == "withheld"]
        assert (released["people"], released["points_released"]) == (20, 40)
        assert (withheld["reason"], withheld["people"], withheld["on_map"]) == ("too_few_people", None, False)
        shapes = json.loads(fed.worker.get(f"/api/windows?release={released['release']}")[1])
        assert len(shapes["trajectories"]) == 20
        assert shapes["regions"]

    @pytest.mark.parametrize("path", ["/table/", "/router/", "/stats/", "/graph/", "/performance/", "/nothing"])
    def test_fausts_own_pages_are_off(self, fed: Fed, path: str) -> None:
        """
        Faust's pages, which could show state, are not served.
        """
        assert fed.worker.get(path)[0] == 404

    def test_nobody_is_named_where_people_look(self, fed: Fed) -> None:
        """
        No user id and no coordinate of the feed occurs in the metrics, in what the live page is given or in the log,
        even at its most talkative.
        """
        windows = fed.worker.get("/api/windows")[1]
        paths = [f"/api/windows?release={one['release']}" for one in json.loads(windows)["windows"]]
        drawn = "".join(fed.worker.get(path)[1] for path in paths)
        seen = "".join(fed.worker.get(path)[1] for path in ("/metrics", "/", "/api/status")) + windows + fed.worker.log
        assert "window_released" in seen
        words = (USER, "of-the-crowd", "of-few", "xxxx", "48.23", "48.24", "16.34", "user=")
        assert [word for word in words if word in seen] == []
        # The map may tell what was released: the cells, half a kilometre wide, not where in them somebody was.
        assert "regions" in drawn
        assert [word for word in (*words[:4], "48.234567", "48.244567", "16.345678") if word in drawn] == []

    def test_nothing_is_written_beside_the_log(self, fed: Fed) -> None:
        """
        A worker keeps nothing on its disk.
        """
        assert [file.name for file in fed.worker.folder.iterdir()] == ["worker.log"]
