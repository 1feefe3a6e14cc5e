"""Validate: decoded records become rows, or are rejected with a reason from a closed set.

Checks run on columns: one pass over a batch builds them, numpy does the rest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

import numpy as np
import numpy.typing as npt

from core.records.arrays import BoolArray, FloatArray, IntArray, UserHashes
from core.records.demands import ALLOWED_DELTA_M, ALLOWED_K, NO_DEMANDS, DefaultDemands, allows_delta_m, allows_k
from core.records.identity import Identifier, canonical
from core.records.instants import UNIT_MS, UNIT_NAMES
from core.records.keys import check_key
from core.records.profile import Codes, Profile
from core.records.record import POINT, CheckIn, Fragment, Reason, Rejected, Rows, Source, Timestamp, attribute_field

__all__ = [
    "TOO_FAR_AHEAD",
    "Elements",
    "Rules",
    "ValidCheckIns",
    "user_hash",
    "validate_checkins",
    "validate_fragments",
]

TOO_FAR_AHEAD = "ts is further ahead than time.max_ahead"
"""Detail of a record rejected because its event time is in the future."""

_ZERO = "lat and lon are both 0, which receivers without a fix report (location.zero)"

_ROUNDED = (
    "user is a number of more than 15 digits with a decimal point or an exponent, whose last digits are lost: an id "
    "must be a whole number or a text"
)
_FIRST_ROUNDED = 2.0**53
"""From here on several whole numbers are the same float, so that several people would have one id."""

_REMEMBERED = 2**16
"""Most user ids whose hashes are remembered."""

_LONGEST_REMEMBERED = 64
"""Characters; the hash of a longer id is not remembered."""

_FAR_MS = 1e15
"""Beyond every accepted time, but far below the limit of 64-bit integers."""


Elements = Sequence[int | None]
"""Number of each record of a batch in the list of its message, the first is 1; None for a message of one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules for accepting records."""

    user_key: bytes = field(repr=False)
    """Secret of the keyed user hash, 16 to 64 bytes; after validation a person is a hash."""

    earliest_ms: int
    """First accepted event time, Unix milliseconds."""

    latest_ms: int
    """Last accepted event time, Unix milliseconds."""

    max_ahead_ms: int
    """How far an event time may be after the time of validation, milliseconds."""

    number_ms: float = 1000
    """Milliseconds in one unit of a numeric time stamp: 1000 for seconds, 0.001 for microseconds."""

    max_user_length: int = 256
    """Longest user id, characters."""

    max_points: int = 10_000
    """Most points of one fragment."""

    rejects_zero: bool = True
    """Whether a position of exactly 0,0 is refused: receivers without a fix report it."""

    known_users: dict[Identifier, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Hashes of user ids seen lately, because the same people occur again and again; at most :data:`_REMEMBERED`."""

    def __post_init__(self) -> None:
        check_key(self.user_key, "the key of the user hash")

    def remember(self, user: Identifier, hashed: int) -> int:
        """Remember the hash of a user id, and return it."""
        # Equal numbers may be different ids: 2**70 and its float are written differently.
        if isinstance(user, str) and len(user) <= _LONGEST_REMEMBERED:
            if len(self.known_users) >= _REMEMBERED:
                self.known_users.clear()
            self.known_users[user] = hashed
        return hashed


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ValidCheckIns:
    """Valid check-ins, as columns of shape ``(n,)``; positions are NaN if only a venue is given."""

    numbers: IntArray
    """Number of each record in its batch, the first is 0."""

    offsets: IntArray
    users: UserHashes = field(repr=False)
    ts_ms: IntArray = field(repr=False)
    lat_deg: FloatArray = field(repr=False)
    lon_deg: FloatArray = field(repr=False)
    venues: list[str | None] = field(repr=False)
    profiles: Codes = field(repr=False)
    categories: list[str | None] | None = field(repr=False)
    """The category of the place that each record names; None if they were not asked for."""


