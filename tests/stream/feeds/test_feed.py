"""Wiring: which settings decide what is released, and the file of venues."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.models.kdelta.algorithms import (
    BoundedWaitForMe,
    NeverWalkAlone,
    SegmentedWaitForMe,
    TrajectoryAlgorithm,
    WaitForMe,
)
from core.models.kdelta.anonymize.bounding import BoundedOptions
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions
from core.models.kdelta.anonymize.segmentation import SegmentationOptions
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.guarantee import KDelta, Mixing, Persistent
from core.models.kdelta.plan import KDeltaPlan
from core.models.km.plan import KmPlan
from core.places.meaning import OwnTaxonomy
from core.records.record import INPUT_KINDS, Kind
from core.trajectories.joining import Joining
from stream.feeds.feed import Feed, build_feeds
from stream.feeds.record_files import metric_projection
from stream.formats.files.metric_projection import MetricProjection
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.settings.privacy import PrivacySettings

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment


def feed(kind: Kind = Kind.CHECKINS, secret: str = SECRET, **given: object) -> Feed:
    """Wire one kind of feed."""
    settings = load_settings(given={name.replace("__", "."): value for name, value in given.items()})
    return Feed(settings, kind, secret=secret)


def test_the_same_settings_are_wired_alike() -> None:
    """
    Two workers with the same settings and secret agree on vocabulary and digest.
    """
    for kind in INPUT_KINDS:
        assert feed(kind).vocabulary == feed(kind).vocabulary
        assert feed(kind).plan.digest == feed(kind).plan.digest


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("location__kind", "h3"),
        ("location__cell_m", 501),
        ("location__area", "52,13,53,14"),
        ("shard__kind", "user"),
        ("checkins__shard__kind", "region"),
    ],
)
def test_what_locates_a_record_is_part_of_the_vocabulary(name: str, value: Any) -> None:
    """
    Rows located under other settings must not be mixed with these, nor released as if they were.
    """
    changed = feed(**{name: value})
    assert changed.vocabulary != feed().vocabulary
    assert changed.plan.digest != feed().plan.digest


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window__size", "1h"),
        ("trajectories__max_speed_m_s", 50),
        ("trajectories__max_speed_m_s", "none"),
        ("trajectories__max_gap", "5m"),
        ("trajectories__resample", "15s"),
        ("limits__points_per_user", 7),
        ("limits__trajectory_length", 7),
    ],
)
def test_what_decides_a_release_is_part_of_its_digest(name: str, value: Any) -> None:
    """
    A window that was sealed under another value would come out differently: the digests differ, it is withheld.
    """
    assert feed(Kind.FRAGMENTS, **{name: value}).plan.digest != feed(Kind.FRAGMENTS).plan.digest
    assert feed(Kind.FRAGMENTS, **{name: value}).vocabulary == feed(Kind.FRAGMENTS).vocabulary


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("window__allowed_lateness", "5m"),
        ("window__idle_timeout", "5m"),
        ("window__max_open", 7),
        ("kafka__bootstrap_servers", "elsewhere:9092"),
        ("logs__level", "debug"),
        ("worker__processes", 2),
        ("time__max_ahead", "1h"),
        ("checkins__privacy__k", 9),
        ("files__metres", "EPSG:2100"),
        ("files__start", "2002-08-01"),
    ],
)
def test_what_does_not_decide_a_release_leaves_it_alone(name: str, value: Any) -> None:
    """
    A restart with another log level does not cost the windows that are sealed.
    """
    assert feed(Kind.FRAGMENTS, **{name: value}).plan.digest == feed(Kind.FRAGMENTS).plan.digest


def test_how_fragments_are_joined_is_wired_and_leaves_check_ins_alone() -> None:
    """
    By default nobody is faster than 100 m/s and no gap is too long.
    """
    plan = feed(Kind.FRAGMENTS).plan
    assert isinstance(plan, KDeltaPlan)
    assert plan.joining == Joining(max_speed_m_s=100.0)
    given: dict[str, Any] = {
        "trajectories__max_speed_m_s": "none", "trajectories__max_gap": "5m", "trajectories__resample": "1m"
    }  # fmt: skip
    changed = feed(Kind.FRAGMENTS, **given).plan
    assert isinstance(changed, KDeltaPlan)
    assert changed.joining == Joining(max_gap_ms=300_000, step_ms=60_000)
    assert feed(**given).plan.digest == feed().plan.digest


def test_a_projection_counts_times_in_their_unit() -> None:
    """
    ``files.start`` is an instant; what is added to a time is in ``time.unit``, and 1970 where it is not set.
    """
    given = {"files.metres": "EPSG:2100", "files.start": "1970-01-01T00:00:02.5Z"}
    assert metric_projection(load_settings(given=given)) == MetricProjection("EPSG:2100", 2.5)
    assert metric_projection(load_settings(given=given | {"time.unit": "ms"})) == MetricProjection("EPSG:2100", 2500.0)
    assert metric_projection(load_settings(given={"files.metres": "EPSG:2100"})) == MetricProjection("EPSG:2100", 0.0)
    assert metric_projection(load_settings()) is None


def test_a_projection_of_stops_needs_no_model_of_fragments() -> None:
    """
    ``privacy.model`` may be one of check-ins, as `shoal replay --kind stops` needs it.
    """
    settings = load_settings(given={"files.metres": "EPSG:2100", "privacy.model": "p2ka", "time.unit": "ms"})
    assert metric_projection(settings, Kind.STOPS) == MetricProjection("EPSG:2100", 0.0)


def test_another_secret_is_another_vocabulary_and_digest() -> None:
    """
    Users are hashed with the secret: rows of two secrets would split a person in two.
    """
    assert feed(secret="another" + SECRET).vocabulary != feed().vocabulary
    assert feed(secret="another" + SECRET).plan.digest != feed().plan.digest


def test_the_keys_of_users_and_releases_differ() -> None:
    """
    What a key is used for tells nothing about the secret, or about another key.
    """
    plan = feed().plan
    assert len(plan.secret) == 32
    assert plan.secret != feed(secret=SECRET + " ").plan.secret
    assert SECRET.encode() not in plan.secret


def test_every_kind_that_is_read_is_wired_with_its_secret() -> None:
    """
    A kind may have its own secret; one without any is refused.
    """
    own = {"checkins.privacy.secret": "another" + SECRET, "privacy.secret": SECRET}
    feeds = build_feeds(load_settings(given=own))
    assert feeds.keys() == set(INPUT_KINDS)
    assert feeds[Kind.CHECKINS].plan.secret == feed(secret="another" + SECRET).plan.secret
    assert feeds[Kind.FRAGMENTS].plan.secret == feed(Kind.FRAGMENTS).plan.secret
    assert build_feeds(load_settings(given={"topics.fragments": ""}), secret=SECRET).keys() == {Kind.CHECKINS}
    with pytest.raises(SettingsError, match="SHOAL_PRIVACY__SECRET"):
        build_feeds(load_settings())


def test_feeds_share_a_vocabulary_if_their_locations_are_the_same(tmp_path: Path) -> None:
    """
    A file of locations is read once for all feeds with these locations, and a feed with others reads its own.
    """
    file = tmp_path / "venues.csv"
    file.write_text("venue,lat,lon\nNorth,52.5,13.4\n")
    given = {"privacy.secret": SECRET, "location.kind": "venues", "location.venues_file": str(file)}

    def locators(**more: object) -> tuple[object, object]:
        feeds = build_feeds(load_settings(given={**given, **more}))
        first, second = (feeds[kind].taxonomy() for kind in INPUT_KINDS)
        assert isinstance(first, OwnTaxonomy)
        assert isinstance(second, OwnTaxonomy)
        return first.locator, second.locator

    first, second = locators()
    assert first is second
    first, second = locators(**{"fragments.location.zero": "accept"})
    assert first is not second


@pytest.mark.parametrize("secret", ["", " " * 16, "short", "x" * 32, "abab" * 8])
def test_what_stands_in_for_a_secret_is_one(secret: str) -> None:
    """
    Nothing is released under a secret that can be guessed, whoever brings it.
    """
    with pytest.raises(SettingsError, match="at least 16 characters, at least 5 of them different") as refused:
        feed(secret=secret)
    assert not secret.strip() or secret not in str(refused.value)
    with pytest.raises(SettingsError, match="at least 16 characters, at least 5 of them different"):
        build_feeds(load_settings(), secret=secret)


# Models of fragments

CHANGED: dict[str, Any] = {
    "model": "pw4m",
    "k": 6,
    "m": 1,
    "delta_m": 501.0,
    "default_category": "other",
    "default_constraint": "other",
    "suppression_percent": 6.0,
    "l": 3,
    "sensitive_locations": ("park",),
    "clusters": 3,
    "key_patterns": 11,
    "time_slot": 1_800_000,
    "slots_of": "day",
    "max_confidence": 0.4,
    "spare": "instances",
    "horizon": 4,
    "max_loss": 0.6,
    "alike_by": "ul",
    "ul_candidates": 9,
    "apriori": False,
    "frequent_percent": 2.0,
    "longest_pattern": 4,
    "people_per_part": 50,
    "merge": "r",
    "largest_cluster": 40,
    "rare_locations": True,
    "alike": False,
    "suppression_price": 2.0,
    "split_price": 2.0,
    "max_suppressed": 6.0,
    "max_split": 6.0,
    "max_work": 1_000_000,
    "translation": "minimal",
    "time_step": 15_000,
    "span_step": 180_000,
    "time_tolerance": 30_000,
    "distance": "edr",
    "space_tolerance_m": 75.0,
    "max_radius_m": 501.0,
    "max_radius_edits": 0.4,
    "refinement": False,
    "chunk_size": 100,
    "granularity": 90_000,
    "sigma_m": 150.0,
    "segment_window": 3,
    "segment_threshold": 0.5,
    "improvement": 0.2,
    "edit_factor": 0.5,
    "edit_step_percent": 20,
    "across": "persistent",
    "mixing_l": 3,
    "trash_share": 0.2,
    "trips": "first-last",
    "max_suppressed_trips": 50.0,
    "noise": "laplace",
    "epsilon": 0.5,
    "epsilon_per_day": 2.0,
    "dp_delta": 1e-7,
    "max_flows_per_person": 3,
}
"""A value of each setting of privacy that is not the default; durations in milliseconds."""

NOT_OF_A_RELEASE = {"secret", "secret_file", "demands_file", "taxonomy", "constraints"}
"""A key, what rows carry already, and names of files whose content counts."""

OF_PROFILES = {"attributes", "sensitive_field", "sensitive_values"}
"""Part of the vocabulary of check-ins: see ``test_attributes.py``."""

MODELS = ("w4m", "nwa", "pw4m", "pw4m-tr", "bounded-pw4m")


def as_written(name: str) -> object:
    """A changed value as people write it."""
    durations = ("time_step", "span_step", "time_tolerance", "time_slot", "granularity")
    return f"{CHANGED[name]}ms" if name in durations else CHANGED[name]


def of_fragments(model: str | None = None, *names: str) -> KDeltaPlan:
    """The plan of fragments with some settings of privacy changed."""
    given: dict[str, Any] = {f"fragments__privacy__{name}": as_written(name) for name in names}
    if "translation" in names:
        given["fragments__privacy__across"] = "none"  # raw trajectories link windows
    if model is not None:
        given["fragments__privacy__model"] = model
    plan = feed(Kind.FRAGMENTS, **given).plan
    assert isinstance(plan, KDeltaPlan)
    return plan


def test_every_setting_of_privacy_is_looked_at_here() -> None:
    """
    Whoever adds one says below what it changes.
    """
    assert set(PrivacySettings.model_fields) == CHANGED.keys() | NOT_OF_A_RELEASE | OF_PROFILES
    usual = PrivacySettings()
    assert not [name for name, value in CHANGED.items() if getattr(usual, name) == value]


@pytest.mark.parametrize("name", CHANGED)
def test_every_setting_of_privacy_is_part_of_the_digest(name: str) -> None:
    """
    A window that was sealed under another value would come out differently: the digests differ, it is withheld.
    """
    assert of_fragments(None, name).digest != of_fragments().digest


def test_every_model_has_a_digest_of_its_own() -> None:
    """
    Nothing sealed under one is released by another.
    """
    assert len({of_fragments(model).digest for model in MODELS}) == len(MODELS)


@pytest.mark.parametrize(
    ("model", "personal"),
    [(None, False), ("w4m", False), ("nwa", False), ("pw4m", True), ("pw4m-tr", True), ("bounded-pw4m", True)],
)
def test_the_guarantee_is_personal_where_the_model_is(model: str | None, personal: bool) -> None:
    """
    Only the personalized models give people more than the settings give everybody; the release names the model.
    """
    plan = of_fragments(model)
    assert plan.guarantee == KDelta(k=5, delta_m=500.0, personal=personal, across=Mixing(l=2, horizon=2))
    assert plan.model == (model or "w4m")


def test_a_promise_across_windows_is_part_of_the_guarantee_and_of_the_policy() -> None:
    """
    By default windows mix with the next one; without a promise every window stands alone.
    """
    given: dict[str, Any] = {
        "fragments__privacy__across": "mixing",
        "fragments__privacy__mixing_l": 3,
        "fragments__privacy__horizon": 4,
    }
    mixing, usual, alone = (
        feed(Kind.FRAGMENTS, **changed) for changed in (given, {}, {"fragments__privacy__across": "none"})
    )
    assert isinstance(mixing.plan, KDeltaPlan)
    assert mixing.plan.guarantee.across == Mixing(l=3, horizon=4)
    assert [one.policy.horizon for one in (mixing, usual, alone)] == [4, 2, 1]
    assert mixing.plan.parameters.items() > alone.plan.parameters.items()
    assert usual.plan.parameters.items() > alone.plan.parameters.items()


def test_an_epoch_has_the_windows_of_the_horizon() -> None:
    """
    The length of a window decides where epochs begin.
    """
    given: dict[str, Any] = {"fragments__privacy__across": "persistent", "fragments__privacy__horizon": 4}
    persistent = feed(Kind.FRAGMENTS, **given)
    assert isinstance(persistent.plan, KDeltaPlan)
    window_ms = persistent.policy.size_ms
    assert persistent.plan.guarantee.across == Persistent(horizon=4, window_ms=window_ms, l=2)
    assert persistent.policy.horizon == 4
    assert persistent.plan.parameters["across"] == "persistent"


OF_SETS = {
    "translation": "minimal",
    "time_step_ms": 15_000,
    "max_radius_m": 501.0,
    "trash_share": 0.2,
    "refined": False,
}
OF_W4M: dict[str, Any] = OF_SETS | {
    "span_step_ms": 180_000,
    "distance": "edr",
    "time_tolerance_s": 30.0,
    "space_tolerance_m": 75.0,
    "max_radius_edits": 0.4,
    "chunk_size": 100,
}
EXPECTED: dict[str, TrajectoryAlgorithm] = {
    "w4m": WaitForMe(options=Wait4MeOptions(**OF_W4M)),
    "nwa": NeverWalkAlone(options=NeverWalkAloneOptions(granularity_ms=90_000, **OF_SETS)),  # type: ignore[arg-type]
    "pw4m": WaitForMe(options=Wait4MeOptions(**OF_W4M), personal=True),
    "pw4m-tr": SegmentedWaitForMe(
        options=Wait4MeOptions(**OF_W4M),
        segmentation=SegmentationOptions(sigma_m=150.0, window=3, threshold=0.5),
    ),
    "bounded-pw4m": BoundedWaitForMe(
        options=Wait4MeOptions(**OF_W4M),
        sigma_m=150.0,
        bound=BoundedOptions(improvement=0.2, edit_factor=0.5, step_percent=20),
    ),
}
"""What each model is with all settings changed."""


@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_built_with_all_its_options(model: str) -> None:
    """
    Each setting reaches the option that it is for, in the option's unit.
    """
    names = CHANGED.keys() - {"model", "across"}  # no promise spans windows with minimal translation
    assert of_fragments(model, *names).algorithm == EXPECTED[model]


def options_of(value: object, path: str = "") -> dict[str, object]:
    """All options of a model, those inside others too, by their path."""
    found: dict[str, object] = {}
    for option in fields(value):  # type: ignore[arg-type]
        its, name = getattr(value, option.name), f"{path}{option.name}"
        found |= options_of(its, f"{name}.") if is_dataclass(its) else {name: its}
    return found


@pytest.mark.parametrize("model", MODELS)
def test_every_option_of_a_model_can_be_set(model: str) -> None:
    """
    Nothing that a model can be told stays at its default: but for the margin, which follows from how coordinates are
    rounded, and what names the model.
    """
    usual, changed = options_of(of_fragments(model).algorithm), options_of(EXPECTED[model])
    assert usual.keys() == changed.keys()
    assert {name for name in usual if usual[name] == changed[name]} <= {"options.margin_m", "model", "personal"}


@pytest.mark.parametrize(
    ("window", "step", "span_s"),
    [
        ("15m", "30s", 300),
        ("1h", "30s", 300),
        ("7d", "30s", 300),
        ("7m", "30s", 210),
        ("4m", "30s", 240),
        ("90s", "30s", 90),
        ("1h", "10m", 600),
        ("26m", "1m", 120),
    ],
)
def test_sets_begin_at_the_largest_step_of_up_to_five_minutes(window: str, step: str, span_s: int) -> None:
    """
    It divides the window and is a multiple of the step of time stamps.
    """
    plan = feed(Kind.FRAGMENTS, fragments__privacy__time_step=step, window__size=window).plan
    assert isinstance(plan, KDeltaPlan)
    assert isinstance(plan.algorithm, WaitForMe)
    assert plan.algorithm.options.span_step_ms == 1000 * span_s


USED_BY_ALL = {"translation", "time_step", "max_radius_m", "trash_share", "refinement"}
USED_BY_W4M = USED_BY_ALL | {
    "span_step",
    "distance",
    "space_tolerance_m",
    "time_tolerance",
    "max_radius_edits",
    "chunk_size",
}
USED = {
    "nwa": USED_BY_ALL | {"granularity"},
    "w4m": USED_BY_W4M,
    "pw4m": USED_BY_W4M,
    "pw4m-tr": USED_BY_W4M | {"sigma_m", "segment_window", "segment_threshold"},
    "bounded-pw4m": USED_BY_W4M | {"sigma_m", "improvement", "edit_factor", "edit_step_percent"},
}


@pytest.mark.parametrize("model", MODELS)
def test_a_setting_reaches_the_models_that_it_is_for(model: str) -> None:
    """
    Changed alone, each changes the models that use it, and no other.
    """
    usual = of_fragments(model).algorithm
    used = {name for name in CHANGED.keys() - {"model", "across"} if of_fragments(model, name).algorithm != usual}
    assert used == USED[model]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "values",
    [
        {"max_radius_m": 1e-9, "max_radius_edits": 1e-9, "trash_share": 0, "time_tolerance": "0s", "chunk_size": 10},
        {"max_radius_m": 2e7, "max_radius_edits": 0.999999, "trash_share": 1, "time_step": "15m", "granularity": "15m"},
        {"space_tolerance_m": 0, "sigma_m": 0.01, "segment_window": 1, "segment_threshold": 1e-6},
        {"space_tolerance_m": 1e6, "sigma_m": 1e7, "segment_window": 10**6, "segment_threshold": 1e6},
        {"improvement": 1e-9, "edit_factor": 0, "edit_step_percent": 1},
        {"improvement": 0.999999, "edit_factor": 1000, "edit_step_percent": 99},
    ],
    ids=str,
)
def test_what_the_settings_allow_the_models_take(model: str, values: dict[str, Any]) -> None:
    """
    The ends of all ranges: a worker that has checked its settings does not fail on them afterwards.
    """
    given = {f"fragments.privacy.{name}": value for name, value in values.items()}
    settings = load_settings(given=given | {"fragments.privacy.model": model, "privacy.secret": SECRET}).checked()
    assert Feed(settings, Kind.FRAGMENTS, secret=SECRET).plan.model == model


# Venues


def with_venues(file: Path, content: bytes) -> Feed:
    """Wire check-ins whose locations are the venues of a file."""
    file.write_bytes(content)
    return feed(location__kind="venues", location__venues_file=str(file))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", ", line 1: the header must have each of the columns venue, lat, lon once; venue occurs 0 times"),
        (b"venue,lat,lon\n", ": needs at least one venue"),
        (b"venue,lat\nv1,52\n", ", line 1: the header must have each of the columns venue, lat, lon once; lon "),
        (b"venue,lat,lon,lat\nv1,52,13,5\n", ", line 1: the header must have each of the columns venue, lat, lon once"),
        (b"venue,lat,lon\nv1,52\n", ", line 2: must have 3 values like the header, but has 2"),
        (b"venue,lat,lon\nv1,48,2082,16\n", ", line 2: must have 3 values like the header, but has 4"),
        (b"venue,lat,lon\n\n ,52,13\n", ", line 3: venue is empty: every venue needs a name"),
        (b"venue,lat,lon\nv1,north,13\n", ", line 2: lat must be a number from -90 to 90, degrees"),
        (b"venue,lat,lon\nv0,1,1\nv1,91,13\n", ", line 3: lat must be a number from -90 to 90, degrees"),
        (b"venue,lat,lon\nv1,52,nan\n", ", line 2: lon must be a number from -180 to 180, degrees"),
        (b"venue,lat,lon\nv1,52,13\nv1,53,13\n", ", line 3: the venue is already in line 2: list it once"),
        (
            "venue,lat,lon\nCafé  1,52,13\n\nCafe\u0301 1 ,53,13\n".encode(),
            ", line 4: the venue is already in line 2: list it once",
        ),
        (b"venue,lat,lon\nv0,1,1\nv\xff,52,13\n", " is not UTF-8 (line 3): save it as UTF-8"),
        (b"\xff\xfev\0e\0n\0u\0e\0", " is not UTF-8 (line 1): save it as UTF-8"),
        (b'venue,lat,lon\n"v' + b"x" * 200_000, ", line 2: is not CSV: the line has a quotation mark"),
        (b'venue,lat,lon\nv1,52,13\nv2,"52,13\nv3,52",13\n', ", line 3: is not CSV: the line has a quotation mark"),
        (b"venue,lat,lon\nv\0,52,13\n", ", line 2: is not CSV: the line has a NUL character"),
    ],
)
def test_a_bad_file_of_venues_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    """
    The sentence names the setting, the file, the line, and what is needed.
    """
    with pytest.raises(SettingsError) as fault:
        with_venues(tmp_path / "venues.csv", content)
    assert str(fault.value).startswith(f"location.venues_file {tmp_path / 'venues.csv'}{says}")


@pytest.mark.parametrize(
    "content",
    [
        "venue,lat,lon\nCafé 1,52,13\nb,1,1\n",
        "\ufeffvenue,lat,lon\nCafe\u0301 1,52,13\nb,1,1\n",
        'lon , "lat",venue,name\r\n13,52,"Café  1 ","x, y"\r\n\r\n1,1,b,',
        "venue,lat,lon\rb,1,1\rCafé 1,52,13",
    ],
    ids=["plain", "byte order mark", "quoted", "old Mac"],
)
def test_venues_are_the_same_however_a_program_writes_them(content: str, tmp_path: Path) -> None:
    """
    Byte order marks, line ends, quotes, order of columns, Unicode form and spaces of a name do not matter.
    """
    plan = with_venues(tmp_path / "venues.csv", content.encode()).plan
    assert isinstance(plan, KmPlan)
    for spelling in ("Café 1", "Cafe\u0301 1", " CAFÉ\u00a01"):
        ids, found = plan.locator.locate(np.zeros(1), np.zeros(1), [spelling])
        assert found.all()
        names, lat, lon = plan.locator.describe(ids)
        assert (names, lat.tolist(), lon.tolist()) == (["Café 1"], [52.0], [13.0])


def test_venues_that_differ_in_case_alone_may_both_stand(tmp_path: Path) -> None:
    """
    A record that names neither exactly names none of them.
    """
    plan = with_venues(tmp_path / "venues.csv", b"venue,lat,lon\nCAFE,52,13\ncafe,53,13\n").plan
    assert isinstance(plan, KmPlan)
    ids, found = plan.locator.locate(np.zeros(3), np.zeros(3), ["cafe", "CAFE", "Cafe"])
    assert (ids[:2].tolist(), found.tolist()) == ([1, 0], [True, True, False])


def test_the_content_of_the_file_of_venues_is_part_of_the_vocabulary(tmp_path: Path) -> None:
    """
    Numbers stand for venues by their place in the file: its name may change, its content may not.
    """
    one = with_venues(tmp_path / "a.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,13,y\n")
    assert with_venues(tmp_path / "b.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,13,y\n").vocabulary == one.vocabulary
    assert with_venues(tmp_path / "a.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,14,y\n").vocabulary != one.vocabulary
