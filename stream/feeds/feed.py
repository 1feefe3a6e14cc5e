"""A feed: the objects of ``core`` that handle the records of one kind, built from the settings."""

from __future__ import annotations

import hashlib

from core.ingest.intake import CheckInIntake, FragmentIntake, Intake
from core.ingest.shard import RegionShards, Sharder, SingleShard, UserShards
from core.ingest.validate import Rules
from core.models.common.plan import Plan
from core.places.locate import Locator
from core.places.meaning import Taxonomy
from core.records.instants import UNIT_MS
from core.records.keys import keyed_id
from core.records.record import Kind, attribute_field
from core.windows.window import WindowPolicy
from stream.feeds.attributes import build_profile, read_hierarchies
from stream.feeds.decoders import message_decoder
from stream.feeds.default_demands import read_default_demands
from stream.feeds.digests import digest, file_digest
from stream.feeds.place_categories import taxonomy_file
from stream.feeds.plan import build_plan
from stream.feeds.taxonomies import build_taxonomy
from stream.feeds.vocabulary import build_locator
from stream.settings.checks import NO_KEY_IS_SET
from stream.settings.errors import SettingsError
from stream.settings.feeds import ShardSettings
from stream.settings.kinds import KindSettings
from stream.settings.model import Settings
from stream.settings.secret import secret_fault

__all__ = ["Feed", "build_feeds", "places_digest"]

_IDENTITY = "identity 3"
"""Version of the rule that decides which spellings of an id mean one person. Records hashed under different rules must
not be mixed."""

_OF_POIS = ("pois_file", "poi_distance_m", "poi_agreement")
"""Settings that other vocabularies do not depend on: without them a release is what it was in earlier versions."""


class Feed:
    """Everything needed to run one kind of feed.

    Args:
        settings: All settings.
        kind: The kind of feed.
        secret: Used in place of ``privacy.secret``.
        like: A feed with the same locations. Its vocabulary is reused, because one of a file takes time and memory.

    Raises:
        SettingsError: A setting or the secret does not fit, or a file that a setting names cannot be read.
    """

    def __init__(self, settings: Settings, kind: Kind, *, secret: str, like: Feed | None = None) -> None:
        if (fault := secret_fault(secret)) is not None:
            raise SettingsError(f"the secret used in place of privacy.secret {fault}")
        self.kind = kind
        own = settings.for_kind(kind)
        locator: Locator = build_locator(own.location, own.privacy) if like is None else like._locator
        venues = file_digest(own.location.venues_file, "location.venues_file")
        user_key = _derived_key(secret, "users")
        self.hierarchies = read_hierarchies(own)
        self.profile = build_profile(own, self.hierarchies)
        vocabulary = digest(
            own.location.model_dump(mode="json", exclude={"venues_file", "regions_file", *_OF_POIS}),
            venues,
            own.shard.model_dump(mode="json", exclude={"finest_resolution"}),  # it decides nothing before a window
            keyed_id(user_key, "vocabulary"),
            _IDENTITY,
            *([] if self.profile is None else [repr(self.profile)]),
            *(
                [file_digest(own.location.regions_file, "location.regions_file")]
                if own.location.kind == "regions"
                else []
            ),
            *_pois(own),
        )
        self.rules = rules = Rules(
            user_key=user_key,
            earliest_ms=own.time.earliest,
            latest_ms=own.time.latest,
            max_ahead_ms=own.time.max_ahead,
            number_ms=UNIT_MS[own.time.unit],
            max_user_length=settings.limits.user_length,
            max_points=settings.limits.points_per_fragment,
            rejects_zero=own.location.zero == "reject",
        )
        sharder = _sharder(own.shard)
        self.vocabulary = vocabulary
        self.intake: Intake = (
            CheckInIntake(rules, locator, sharder, vocabulary=vocabulary, profile=self.profile)
            if kind is Kind.CHECKINS
            else FragmentIntake(
                rules, sharder, vocabulary=vocabulary, demands=read_default_demands(own, rules), kind=kind
            )
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
        self.policy = WindowPolicy(
            size_ms=own.window.size,
            allowed_lateness_ms=own.window.allowed_lateness,
            idle_timeout_ms=own.window.idle_timeout,
            max_open=own.window.max_open,
            max_lead_ms=own.window.max_lead,
            horizon=self.plan.horizon,
            carries=kind is Kind.STOPS,
        )
        self._own = own
        self._locator: Locator = locator

    def is_public(self, outcome: str) -> bool:
        """Return whether consumers see anything of a window with this outcome; see ``release.withheld``."""
        return outcome == "released" or self._own.release.withheld == "announced"

    @property
    def attributes(self) -> tuple[str, ...]:
        """Fields of a record that hold attributes of its person, in the order of the profile."""
        return () if self.profile is None else self.profile.names

    @property
    def needed(self) -> tuple[str, ...]:
        """Fields, by our names, that every record must have."""
        if self.kind.input_kind is Kind.FRAGMENTS:
            return ("user", "ts")
        place = ("lat", "lon") if self._locator.needs_position else ("venue",)
        attributes = () if self.profile is None else self.profile.attributes
        return ("user", "ts", *place, *(attribute_field(i) for i, one in enumerate(attributes) if one.needed))

    def taxonomy(self) -> Taxonomy:
        """Build the taxonomy of the locations, whether or not the anonymizer uses it.

        Raises:
            SettingsError: Its files do not fit.
        """
        return build_taxonomy(self._own, self._locator)


def build_feeds(settings: Settings, *, secret: str | None = None) -> dict[Kind, Feed]:
    """Build a feed for every kind whose input topic has a name.

    Args:
        settings: All settings.
        secret: Used if ``privacy.secret`` is not set.

    Raises:
        SettingsError: A setting does not fit.
    """
    feeds: dict[Kind, Feed] = {}
    with_places: dict[str, Feed] = {}
    for kind in settings.kinds:
        own = settings.for_kind(kind)
        given = own.privacy.secret.get_secret_value() if own.privacy.secret is not None else secret
        if given is None:
            raise SettingsError(NO_KEY_IS_SET)
        message_decoder(settings, kind)  # to refuse a wrong schema file before anything starts
        places = places_digest(own)
        feeds[kind] = Feed(settings, kind, secret=given, like=with_places.get(places))
        with_places.setdefault(places, feeds[kind])
    return feeds


def places_digest(own: KindSettings) -> str:
    """Return a digest of what decides the vocabulary of locations: with equal ones a feed may be ``like`` another."""
    return digest(own.location.model_dump(mode="json"), own.privacy.taxonomy, str(own.privacy.default_category))


def _pois(own: KindSettings) -> list[object]:
    """Return what decides which place a record is linked to; nothing where locations are no places of a file."""
    location, privacy = own.location, own.privacy
    if location.kind != "pois":
        return []
    files = [
        file_digest(location.pois_file, "location.pois_file"),
        file_digest(taxonomy_file(privacy), "privacy.taxonomy"),
    ]
    return [*files, location.poi_distance_m, location.poi_agreement, privacy.default_category]


def _derived_key(secret: str, purpose: str) -> bytes:
    """Derive a key for one purpose; keys for different purposes reveal nothing about each other."""
    root = hashlib.blake2b(secret.encode(), digest_size=64).digest()
    return hashlib.blake2b(purpose.encode(), key=root, digest_size=32).digest()


def _sharder(shard: ShardSettings) -> Sharder:
    if shard.kind == "region":
        return RegionShards(shard.h3_resolution)
    return UserShards(shard.cohorts) if shard.kind == "user" else SingleShard()