def user_hash(user: str, key: bytes) -> int:
    """Hash a user id in its canonical spelling to 64 bits that mean nothing without the key.

    Two users with equal hashes (about one pair in a population of four billion) count as one person. Counts of people
    are then too low, which is the safe direction.
    """
    return int.from_bytes(
        hashlib.blake2b(user.encode("utf-8", "surrogatepass"), key=key, digest_size=8).digest(), "little"
    )


def validate_checkins(
    records: Sequence[tuple[int, CheckIn]],
    rules: Rules,
    *,
    source: Source,
    now_ms: int,
    needs_position: bool,
    reads_category: bool = False,
    profile: Profile | None = None,
    elements: Elements | None = None,
) -> tuple[ValidCheckIns, list[Rejected]]:
    """Check a batch of check-ins.

    Args:
        records: Source offset and record, ``n`` of them.
        rules: Rules for accepting records.
        source: The source of the records.
        now_ms: The present, Unix milliseconds.
        needs_position: Whether a record must have a position (else it must name a venue).
        reads_category: Whether to return the categories that records name; none is needed.
        profile: The attributes of the person, in the order of the records' attribute fields; None for none.
        elements: Number of each record in the list of its message; None if every message is one record.

    Returns:
        The valid check-ins and the rejections.
    """
    n = len(records)
    times, lats, lons = [r.ts for _, r in records], [r.lat for _, r in records], [r.lon for _, r in records]
    ts, lat, lon = _times_ms(times, rules), _degrees(lats), _degrees(lons)
    venues = [None if r.venue is None else str(r.venue) for _, r in records]
    given, half = np.ones(n, np.bool_), np.zeros(n, np.bool_)
    for i in np.flatnonzero(np.isnan(lat) | np.isnan(lon)).tolist():  # a NaN may be given
        given[i] = lats[i] is not None and lons[i] is not None
        half[i] = (lats[i] is None) != (lons[i] is None)

    verdict = _Verdict(source, [offset for offset, _ in records], elements)
    users = verdict.reject_users([r.user for _, r in records], rules)
    if needs_position:
        verdict.reject(~given, Reason.MISSING_FIELD, "lat and lon are needed")
        verdict.reject_zero(lat, lon, rules)
    else:
        verdict.reject(half, Reason.MISSING_FIELD, "lat and lon come together")
        nowhere = np.fromiter((v is None for v in venues), dtype=np.bool_, count=n)
        verdict.reject(nowhere, Reason.MISSING_FIELD, "venue is needed")
    verdict.reject_positions(given, lat, lon)
    verdict.reject_times(ts, times, rules, now_ms)
    codes = np.zeros(n, dtype=np.uint32) if profile is None else verdict.reject_profiles(records, profile)

    kept = np.flatnonzero(verdict.accepted)
    return ValidCheckIns(
        numbers=kept,
        offsets=verdict.offsets[kept],
        users=users[kept],
        ts_ms=ts[kept].astype(np.int64),
        lat_deg=lat[kept],
        lon_deg=lon[kept],
        venues=[venues[i] for i in kept.tolist()],
        profiles=codes[kept],
        categories=[_text(records[i][1].category) for i in kept.tolist()] if reads_category else None,
    ), verdict.rejected


