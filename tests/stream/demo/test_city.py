"""The simulated city: deterministic, plausible, and as dirty as it says."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Any

import msgspec
import numpy as np
import pytest

from core.places.geo import LocalProjection
from core.records.arrays import FloatArray
from core.records.record import INPUT_KINDS, CheckIn, Fragment, Kind
from stream.demo.city.delivery import Message, SentAs
from stream.demo.city.dirt import Dirt
from stream.demo.city.feed import MAX_FRAGMENT_SPAN_MS, NOISE_M, City
from stream.demo.city.options import CityOptions
from tests.paths import ROOT

DAY_MS = 86_400_000
HOUR_MS = 3_600_000
MONDAY_MS = CityOptions().start_ms
SMALL = CityOptions(people=30, venues=20, radius_m=1_500.0)


@dataclass(frozen=True)
class Position:
    """One position of one user, as a clean message states it."""

    user: str
    ts_ms: int
    lat: float
    lon: float
    kind: Kind


@pytest.fixture(scope="module")
def city() -> City:
    """The city of the defaults."""
    return City(CityOptions())


@pytest.fixture(scope="module")
def monday(city: City) -> list[Message]:
    """All messages of its first day, a workday."""
    return list(city.messages(until_ms=MONDAY_MS + DAY_MS))


@pytest.fixture(scope="module")
def positions(monday: list[Message]) -> list[Position]:
    """What the day's clean messages say."""
    return [position for message in monday if is_original(message) for position in positions_of(message)]


def is_original(message: Message) -> bool:
    return message.sent_as in (SentAs.CLEAN, SentAs.DELAYED)


def ms_of(ts: str) -> int:
    return round(datetime.fromisoformat(ts).astimezone(UTC).timestamp() * 1_000)


def positions_of(message: Message) -> list[Position]:
    record: dict[str, Any] = json.loads(message.value)
    rows = record["points"] if message.kind == "fragments" else [(record["ts"], record["lat"], record["lon"])]
    return [Position(record["user"], ms_of(ts), lat, lon, message.kind) for ts, lat, lon in rows]


def feed(options: CityOptions, days: float = 1.0) -> list[Message]:
    return list(City(options).messages(until_ms=options.start_ms + int(days * DAY_MS)))


def metres(lat_deg: FloatArray, lon_deg: FloatArray, options: CityOptions) -> FloatArray:
    """East and north of the centre on a plane that touches a sphere there, shape ``(n, 2)``."""
    m_per_deg = 6_371_008.8 * np.pi / 180
    east_deg = (lon_deg - options.centre_lon + 180.0) % 360.0 - 180.0
    north = (lat_deg - options.centre_lat) * m_per_deg
    return np.column_stack([east_deg * m_per_deg * np.cos(np.radians(options.centre_lat)), north])


def distance_to_roads_m(city: City, lat_deg: FloatArray, lon_deg: FloatArray) -> FloatArray:
    """Distance of each position to the nearest road, metres: every point against every edge."""
    nodes = metres(city.roads.lat_deg, city.roads.lon_deg, city.options)
    start, end = nodes[city.roads.edges[:, 0]], nodes[city.roads.edges[:, 1]]
    along = end - start
    nearest = []
    for point in metres(lat_deg, lon_deg, city.options):
        share = np.clip(((point - start) * along).sum(axis=1) / (along**2).sum(axis=1), 0.0, 1.0)
        nearest.append(np.hypot(*(start + share[:, None] * along - point).T).min())
    return np.array(nearest)


# Chance


def test_the_same_options_give_the_same_bytes(city: City, monday: list[Message]) -> None:
    """
    A city depends on its options alone: another with the same options sends the same at the same instants.
    """
    again = City(CityOptions())
    assert again.venues == city.venues
    assert list(again.messages(until_ms=MONDAY_MS + DAY_MS)) == monday


