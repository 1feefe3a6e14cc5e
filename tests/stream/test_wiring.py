"""Wiring: which settings decide what is released, and the file of venues."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from core.guarantees import KDelta
from core.joining import Joining
from core.plan import PointPlan
from core.records import Kind
from stream.plane import Plane
from stream.settings import SettingsError, load_settings
from stream.wiring import Feed, plane_of, wire

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment


def feed(kind: Kind = Kind.CHECKINS, secret: str = SECRET, **given: object) -> Feed:
    """Wire one kind of feed."""
    settings = load_settings(given={name.replace("__", "."): value for name, value in given.items()})
    return Feed(settings, kind, secret=secret)


def test_the_same_settings_are_wired_alike() -> None:
    """
    Two workers with the same settings and secret agree on vocabulary and digest.
    """
    for kind in Kind:
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
        ("privacy__k", 6),
        ("privacy__m", 1),
        ("privacy__delta_m", 501),
        ("fragments__privacy__model", "pw4m"),
        ("privacy__translation", "minimal"),
        ("privacy__time_step", "15s"),
        ("privacy__time_tolerance", "30s"),
        ("privacy__max_radius_m", 501),
        ("privacy__trash_share", 0.2),
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
    assert feed(Kind.FRAGMENTS).plan.joining == Joining(max_speed_m_s=100.0)  # type: ignore[union-attr]
    given: dict[str, Any] = {
        "trajectories__max_speed_m_s": "none", "trajectories__max_gap": "5m", "trajectories__resample": "1m"
    }  # fmt: skip
    joining = feed(Kind.FRAGMENTS, **given).plan.joining  # type: ignore[union-attr]
    assert joining == Joining(max_gap_ms=300_000, step_ms=60_000)
    assert feed(**given).plan.digest == feed().plan.digest


def test_a_plane_counts_times_in_their_unit() -> None:
    """
    ``files.start`` is an instant; what is added to a time is in ``time.unit``, and 1970 where it is not set.
    """
    given = {"files.metres": "EPSG:2100", "files.start": "1970-01-01T00:00:02.5Z"}
    assert plane_of(load_settings(given=given)) == Plane("EPSG:2100", 2.5)
    assert plane_of(load_settings(given=given | {"time.unit": "ms"})) == Plane("EPSG:2100", 2500.0)
    assert plane_of(load_settings(given={"files.metres": "EPSG:2100"})) == Plane("EPSG:2100", 0.0)
    assert plane_of(load_settings()) is None


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
    feeds = wire(load_settings(given=own))
    assert feeds.keys() == set(Kind)
    assert feeds[Kind.CHECKINS].plan.secret == feed(secret="another" + SECRET).plan.secret
    assert feeds[Kind.FRAGMENTS].plan.secret == feed(Kind.FRAGMENTS).plan.secret
    assert wire(load_settings(given={"topics.fragments": ""}), secret=SECRET).keys() == {Kind.CHECKINS}
    with pytest.raises(SettingsError, match="SHOAL_PRIVACY__SECRET"):
        wire(load_settings())


# Venues


def with_venues(file: Path, content: bytes) -> Feed:
    """Wire check-ins whose locations are the venues of a file."""
    file.write_bytes(content)
    return feed(location__kind="venues", location__venues_file=str(file))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "at least one venue"),
        (b"venue,lat,lon\n", "at least one venue"),
        (b"venue,lat\nv1,52\n", "needs the columns venue, lat and lon"),
        (b"venue,lat,lon\nv1,52\n", "needs the columns venue, lat and lon"),
        (b"venue,lat,lon\nv1,north,13\n", "needs the columns venue, lat and lon"),
        (b"venue,lat,lon\nv1,52,13\nv1,53,13\n", "every name only once"),
        (b"venue,lat,lon\nv1,91,13\n", "lat must be from -90 to 90"),
        (b"venue,lat,lon\nv1,52,nan\n", "lon from -180 to 180"),
        (b"venue,lat,lon\nv\xff,52,13\n", "needs the columns venue, lat and lon"),
        (b'venue,lat,lon\n"v' + b"x" * 200_000, "needs the columns venue, lat and lon"),
    ],
)
def test_a_bad_file_of_venues_is_named(content: bytes, says: str, tmp_path: Path) -> None:
    """
    The sentence names the setting, the file, and what is needed.
    """
    with pytest.raises(SettingsError) as fault:
        with_venues(tmp_path / "venues.csv", content)
    assert str(fault.value).startswith(f"location.venues_file {tmp_path / 'venues.csv'}: ")
    assert says in str(fault.value)


def test_the_content_of_the_file_of_venues_is_part_of_the_vocabulary(tmp_path: Path) -> None:
    """
    Numbers stand for venues by their place in the file: its name may change, its content may not.
    """
    one = with_venues(tmp_path / "a.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,13,y\n")
    assert with_venues(tmp_path / "b.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,13,y\n").vocabulary == one.vocabulary
    assert with_venues(tmp_path / "a.csv", b"venue,lat,lon,name\nv2,52,13,x\nv1,53,14,y\n").vocabulary != one.vocabulary


@pytest.mark.parametrize(("model", "personal"), [(None, False), ("w4m", False), ("pw4m", True)])
def test_pw4m_makes_the_guarantee_personal(model: str | None, personal: bool) -> None:
    """
    Only pw4m lets people demand more than the settings give everybody; the release names the model.
    """
    plan = feed(Kind.FRAGMENTS, fragments__privacy__model=model).plan
    assert isinstance(plan, PointPlan)
    assert plan.guarantee == KDelta(k=5, delta_m=500.0, personal=personal)
    assert plan.model == (model or "w4m")