def validate_fragments(
    records: Sequence[tuple[int, Fragment]],
    rules: Rules,
    *,
    source: Source,
    now_ms: int,
    demands: DefaultDemands = NO_DEMANDS,
    elements: Elements | None = None,
) -> tuple[Rows, list[Rejected], Counter[Reason]]:
    """Check a batch of fragments.

    A point without a position, as receivers without a fix report it, is left out; the rest of its fragment is kept. A
    point with a wrong position or time rejects its fragment, because the rest cannot be trusted.

    Args:
        records: Source offset and record, ``n`` of them.
        rules: Rules for accepting records.
        source: The source of the records.
        now_ms: The present, Unix milliseconds.
        demands: Default demands for records that do not state a k or a delta, each on its own.
        elements: Number of each record in the list of its message; None if every message is one record.

    Returns:
        The points of the valid fragments, rows of :data:`core.records.record.POINT`; the rejections; and the number of
        points left out of valid fragments, by reason.
    """
    verdict = _Verdict(source, [offset for offset, _ in records], elements)
    users = verdict.reject_users([r.user for _, r in records], rules)
    verdict.reject_fragments([r for _, r in records], rules)
    points = _Points.of(records, np.flatnonzero(verdict.accepted), rules)
    verdict.reject_points(points, rules, now_ms)
    k, delta_m = _stated(records, np.flatnonzero(verdict.accepted))
    k, delta_m = demands.complete(users, k, delta_m)

    owner, of_accepted = points.owner, verdict.accepted[points.owner]
    rows = np.empty(len(owner), dtype=POINT)
    rows["offset"], rows["ts_ms"] = verdict.offsets[owner], points.ts_ms
    rows["lat"], rows["lon"] = points.lat, points.lon
    rows["user"], rows["k"], rows["delta_m"] = users[owner], k[owner], delta_m[owner]
    left_out = Counter(
        {
            Reason.MISSING_FIELD: int((points.nowhere & of_accepted).sum()),
            Reason.POSITION_ZERO: int((points.zero & of_accepted).sum()),
        }
    )
    return rows[points.placed & of_accepted], verdict.rejected, +left_out


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Points:
    """The ``p`` points of some fragments of a batch, as columns of shape ``(p,)``."""

    owner: IntArray = field(repr=False)
    """Number of each point's fragment in the batch."""

    times: list[Timestamp] = field(repr=False)
    """As they are written."""

    ts_ms: FloatArray = field(repr=False)
    lat: FloatArray = field(repr=False)
    """Degrees, NaN if the point states none."""

    lon: FloatArray = field(repr=False)
    """Degrees, NaN if the point states none."""

    nowhere: BoolArray
    """Whether the point states no position."""

    zero: BoolArray
    """Whether the position is 0,0, which counts as no position under the rules."""

    @classmethod
    def of(cls, records: Sequence[tuple[int, Fragment]], fragments: IntArray, rules: Rules) -> _Points:
        """Take the points of some of the records, by their numbers in ascending order."""
        points = [records[i][1].points for i in fragments.tolist()]
        flat = [point for of_fragment in points for point in of_fragment]
        lat, lon = _degrees([point.lat for point in flat]), _degrees([point.lon for point in flat])
        times = [point.ts for point in flat]
        return cls(
            owner=np.repeat(fragments, [len(of_fragment) for of_fragment in points]),
            times=times,
            ts_ms=_times_ms(times, rules),
            lat=lat,
            lon=lon,
            nowhere=np.isnan(lat) | np.isnan(lon),
            zero=_is_zero(lat, lon, rules),
        )

    @property
    def placed(self) -> BoolArray:
        """Whether the point has a position, right or wrong."""
        return ~(self.nowhere | self.zero)