def test_another_process_gives_the_same_bytes() -> None:
    """
    Nothing hangs on the order of hashes, which differs from process to process.
    """
    program = (
        "import hashlib; from stream.demo.city.feed import City; from stream.demo.city.options import CityOptions\n"
        "options = CityOptions(people=30, venues=20, radius_m=1_500.0, dirty_share=0.3)\n"
        "feed = City(options).messages(until_ms=options.start_ms + 86_400_000)\n"
        "print(hashlib.sha256(repr([tuple(message) for message in feed]).encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_another_seed_gives_another_city() -> None:
    """
    The seed decides every draw: venues and messages differ.
    """
    one, other = City(SMALL), City(replace(SMALL, seed=2))
    assert one.venues != other.venues
    assert {m.value for m in islice(one.messages(until_ms=None), 200)}.isdisjoint(
        m.value for m in islice(other.messages(until_ms=None), 200)
    )


@pytest.mark.parametrize("minutes", [500, 507.3, 540, 1_600])
def test_a_shorter_feed_is_the_beginning_of_a_longer_one(minutes: float) -> None:
    """
    How far a feed is read changes nothing in it, and its end is half-open: nothing arrives at until_ms.
    """
    longer = feed(SMALL, days=2)
    until_ms = MONDAY_MS + int(minutes * 60_000)
    shorter = list(City(SMALL).messages(until_ms=until_ms))
    assert shorter == longer[: len(shorter)]
    assert shorter[-1].arrival_ms < until_ms <= longer[len(shorter)].arrival_ms


def test_a_feed_without_an_end_goes_on_with_the_next_day() -> None:
    """
    Without until_ms the feed never stops; Tuesday follows Monday.
    """
    n_monday = len(feed(SMALL))
    message = next(islice(City(SMALL).messages(until_ms=None), n_monday + 10, None))
    assert message.arrival_ms >= MONDAY_MS + DAY_MS


# Order and time


def test_messages_come_in_order_of_arrival(monday: list[Message]) -> None:
    """
    Arrival never goes back from one message to the next.
    """
    assert all(one.arrival_ms <= other.arrival_ms for one, other in pairwise(monday))


def test_nothing_arrives_before_it_happened(monday: list[Message]) -> None:
    """
    A message arrives after its event time: the instant of a check-in, the newest point of a fragment.
    """
    assert all(message.event_ms < message.arrival_ms for message in monday)
    for message in filter(is_original, monday):
        assert message.event_ms == max(position.ts_ms for position in positions_of(message))


def test_delays_stay_below_the_stated_one(monday: list[Message]) -> None:
    """
    A first copy arrives at most max_delay_s after its event time, only delayed ones later than the usual
    1.5 s, and delays do put messages out of event-time order.
    """
    delays_ms = defaultdict(list)
    for message in monday:
        delays_ms[message.sent_as].append(message.arrival_ms - message.event_ms)
    assert max(delays_ms[SentAs.CLEAN] + delays_ms[SentAs.DIRTY]) <= 1_500 <= min(delays_ms[SentAs.DELAYED])
    assert 50_000 < max(delays_ms[SentAs.DELAYED]) <= 60_000

    newest_ms, overtaken = 0, Counter[SentAs]()
    for message in monday:
        overtaken[message.sent_as] += message.event_ms < newest_ms - 1_500
        newest_ms = max(newest_ms, message.event_ms)
    assert overtaken[SentAs.DELAYED] > 0.8 * len(delays_ms[SentAs.DELAYED])
    assert overtaken[SentAs.CLEAN] == 0


def test_a_city_can_start_in_the_middle_of_a_day() -> None:
    """
    Started at 08:20:00.500 the city is already on its way, and no clean position is older than the start.
    """
    start_ms = MONDAY_MS + 8 * HOUR_MS + 20 * 60_000 + 500
    options = CityOptions(start_ms=start_ms)
    messages = list(City(options).messages(until_ms=start_ms + 10 * 60_000))
    ts_ms = [position.ts_ms for message in filter(is_original, messages) for position in positions_of(message)]
    assert start_ms <= min(ts_ms) < start_ms + 5_000
    assert len({message.key for message in messages}) >= 50


# Shares


def test_shares_are_the_stated_ones(monday: list[Message]) -> None:
    """
    Dirty, duplicate and delayed messages have their stated shares of all, within 4 standard deviations.
    """
    sent = Counter(message.sent_as for message in monday)
    n = len(monday)
    for sent_as, share in ((SentAs.DIRTY, 0.01), (SentAs.DUPLICATE, 0.01), (SentAs.DELAYED, 0.02)):
        assert sent[sent_as] == pytest.approx(n * share, abs=4 * (n * share) ** 0.5)


def test_large_shares_are_the_stated_ones_too() -> None:
    """
    Shares are of all messages, copies included; the largest leave clean only what is copied.
    """
    options = replace(SMALL, people=200, dirty_share=0.2, duplicate_share=0.3, out_of_order_share=0.2)
    sent = Counter(message.sent_as for message in feed(options))
    n = sent.total()
    for sent_as, share in (
        (SentAs.DIRTY, 0.2),
        (SentAs.DUPLICATE, 0.3),
        (SentAs.DELAYED, 0.2),
        (SentAs.CLEAN, 0.3),
    ):
        assert sent[sent_as] == pytest.approx(n * share, abs=4 * (n * share) ** 0.5)


def test_shares_of_zero_leave_every_message_clean() -> None:
    """
    Without dirt, copies and delays there is one clean message for each record.
    """
    messages = feed(replace(SMALL, dirty_share=0.0, duplicate_share=0.0, out_of_order_share=0.0, max_delay_s=0.0))
    assert {message.sent_as for message in messages} == {SentAs.CLEAN}
    assert len({message.value for message in messages}) == len(messages)


def test_a_city_counts_what_it_hands_out() -> None:
    """
    sent counts each message once, under what became of it, when it is handed out; dirt counts the kinds.
    """
    city = City(replace(SMALL, dirty_share=0.2))
    assert city.sent.total() == city.dirt.total() == 0
    messages = list(islice(city.messages(until_ms=None), 500))
    assert city.sent == Counter(message.sent_as for message in messages)
    assert city.dirt == Counter(message.dirt for message in messages if message.dirt is not None)
    assert city.dirt.total() == city.sent[SentAs.DIRTY]


def test_a_duplicate_is_an_earlier_message_again(monday: list[Message]) -> None:
    """
    A duplicate has the key, bytes and event time of a message up to 5 s before it; nothing else comes twice.
    """
    arrived: dict[tuple[Kind, bytes, bytes, int], int] = {}
    n_duplicates = 0
    for message in monday:
        what = (message.kind, message.key, message.value, message.event_ms)
        if message.sent_as is SentAs.DUPLICATE:
            n_duplicates += 1
            assert 0 < message.arrival_ms - arrived[what] <= 5_000
        else:
            assert what not in arrived
            arrived[what] = message.arrival_ms
    assert n_duplicates > 50


# Records


def test_a_clean_record_has_the_documented_fields(city: City, monday: list[Message]) -> None:
    """
    A clean check-in states user, time, position, venue and category of a known venue, a fragment 1 to 9
    points 30 s apart; the key is the user.
    """
    venues = {venue.id: venue for venue in city.venues}
    for message in filter(is_original, monday):
        record = json.loads(message.value)
        assert message.key.decode() == record["user"]
        if message.kind is Kind.CHECKINS:
            msgspec.json.decode(message.value, type=CheckIn)
            assert list(record) == ["user", "ts", "lat", "lon", "venue", "category"]
            venue = venues[record["venue"]]
            assert (record["lat"], record["lon"], record["category"]) == (
                venue.lat,
                venue.lon,
                venue.category,
            )
            assert record["ts"].endswith("Z")
        else:
            msgspec.json.decode(message.value, type=Fragment)
            assert list(record) == ["user", "points"]
            ts_ms = [ms_of(ts) for ts, _, _ in record["points"]]
            assert all(ts.endswith("Z") for ts, _, _ in record["points"])
            assert set(np.diff(ts_ms).tolist()) <= {30_000}
            assert ts_ms[-1] - ts_ms[0] <= MAX_FRAGMENT_SPAN_MS


def test_most_fragments_hold_several_points(monday: list[Message]) -> None:
    """
    Only trips of less than two minutes make fragments of fewer than 4 points; those are few.
    """
    sizes = [len(positions_of(m)) for m in monday if is_original(m) and m.kind is Kind.FRAGMENTS]
    assert max(sizes) == 9
    assert sum(size >= 4 for size in sizes) > 0.95 * len(sizes)


def test_some_users_carry_their_own_demands() -> None:
    """
    The stated share of users sends k and delta_m with every fragment, always the same; others send neither.
    """
    demands = defaultdict(set)
    for message in feed(CityOptions(people=200, own_demands_share=0.25)):
        if message.kind is Kind.FRAGMENTS and is_original(message):
            fragment = msgspec.json.decode(message.value, type=Fragment)
            demands[fragment.user].add((fragment.k, fragment.delta_m))
    assert all(len(stated) == 1 for stated in demands.values())
    stated = [demand for demands_of_user in demands.values() for demand in demands_of_user if demand != (None, None)]
    assert len(stated) == pytest.approx(50, abs=20)
    assert all(k is not None and k >= 2 and delta_m is not None and delta_m > 0 for k, delta_m in stated)


@pytest.mark.parametrize("rate", [0.5, 3.0, 8.0])
def test_people_check_in_as_often_as_stated(rate: float) -> None:
    """
    The number of check-ins is people times days times the stated rate, within 4 standard deviations.
    """
    options = CityOptions(people=300, checkins_per_person_day=rate, duplicate_share=0.0)
    n = sum(message.kind is Kind.CHECKINS for message in feed(options))
    assert n == pytest.approx(300 * rate, abs=4 * (300 * rate) ** 0.5)


# Dirt


def test_every_kind_of_dirt_is_there_and_is_what_it_says() -> None:
    """
    Each kind of dirt occurs in each feed that can have it, and its bytes have the one fault of its name.
    """
    seen: set[tuple[Kind, Dirt]] = set()
    for message in feed(CityOptions(people=100, dirty_share=0.5)):
        if message.dirt is not None:
            assert has_fault(message, message.dirt), (message.dirt, message.value)
            seen.add((message.kind, message.dirt))
    assert seen == {(kind, dirt) for kind in INPUT_KINDS for dirt in Dirt} - {(Kind.CHECKINS, Dirt.EMPTY_FRAGMENT)}


def has_fault(message: Message, dirt: Dirt) -> bool:
    """Say whether a message is wrong in the one way that is stated."""
    try:
        record = json.loads(message.value)  # unlike msgspec, knows NaN
    except json.JSONDecodeError:
        return dirt is Dirt.NOT_JSON
    is_checkin = message.kind is Kind.CHECKINS
    places = [(record.get("ts"), record.get("lat"))] if is_checkin else [p[:2] for p in record.get("points", [])]
    needed = {"user", "ts"} if is_checkin else {"user", "points"}
    lats = [lat for _, lat in places]
    no_number = sum(isinstance(lat, str) for lat in lats)
    faults: dict[Dirt, bool] = {
        Dirt.MISSING_FIELD: len(needed - set(record)) == 1,
        Dirt.NOT_FINITE: lats.count(None) == 0 and str(lats).count("nan") == 1,
        Dirt.OUT_OF_RANGE: sum(isinstance(lat, float) and abs(lat) > 90.0 for lat in lats) == 1,
        Dirt.WRONG_TYPE: isinstance(record.get("user"), list) + no_number == 1,
        Dirt.FAR_YEAR: sum(ts is not None and ts[:4] in ("1864", "2104") for ts, _ in places) == 1,
        Dirt.EMPTY_FRAGMENT: record.get("points") == [],
    }
    if dirt is Dirt.EXTRA_FIELD:
        return not any(faults.values()) and {"app", "battery", "tags"} < set(record)
    return [name for name, present in faults.items() if present] == [dirt]


def test_an_unknown_field_is_harmless() -> None:
    """
    A record whose only dirt is an extra field still decodes to a record.
    """
    types: dict[Kind, type[CheckIn | Fragment]] = {Kind.CHECKINS: CheckIn, Kind.FRAGMENTS: Fragment}
    messages = [m for m in feed(replace(SMALL, dirty_share=0.5)) if m.dirt is Dirt.EXTRA_FIELD]
    assert {message.kind for message in messages} == set(INPUT_KINDS)
    for message in messages:
        assert str(msgspec.json.decode(message.value, type=types[message.kind]).user) == message.key.decode()


# Movement


def test_gps_follows_the_roads(city: City, positions: list[Position]) -> None:
    """
    A clean GPS point is at most the noise away from a road, and the noise is there.
    """
    points = [position for position in positions if position.kind is Kind.FRAGMENTS][::7]
    off_m = distance_to_roads_m(city, np.array([p.lat for p in points]), np.array([p.lon for p in points]))
    # A plane distorts lengths by up to 0.4 % here: a hand's breadth on the way to the nearest road, no more.
    assert off_m.max() <= NOISE_M + 0.5
    assert 1.0 < off_m.mean() < 5.0


def test_venues_stand_beside_roads(city: City) -> None:
    """
    A venue is a short walk from a road: at most 40 m.
    """
    lat, lon = np.array([v.lat for v in city.venues]), np.array([v.lon for v in city.venues])
    assert distance_to_roads_m(city, lat, lon).max() <= 40.0


def test_nobody_moves_faster_than_a_car(city: City, positions: list[Position]) -> None:
    """
    Between two GPS points of one user, however far apart, the speed is below 40 m/s; some people drive.
    """
    of_user: dict[str, list[Position]] = defaultdict(list)
    for position in positions:
        if position.kind is Kind.FRAGMENTS:
            of_user[position.user].append(position)
    fastest = []
    for points in of_user.values():
        points.sort(key=lambda point: point.ts_ms)
        xy_m = metres(np.array([p.lat for p in points]), np.array([p.lon for p in points]), city.options)
        seconds = np.diff([point.ts_ms for point in points]) / 1_000
        assert (seconds >= 30).all()
        fastest.append(float((np.hypot(*np.diff(xy_m, axis=0).T) / seconds).max()))
    assert 10.0 < max(fastest) < 40.0


@pytest.mark.parametrize(
    "place",
    [
        {},
        {"centre_lat": -36.85, "centre_lon": 179.99, "radius_m": 3_000.0},
        {"centre_lat": 78.2, "centre_lon": 15.6, "radius_m": 20_000.0},
        {"centre_lat": 0.0, "centre_lon": 0.0, "radius_m": 1_000.0},
    ],
    ids=["default", "antimeridian", "far north", "equator"],
)
def test_everybody_stays_within_the_radius(place: dict[str, float]) -> None:
    """
    No clean position is farther from the centre than radius_m, wherever on earth the city is.
    """
    options = replace(CityOptions(people=60), **place)  # type: ignore[arg-type]
    found = [p for message in feed(options) if is_original(message) for p in positions_of(message)]
    lat, lon = np.array([p.lat for p in found]), np.array([p.lon for p in found])
    out_m = np.hypot(*LocalProjection(options.centre_lat, options.centre_lon).to_metres(lat, lon).T)
    assert 0.6 * options.radius_m < out_m.max() <= options.radius_m
    assert ((lon >= -180.0) & (lon < 180.0)).all()


# Habits


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("hour", [8, 12])
def test_the_crowd_of_a_workday_is_dense_enough_to_hide_in(seed: int, hour: int) -> None:
    """
    In each 10-minute event-time window of the morning rush and of lunch at least 50 of 400 people are seen.
    """
    seen: dict[int, set[str]] = defaultdict(set)
    for message in feed(CityOptions(seed=seed), days=(hour + 1.2) / 24):
        if is_original(message):
            for position in positions_of(message):
                seen[(position.ts_ms - MONDAY_MS) // 600_000].add(position.user)
    assert min(len(seen[window]) for window in range(hour * 6, hour * 6 + 6)) >= 50


def test_a_weekend_has_no_morning_rush() -> None:
    """
    Before 9 o'clock on a Saturday the streets are almost empty, around 11 they are not.
    """
    saturday_ms = MONDAY_MS + 5 * DAY_MS
    hours: dict[int, set[bytes]] = defaultdict(set)
    for message in feed(CityOptions(start_ms=saturday_ms)):
        hours[(message.event_ms - saturday_ms) // HOUR_MS].add(message.key)
    assert len(hours[8]) < 20
    assert len(hours[11]) > 150


def test_popularity_falls_off_with_rank() -> None:
    """
    Venues are listed from the most popular on, roughly by Zipf's law: the first tenth has several times its
    share of the check-ins, and yet most venues are visited.
    """
    city = City(CityOptions(checkins_per_person_day=10.0))
    rank = {venue.id: number for number, venue in enumerate(city.venues)}
    visits = [0] * len(rank)
    for message in city.messages(until_ms=MONDAY_MS + 7 * DAY_MS):
        if message.kind is Kind.CHECKINS and is_original(message):
            visits[rank[json.loads(message.value)["venue"]]] += 1
    assert sum(visits[:15]) > 0.3 * sum(visits)
    assert sum(n > 0 for n in visits) > 0.8 * len(visits)


def test_no_venue_is_a_home(city: City) -> None:
    """
    Categories are public places of the three purposes; a home is none of them. Ids are unique.
    """
    assert len({venue.id for venue in city.venues}) == 150
    categories = {venue.category for venue in city.venues}
    assert {"Coffee Shop", "Supermarket", "Park"} < categories
    assert not any("Home" in category or "Residence" in category for category in categories)


def test_roads_are_connected(city: City) -> None:
    """
    Every node is reached from every other in finite time, never faster than along a straight arterial road.
    """
    roads = city.roads
    straight_m = np.hypot(*(roads.xy_m[:, None] - roads.xy_m).transpose(2, 0, 1))
    assert np.isfinite(roads.travel_s).all()
    assert (roads.travel_s >= straight_m / 16.0 - 1e-6).all()
    assert (roads.length_m >= straight_m - 1e-6).all()


# Options


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("people", 0, "people is 0: use a whole number from 1 to 200000"),
        ("venues", 9, "venues is 9: use a whole number from 10 to 5000"),
        ("seed", 1.5, "seed is 1.5: use a whole number"),
        ("centre_lat", float("nan"), "centre_lat is nan: use a number from -80 to 80"),
        ("radius_m", 10.0, "radius_m is 10.0: use a number from 1000 to 20000"),
        ("duplicate_share", 0.6, "duplicate_share is 0.6: use a number from 0 to 0.5"),
        ("dirty_share", 0.98, "2 \\* duplicate_share is 1.02: use at most 1"),
        ("max_delay_s", 1.0, "use a delay of at least 2 s, or a share of 0"),
    ],
)
def test_a_bad_option_is_refused_with_a_sentence(name: str, value: float, sentence: str) -> None:
    """
    An option out of range, or at odds with another, is refused; the sentence says what is allowed.
    """
    options: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=sentence):
        CityOptions(**options)
