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

_FAR_MS = 1e15
"""Beyond every accepted time, but far below the limit of 64-bit integers."""


Elements = Sequence[int | None]
"""Number of each record of a batch in the list of its message, the first is 1; None for a message of one record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Rules for accepting records."""

    user_key: bytes = field(repr=False)
    """Secret of the keyed user hash, 16 to 64 bytes; after validation only hashes of user ids are kept."""

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

    def __post_init__(self) -> None:
        check_key(self.user_key, "the key of the user hash")


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
        profile: The attributes of the person, in the order of the records' attribute fields; None for none.
        elements: Number of each record in the list of its message; None if every message is one record.

    Returns:
        The valid check-ins and the rejections.
    """
    n = len(records)
    ts = np.fromiter((_to_ms(r.ts, rules) for _, r in records), dtype=np.float64, count=n)
    lat, lon = _degrees([r.lat for _, r in records]), _degrees([r.lon for _, r in records])
    venues = [None if r.venue is None else str(r.venue) for _, r in records]
    given = np.fromiter((r.lat is not None and r.lon is not None for _, r in records), dtype=np.bool_, count=n)
    half = np.fromiter(((r.lat is None) != (r.lon is None) for _, r in records), dtype=np.bool_, count=n)

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
    verdict.reject_times(ts, [r.ts for _, r in records], rules, now_ms)
    codes = np.zeros(n, dtype=np.uint32) if profile is None else verdict.reject_profiles(records, profile)

    kept = np.flatnonzero(verdict.accepted)
    hashes = (user_hash(users[i], rules.user_key) for i in kept.tolist())
    return ValidCheckIns(
        numbers=kept,
        offsets=verdict.offsets[kept],
        users=np.fromiter(hashes, dtype=np.uint64, count=len(kept)),
        ts_ms=ts[kept].astype(np.int64),
        lat_deg=lat[kept],
        lon_deg=lon[kept],
        venues=[venues[i] for i in kept.tolist()],
        profiles=codes[kept],
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
    names = verdict.reject_users([r.user for _, r in records], rules)
    verdict.reject_fragments([r for _, r in records], rules)
    points = _Points.of(records, np.flatnonzero(verdict.accepted), rules)
    verdict.reject_points(points, rules, now_ms)
    users, k, delta_m = _stated(records, names, np.flatnonzero(verdict.accepted), rules)
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
        return cls(
            owner=np.repeat(fragments, [len(of_fragment) for of_fragment in points]),
            times=[point.ts for point in flat],
            ts_ms=np.fromiter((_to_ms(point.ts, rules) for point in flat), dtype=np.float64, count=len(flat)),
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
    records: Sequence[tuple[int, Fragment]], names: Sequence[str], accepted: IntArray, rules: Rules
) -> tuple[UserHashes, npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the user hash of each of ``n`` fragments, and the k and delta that it states; 0, 0 and infinity for none.

    Args:
        records: The fragments.
        names: Canonical spelling of the user of each.
        accepted: Numbers of the fragments to read; the others count as stating nothing.
        rules: Holds the key of the hash.
    """
    n = len(records)
    users, k, delta_m = np.zeros(n, POINT["user"]), np.zeros(n, POINT["k"]), np.full(n, np.inf, POINT["delta_m"])
    for i in accepted.tolist():
        _, fragment = records[i]
        users[i] = user_hash(names[i], rules.user_key)
        if fragment.k is not None:
            k[i] = fragment.k
        if fragment.delta_m is not None:
            delta_m[i] = fragment.delta_m
    return users, k, delta_m


def _degrees(values: Sequence[float | None]) -> FloatArray:
    """Return coordinates as a column, NaN for None."""
    return np.fromiter((np.nan if value is None else value for value in values), dtype=np.float64, count=len(values))


def _is_zero(lat: FloatArray, lon: FloatArray, rules: Rules) -> BoolArray:
    """Return which positions are 0,0 and therefore count as no position, shape ``(n,)``."""
    zero: BoolArray = (lat == 0.0) & (lon == 0.0)
    return zero if rules.rejects_zero else np.zeros_like(zero)


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

    def reject_users(self, users: Sequence[Identifier], rules: Rules) -> list[str]:
        """Return the canonical spelling of each user, empty if its record is rejected because of it."""
        limit = rules.max_user_length
        names = [_name(user, limit) for user in users]
        too_long = np.fromiter((name is None for name in names), dtype=np.bool_, count=len(names))
        self.reject(too_long, Reason.USER_ID_TOO_LONG, f"user is longer than {limit} characters")
        unnamed = np.fromiter((not name for name in names), dtype=np.bool_, count=len(names))
        self.reject(unnamed, Reason.MISSING_FIELD, "user names nobody: it is empty, blank, or a word such as null")
        return [name or "" for name in names]

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
