"""Wiring: from settings to the objects of ``core`` that do the work."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from core.generalize import Taxonomy
from core.intake import CheckInIntake, FragmentIntake, Intake
from core.locate import Area, AreaGrid, H3Cells, Locator, MetricGrid, Venues
from core.plan import Plan
from core.records import Kind, attribute_field
from core.release import keyed_id
from core.shard import RegionShards, Sharder, SingleShard, UserShards
from core.validate import Rules
from core.window import WindowPolicy
from stream.demands import default_demands
from stream.digests import digest, file_digest
from stream.files import RecordFile
from stream.lines import to_number
from stream.plane import Plane
from stream.plans import build_plan
from stream.profiles import hierarchies, profile
from stream.semantics import taxonomy
from stream.settings import LocationSettings, Settings, SettingsError, ShardSettings
from stream.settings.checks import NO_KEY_IS_SET
from stream.settings.secret import secret_fault
from stream.tables import read_table, wrong_line

__all__ = ["Feed", "open_files", "plane_of", "wire"]

_IDENTITY = "identity 2"
"""Which spellings mean one person: records whose ids were hashed under another rule must not be mixed with these."""


class Feed:
    """Everything needed to run one kind of feed.

    Args:
        settings: All settings.
        kind: The kind of feed.
        secret: Stands in for ``privacy.secret``.
        like: A feed of the same locations, whose vocabulary of them is shared: one of venues takes memory.

    Raises:
        SettingsError: A setting or the secret does not fit, or a file that a setting names cannot be read.
    """

    def __init__(self, settings: Settings, kind: Kind, *, secret: str, like: Feed | None = None) -> None:
        if (said := secret_fault(secret)) is not None:
            raise SettingsError(f"the secret that stands in for privacy.secret {said}")
        self.kind = kind
        own = settings.for_kind(kind)
        locator: Locator = _locator(own.location) if like is None else like._locator
        venues = file_digest(own.location.venues_file)
        user_key = _derived_key(secret, "users")
        self.hierarchies = hierarchies(own)
        self.profile = profile(own, self.hierarchies)
        vocabulary = digest(
            own.location.model_dump(mode="json", exclude={"venues_file"}),
            venues,
            own.shard.model_dump(mode="json"),
            keyed_id(user_key, "vocabulary"),
            _IDENTITY,
            *([] if self.profile is None else [repr(self.profile)]),
        )
        rules = Rules(
            user_key=user_key,
            earliest_ms=settings.time.earliest,
            latest_ms=settings.time.latest,
            max_ahead_ms=settings.time.max_ahead,
            number_ms=1000 if settings.time.unit == "s" else 1,
            max_user_length=settings.limits.user_length,
            max_points=settings.limits.points_per_fragment,
            rejects_zero=own.location.zero == "reject",
        )
        sharder = _sharder(own.shard)
        self.vocabulary = vocabulary
        self.intake: Intake = (
            CheckInIntake(rules, locator, sharder, vocabulary=vocabulary, profile=self.profile)
            if kind is Kind.CHECKINS
            else FragmentIntake(rules, sharder, vocabulary=vocabulary, demands=default_demands(own, rules))
        )
        self.policy = WindowPolicy(
            size_ms=own.window.size,
            allowed_lateness_ms=own.window.allowed_lateness,
            idle_timeout_ms=own.window.idle_timeout,
            max_open=own.window.max_open,
            max_lead_ms=own.window.max_lead,
        )
        self.plan: Plan = build_plan(
            settings,
            own,
            locator,
            secret=_derived_key(secret, "releases"),
            vocabulary=vocabulary,
            profile=self.profile,
            trees=self.hierarchies,
        )
        self._own = own
        self._locator: Locator = locator

    @property
    def attributes(self) -> tuple[str, ...]:
        """Fields of a record that tell something of its person, in the order of the profile."""
        return () if self.profile is None else self.profile.names

    @property
    def needed(self) -> tuple[str, ...]:
        """Fields, by our names, without which no record is accepted."""
        if self.kind is Kind.FRAGMENTS:
            return ("user", "ts")
        place = ("lat", "lon") if self._locator.needs_position else ("venue",)
        told = () if self.profile is None else self.profile.attributes
        return ("user", "ts", *place, *(attribute_field(i) for i, one in enumerate(told) if one.needed))

    def taxonomy(self) -> Taxonomy:
        """Build the taxonomy of the locations, which the anonymizer need not use.

        Raises:
            SettingsError: Its files do not fit.
        """
        return taxonomy(self._own, self._locator)


def wire(settings: Settings, *, secret: str | None = None) -> dict[Kind, Feed]:
    """Wire every kind of feed whose topic is named.

    Args:
        settings: All settings.
        secret: Stands in for a ``privacy.secret`` that is not set.

    Raises:
        SettingsError: A setting does not fit.
    """
    feeds: dict[Kind, Feed] = {}
    for kind in settings.kinds:
        own = settings.for_kind(kind).privacy.secret
        given = own.get_secret_value() if own is not None else secret
        if given is None:
            raise SettingsError(NO_KEY_IS_SET)
        feeds[kind] = Feed(settings, kind, secret=given)
    return feeds


def open_files(settings: Settings, feed: Feed, paths: Sequence[Path]) -> list[RecordFile]:
    """Open files of records for a feed.

    Raises:
        FileFormatError: One of them cannot be read as records of this feed.
    """
    names, plane = settings.fields.model_dump(), plane_of(settings)
    return [
        RecordFile(
            path,
            feed.kind,
            names,
            max_bytes=settings.limits.message_bytes,
            plane=plane,
            attributes=feed.attributes,
            needed=feed.needed,
        )
        for path in paths
    ]


def plane_of(settings: Settings) -> Plane | None:
    """Tell what the metres and times of ``.tsv`` files mean; None where ``files.metres`` is not set."""
    if settings.files.metres is None:
        return None
    return Plane(settings.files.metres, (settings.files.start or 0) / (1000 if settings.time.unit == "s" else 1))


def _derived_key(secret: str, purpose: str) -> bytes:
    """Derive a key, so that what one of them is used for tells nothing about another."""
    root = hashlib.blake2b(secret.encode(), digest_size=64).digest()
    return hashlib.blake2b(purpose.encode(), key=root, digest_size=32).digest()


def _locator(location: LocationSettings) -> Locator:
    if location.kind == "h3":
        return H3Cells(location.h3_resolution)
    if location.kind == "venues" and location.venues_file is not None:
        return _venues(location.venues_file)
    if location.area is None:
        return MetricGrid(location.cell_m)
    south, west, north, east = location.area
    try:
        area = Area(south=south, west=west, north=north, east=east)
    except ValueError as fault:
        raise SettingsError(f"location.area is {south},{west},{north},{east}: {fault}") from None
    rows, columns = location.cells
    return AreaGrid(area, rows=rows, columns=columns)


def _venues(file: Path) -> Venues:
    setting = "location.venues_file"
    found: dict[str, tuple[int, float, float]] = {}
    for line, (name, *position) in read_table(file, setting, ("venue", "lat", "lon")):
        if not name:
            raise wrong_line(setting, file, line, "venue is empty: every venue needs a name")
        if name in found:
            raise wrong_line(setting, file, line, f"the venue stands in line {found[name][0]} already: list it once")
        lat, lon = (
            _degrees(text, limit, f"{setting} {file}, line {line}: {column}")
            for text, column, limit in zip(position, ("lat", "lon"), (90, 180), strict=True)
        )
        found[name] = line, lat, lon
    if not found:
        raise SettingsError(f"{setting} {file}: needs at least one venue")
    names = sorted(found)
    return Venues(names, np.array([found[name][1] for name in names]), np.array([found[name][2] for name in names]))


def _degrees(text: str, limit: int, where: str) -> float:
    try:
        value = to_number(text)
    except ValueError:
        value = np.nan
    if not abs(value) <= limit:
        raise SettingsError(f"{where} must be a number from -{limit} to {limit}, degrees")
    return value


def _sharder(shard: ShardSettings) -> Sharder:
    if shard.kind == "region":
        return RegionShards(shard.h3_resolution)
    return UserShards(shard.cohorts) if shard.kind == "user" else SingleShard()