def _stated(
    records: Sequence[tuple[int, Fragment]], accepted: IntArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the k and delta that each of ``n`` fragments states; 0 and infinity for none.

    Args:
        records: The fragments.
        accepted: Numbers of the fragments to read; the others count as stating nothing.
    """
    n = len(records)
    k, delta_m = np.zeros(n, POINT["k"]), np.full(n, np.inf, POINT["delta_m"])
    for i in accepted.tolist():
        _, fragment = records[i]
        if fragment.k is not None:
            k[i] = fragment.k
        if fragment.delta_m is not None:
            delta_m[i] = fragment.delta_m
    return k, delta_m


def _text(value: Identifier | None) -> str | None:
    return None if value is None else str(value)


def _degrees(values: Sequence[float | None]) -> FloatArray:
    """Return coordinates as a column, NaN for None."""
    return np.array(values, dtype=np.float64)


def _is_zero(lat: FloatArray, lon: FloatArray, rules: Rules) -> BoolArray:
    """Return which positions are 0,0 and therefore count as no position, shape ``(n,)``."""
    zero: BoolArray = (lat == 0.0) & (lon == 0.0)
    return zero if rules.rejects_zero else np.zeros_like(zero)


def _times_ms(times: Sequence[Timestamp], rules: Rules) -> FloatArray:
    """Return time stamps as Unix milliseconds, whole numbers, shape ``(n,)``; those beyond every limit are cut."""
    if times and {*map(type, times)} <= {int, float}:
        numbers = np.array(times)
        if numbers.dtype.kind in "if":  # otherwise there are integers beyond 64 bits
            far = _FAR_MS / rules.number_ms
            ms = np.rint(np.minimum(numbers, far) * rules.number_ms)
            return np.where(numbers > -far, ms, -_FAR_MS)
    return np.fromiter((_to_ms(ts, rules) for ts in times), dtype=np.float64, count=len(times))


def _to_ms(ts: Timestamp, rules: Rules) -> float:
    if isinstance(ts, datetime):
        return round(ts.timestamp() * 1000)
    # The comparison is false for NaN, which becomes a time outside of every range. JSON may have integers that no float
    # can hold: they are cut to the limit before any computation.
    far = _FAR_MS / rules.number_ms
    return round(min(ts, far) * rules.number_ms) if ts > -far else -_FAR_MS


def _likely_unit(ts: Timestamp, rules: Rules, now_ms: int) -> str | None:
    """Return the unit in which a numeric time stamp would be accepted; None if there is none, or if it is a text."""
    if isinstance(ts, datetime):
        return None
    latest_ms = min(rules.latest_ms, now_ms + rules.max_ahead_ms)
    # Bounds are divided rather than the number multiplied: it may be an integer that no float can hold.
    units = (UNIT_NAMES[unit] for unit, ms in UNIT_MS.items() if rules.earliest_ms / ms <= ts <= latest_ms / ms)
    return next(units, None)


def _name(user: Identifier, limit: int) -> str | None:
    """Return the canonical spelling of a user id; None if it is too long."""
    if isinstance(user, str):
        return None if len(user) > limit else canonical(user)  # slow for long texts
    name = canonical(user)
    return None if len(name) > limit else name


def _is_rounded(user: Identifier) -> bool:
    return isinstance(user, float) and abs(user) >= _FIRST_ROUNDED


class _Verdict:
    """Which rows of a batch are accepted, and the first fault of each other row."""

    def __init__(self, source: Source, offsets: Sequence[int], elements: Elements | None = None) -> None:
        self.offsets = np.array(offsets, dtype=np.int64)
        self.accepted = np.ones(len(offsets), dtype=np.bool_)
        self.rejected: list[Rejected] = []
        self._source, self._elements = source, elements

    def reject(self, bad: BoolArray, reason: Reason, detail: str) -> None:
        new = bad & self.accepted
        if not new.any():
            return
        self.accepted &= ~bad
        self.rejected += [
            Rejected(
                reason=reason,
                detail=detail,
                source=self._source,
                offset=int(self.offsets[i]),
                element=None if self._elements is None else self._elements[i],
            )
            for i in np.flatnonzero(new).tolist()
        ]

    def reject_users(self, users: Sequence[Identifier], rules: Rules) -> UserHashes:
        """Return the hash of each user, shape ``(n,)``; 0 if its record is rejected because of the user."""
        limit, known = rules.max_user_length, rules.known_users
        hashes = [known.get(user) for user in users]
        too_long, unnamed, rounded = np.zeros((3, len(users)), np.bool_)
        for i in [i for i, found in enumerate(hashes) if found is None]:
            name, hashes[i] = _name(users[i], limit), 0
            if _is_rounded(users[i]):
                rounded[i] = True
            elif name:
                hashes[i] = rules.remember(users[i], user_hash(name, rules.user_key))
            else:
                (too_long if name is None else unnamed)[i] = True
        self.reject(too_long, Reason.USER_ID_TOO_LONG, f"user is longer than {limit} characters")
        self.reject(rounded, Reason.WRONG_TYPE, _ROUNDED)
        self.reject(unnamed, Reason.MISSING_FIELD, "user names nobody: it is empty, blank, or a word such as null")
        return np.array(hashes, dtype=np.uint64)

    def reject_positions(self, given: BoolArray, lat: FloatArray, lon: FloatArray) -> None:
        for name, values, limit in (("lat", lat, 90), ("lon", lon, 180)):
            bad = given & ~(np.abs(values) <= limit)  # NaN is bad, too
            self.reject(bad, Reason.POSITION_OUT_OF_RANGE, f"{name} must be a number from -{limit} to {limit}")

    def reject_zero(self, lat: FloatArray, lon: FloatArray, rules: Rules) -> None:
        self.reject(_is_zero(lat, lon, rules), Reason.POSITION_ZERO, _ZERO)

    def reject_times(self, ts_ms: FloatArray, times: Sequence[Timestamp], rules: Rules, now_ms: int) -> None:
        for bad, detail in (
            (ts_ms < rules.earliest_ms, "ts is before time.earliest"),
            (ts_ms > rules.latest_ms, "ts is after time.latest"),
            (ts_ms > now_ms + rules.max_ahead_ms, TOO_FAR_AHEAD),
        ):
            units = {i: _likely_unit(times[i], rules, now_ms) for i in np.flatnonzero(bad & self.accepted).tolist()}
            for unit in dict.fromkeys(units.values()):
                of_unit = np.zeros_like(bad)
                of_unit[[i for i, one in units.items() if one == unit]] = True
                hint = f"; the number looks like {unit} (time.unit)" if unit else ""
                self.reject(of_unit, Reason.TIME_OUT_OF_RANGE, f"{detail}{hint}")

    def reject_fragments(self, fragments: Sequence[Fragment], rules: Rules) -> None:
        """Reject fragments for faults of the fragment as a whole."""
        sizes = np.array([len(fragment.points) for fragment in fragments], dtype=np.int64)
        k = np.array([fragment.k is None or allows_k(fragment.k) for fragment in fragments], dtype=np.bool_)
        delta_m = np.array(
            [fragment.delta_m is None or allows_delta_m(fragment.delta_m) for fragment in fragments], dtype=np.bool_
        )
        most = rules.max_points
        self.reject(sizes == 0, Reason.EMPTY_FRAGMENT, "points is empty")
        self.reject(sizes > most, Reason.TOO_MANY_POINTS, f"more than {most} points in one fragment")
        self.reject(~k, Reason.DEMAND_OUT_OF_RANGE, ALLOWED_K)
        self.reject(~delta_m, Reason.DEMAND_OUT_OF_RANGE, ALLOWED_DELTA_M)

    def reject_points(self, points: _Points, rules: Rules, now_ms: int) -> None:
        """Reject fragments for the first wrong position or time of a point, or if no point has a position."""
        by_point = _Verdict(self._source, points.owner.tolist())  # a fragment's number stands for its offset
        by_point.reject_positions(points.placed, points.lat, points.lon)
        by_point.reject_times(points.ts_ms, points.times, rules, now_ms)
        firsts = {fault.offset: (fault.reason, fault.detail) for fault in reversed(by_point.rejected)}
        numbers = np.arange(len(self.offsets))
        for reason, detail in dict.fromkeys(firsts.values()):
            bad = [number for number, first in firsts.items() if first == (reason, detail)]
            self.reject(np.isin(numbers, bad), reason, detail)
        n = len(self.offsets)
        n_zero = np.bincount(points.owner[points.zero], minlength=n)
        empty = np.bincount(points.owner[points.placed], minlength=n) == 0
        self.reject(empty & (n_zero > 0), Reason.POSITION_ZERO, f"no point has a position: {_ZERO}")
        self.reject(empty, Reason.MISSING_FIELD, "no point has a position: lat and lon are needed")

    def reject_profiles(self, records: Sequence[tuple[int, CheckIn]], profile: Profile) -> Codes:
        fields = [attribute_field(i) for i in range(len(profile.attributes))]
        encoded = profile.encode([[getattr(r, name, None) for _, r in records] for name in fields])
        for i, attribute in enumerate(profile.attributes):
            name, allowed = attribute.name, attribute.allowed
            self.reject(encoded.missing == i, Reason.ATTRIBUTE_MISSING, f"{name} is needed: {allowed}")
            self.reject(encoded.wrong == i, Reason.ATTRIBUTE_OUT_OF_RANGE, f"{name} must be {allowed}")
        return encoded.codes
