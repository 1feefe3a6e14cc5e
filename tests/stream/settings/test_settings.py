"""Settings: one name in three places, values as people write them, and a sentence for everything that is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel

from core.records.record import INPUT_KINDS, Kind
from stream.settings.errors import SettingsError
from stream.settings.kinds import ReleaseOverrideSettings
from stream.settings.load import load_settings
from stream.settings.model import Settings
from stream.settings.secret import new_secret, secret_fault

SECRET = "correct-horse-battery-staple"  # noqa: S105 - of no real deployment
TOPICS = ("checkins", "fragments", "shards", "seals", "anonymized", "windows", "dead_letters")
Write = Callable[[str], Path]
Enter = Callable[[dict[str, str]], Settings]
"""Loads settings that come in one way: by dotted name, each a text."""


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of whoever runs the tests holds no setting."""
    import os  # noqa: PLC0415 - only here

    for name in [name for name in os.environ if name.startswith("SHOAL_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a settings file."""

    def write(text: str) -> Path:
        path = tmp_path / "shoal.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.fixture(params=["file", "environment", "command line"])
def enter(request: pytest.FixtureRequest, write: Write, monkeypatch: pytest.MonkeyPatch) -> Enter:
    """Let settings in by each way, one after the other."""

    def enter(named: dict[str, str]) -> Settings:
        if request.param == "command line":
            return load_settings(given=dict(named))
        if request.param == "environment":
            for name, text in named.items():
                monkeypatch.setenv(f"SHOAL_{name.replace('.', '__')}".upper(), text)
            return load_settings()
        nested: dict[str, Any] = {}
        for name, text in named.items():
            *sections, leaf = name.split(".")
            at = nested
            for section in sections:
                at = at.setdefault(section, {})
            at[leaf] = text
        return load_settings(write(yaml.safe_dump(nested)))

    return enter


def fault(given: dict[str, Any] | None = None, file: Path | None = None) -> str:
    """Return the sentence that refuses some settings."""
    with pytest.raises(SettingsError) as refused:
        load_settings(file, given)
    return str(refused.value)


def complaint(given: dict[str, Any]) -> str:
    """Return the sentence with which a worker refuses settings that are right one by one."""
    with pytest.raises(SettingsError) as refused:
        load_settings(given={"privacy.secret": SECRET} | given).checked()
    return str(refused.value)


def at(settings: Settings, dotted: str) -> object:
    """Look up a setting by its dotted name."""
    found: object = settings
    for part in dotted.split("."):
        found = getattr(found, part)
    return found


STOPS = {"stops.of_fragments": "only"}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ({}, ["checkins", "fragments"]),
        ({"stops.of_fragments": "beside"}, ["checkins", "fragments", "stops"]),
        (STOPS, ["checkins", "stops"]),
        ({"topics.fragments": "", **STOPS}, ["checkins"]),
    ],
)
def test_fragments_are_released_as_trajectories_as_stops_or_as_both(given: dict[str, Any], kinds: list[str]) -> None:
    """
    Where no fragments are read there are no stops.
    """
    assert [kind.value for kind in load_settings(given=given).kinds] == kinds


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            {"stops.location.zero": "accept"},
            "stops.location.zero is accept: stops are found in the points that are read",
        ),
        ({"stops.privacy.demands_file": "own.csv"}, "stops.privacy.demands_file is own.csv: only fragments can"),
        ({"stops.privacy.sensitive_field": "ward"}, "stops.privacy.sensitive_field is set: only check-ins have"),
    ],
)
def test_how_stops_are_read_cannot_be_set_for_them(given: dict[str, Any], says: str) -> None:
    """
    Otherwise one record could be refused for one release and accepted for the other.
    """
    assert says in fault(given)


@pytest.mark.parametrize("setting", ["location.zero", "fragments.location.zero"])
def test_stops_and_fragments_refuse_the_same_positions(setting: str) -> None:
    """
    Whether 0,0 is a place is decided where fragments are read, also if stops have other locations.
    """
    settings = load_settings(given={setting: "accept", "stops.location.cell_m": 900, "privacy.demands_file": "all.csv"})
    stops = settings.for_kind(Kind.STOPS)
    assert (stops.location.zero, stops.location.cell_m, stops.privacy.demands_file) == ("accept", 900, None)


def test_what_is_read_as_stops_is_set_for_fragments() -> None:
    """
    The fields of fragments, in the order of sections; releases have settings of their own.
    """
    settings = load_settings(
        given={"fragments.fields.user": "device", "stops.window.size": "1h", "privacy.k": 7, "stops.privacy.k": 9}
    )
    stops = settings.for_kind(Kind.STOPS)
    assert (stops.fields.user, stops.window.size, stops.privacy.k) == ("device", 3_600_000, 9)
    assert settings.for_kind(Kind.FRAGMENTS).window.size == 900_000


# Where a setting comes from


def test_a_setting_has_one_name_in_file_environment_and_command_line(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    ``privacy.k`` is the same setting as ``k`` below ``privacy:`` and as ``SHOAL_PRIVACY__K``.
    """
    assert load_settings(write("privacy:\n  k: 7\n")).privacy.k == 7
    assert load_settings(given={"privacy.k": 7}).privacy.k == 7
    monkeypatch.setenv("SHOAL_PRIVACY__K", "7")
    assert load_settings().privacy.k == 7


def test_the_environment_wins_over_the_file_and_the_command_line_over_both(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    What is nearer to the person who starts the program wins, setting by setting: neighbours stay as they were.
    """
    file = write("privacy:\n  k: 6\n  m: 3\n  delta_m: 100\n")
    monkeypatch.setenv("SHOAL_PRIVACY__K", "7")
    monkeypatch.setenv("SHOAL_PRIVACY__M", "1")
    privacy = load_settings(file, {"privacy.k": 8}).privacy
    assert (privacy.k, privacy.m, privacy.delta_m) == (8, 1, 100.0)


def test_an_override_is_for_its_kind_alone() -> None:
    """
    ``checkins.privacy.k`` changes check-ins; fragments, and what is not overridden, stay as set for all.
    """
    settings = load_settings(given={"privacy.k": 6, "privacy.m": 3, "checkins.privacy.k": 9})
    checkins, fragments = settings.for_kind(Kind.CHECKINS).privacy, settings.for_kind(Kind.FRAGMENTS).privacy
    assert (checkins.k, checkins.m) == (9, 3)
    assert (fragments.k, fragments.m) == (6, 3)


@pytest.mark.parametrize(
    ("section", "name", "value", "expected"),
    [
        ("location", "cell_m", 250, 250.0),
        ("shard", "kind", "user", "user"),
        ("window", "size", "1h", 3_600_000),
        ("privacy", "delta_m", 99.5, 99.5),
    ],
)
def test_four_sections_can_be_overridden(section: str, name: str, value: object, expected: object) -> None:
    """
    Location, shard, window and privacy may differ for one kind of feed.
    """
    settings = load_settings(given={f"fragments.{section}.{name}": value})
    assert at(settings.for_kind(Kind.FRAGMENTS), f"{section}.{name}") == expected  # type: ignore[arg-type]
    assert at(settings.for_kind(Kind.CHECKINS), f"{section}.{name}") != expected  # type: ignore[arg-type]


def test_overrides_come_from_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    ``SHOAL_CHECKINS__LOCATION__CELLS`` is ``checkins.location.cells``, written as people write it.
    """
    monkeypatch.setenv("SHOAL_CHECKINS__LOCATION__CELLS", "30x40")
    assert load_settings().for_kind(Kind.CHECKINS).location.cells == (30, 40)


# Values as people write them


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("window.size", "500ms", 500),
        ("window.size", "30s", 30_000),
        ("window.size", "15m", 900_000),
        ("window.size", "1h", 3_600_000),
        ("window.size", "7d", 604_800_000),
        ("window.size", "1w", 604_800_000),
        ("window.size", " 2 h ", 7_200_000),
        ("window.allowed_lateness", "0", 0),
        ("limits.message_bytes", "2048", 2048),
        ("limits.message_bytes", "4096B", 4096),
        ("limits.message_bytes", "900KiB", 921_600),
        ("limits.message_bytes", "1MiB", 1_048_576),
        ("kafka.start", "latest", "latest"),
        ("kafka.start", "1970-01-02T00:00:00Z", 86_400_000),
        ("time.earliest", "1970-01-02", 86_400_000),
        ("time.earliest", "1970-01-01T00:00:01Z", 1000),
        ("time.earliest", "1970-01-01T02:00:00+02:00", 0),
        ("location.area", "40.5,-74.3, 41.0,-73.6", (40.5, -74.3, 41.0, -73.6)),
        ("location.cells", "30x40", (30, 40)),
        ("privacy.sensitive_values", "oncology, drug rehab", ("oncology", "drug rehab")),
        ("kafka.bootstrap_servers", "kafka-1:9092,[::1]:9093", "kafka-1:9092,[::1]:9093"),
        ("topics.fragments", "", ""),
        ("trajectories.max_speed_m_s", "none", None),
        ("trajectories.max_speed_m_s", "27.5", 27.5),
        ("trajectories.max_gap", "none", None),
        ("trajectories.max_gap", "10m", 600_000),
        ("trajectories.resample", "15s", 15_000),
        ("privacy.granularity", "5m", 300_000),
        ("privacy.chunk_size", "none", None),
        ("privacy.chunk_size", "250", 250),
        ("privacy.space_tolerance_m", "none", None),
        ("privacy.space_tolerance_m", "7.5", 7.5),
        ("privacy.refinement", "false", False),
        ("files.metres", "EPSG:2100", "EPSG:2100"),
        ("files.start", "1970-01-01T02:00:01+02:00", 1000),
    ],
)
def test_the_same_text_means_the_same_everywhere(
    name: str, text: str, expected: object, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Durations, sizes, instants, areas and grids are text that people write; a variable, a file and the command line
    read them alike.
    """
    section, leaf = name.split(".")
    file = write(yaml.safe_dump({section: {leaf: text}}))
    assert at(load_settings(given={name: text}), name) == expected
    assert at(load_settings(file), name) == expected
    monkeypatch.setenv(f"SHOAL_{section}__{leaf}".upper(), text)
    assert at(load_settings(), name) == expected


def test_yaml_has_its_own_types(write: Write) -> None:
    """
    YAML reads a date, a list and a whole number by itself, and they mean what they say.
    """
    file = write(
        "time: {earliest: 1970-01-01T00:00:01Z, latest: 2030-01-01}\nlimits: {message_bytes: 2048}\n"
        "location: {area: [1, 2, 3, 4], cells: [5, 6]}\nwindow: {allowed_lateness: 0}\n"
    )
    settings = load_settings(file)
    assert (settings.time.earliest, settings.time.latest) == (1000, 1_893_456_000_000)
    assert settings.limits.message_bytes == 2048
    assert (settings.location.area, settings.location.cells) == ((1, 2, 3, 4), (5, 6))
    assert settings.window.allowed_lateness == 0


def test_a_section_or_an_input_topic_without_a_value_is_as_if_empty(write: Write) -> None:
    """
    A heading whose settings are all commented out changes nothing; ``fragments:`` without a name is not read.
    """
    settings = load_settings(write("privacy:\n  # k: 7\ntopics:\n  fragments:\n"))
    assert settings.privacy == Settings().privacy
    assert settings.kinds == (Kind.CHECKINS,)


# Wrong values


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("privacy.k", 1, "greater than or equal to 2"),
        ("privacy.k", "many", "valid integer"),
        ("privacy.k", 5.5, "valid integer"),
        ("privacy.m", 0, "greater than or equal to 1"),
        ("privacy.m", 11, "less than or equal to 10"),
        ("privacy.delta_m", 1, "greater than 1"),
        ("privacy.delta_m", float("nan"), "less than or equal to"),
        ("privacy.delta_m", float("inf"), "less than or equal to"),
        ("privacy.max_radius_m", float("inf"), "less than or equal to 20000000"),
        ("privacy.trash_share", 1.5, "less than or equal to 1"),
        (
            "privacy.model",
            "magic",
            "'seqanon', 'sd-seqanon', 'u-seqanon', 'least-loss', 'auto', 'lm-anon', 'zga', 'sga', 'lkc', 'p2ka', "
            "'rum-bound', 'tum-bound', 'sets-apriori', 'sets-lra', 'sets-vpa', 'coat', 'pcta', 'disassociation', "
            "'flows', 'w4m', 'nwa', 'pw4m', 'pw4m-tr' or 'bounded-pw4m'",
        ),
        ("privacy.translation", "none", "'exchangeable' or 'minimal'"),
        ("privacy.distance", "euclidean", "'lstd' or 'edr'"),
        ("privacy.space_tolerance_m", -1, "greater than or equal to 0"),
        ("privacy.space_tolerance_m", "wide", "valid number"),
        ("privacy.max_radius_edits", 0, "greater than 0"),
        ("privacy.max_radius_edits", 1, "less than 1"),
        ("privacy.refinement", "perhaps", "valid boolean"),
        ("privacy.chunk_size", 1, "greater than or equal to 2"),
        ("privacy.chunk_size", "few", "valid integer"),
        ("privacy.granularity", "0s", "longer than zero"),
        ("privacy.granularity", 60, "a duration such as 500ms"),
        ("privacy.sigma_m", 0, "greater than or equal to 0.01"),
        ("privacy.sigma_m", float("nan"), "less than or equal to"),
        ("privacy.segment_window", 0, "greater than or equal to 1"),
        ("privacy.segment_threshold", 0, "greater than or equal to"),
        ("privacy.segment_threshold", float("inf"), "less than or equal to"),
        ("privacy.improvement", 0, "greater than 0"),
        ("privacy.improvement", 1, "less than 1"),
        ("privacy.edit_factor", -0.1, "greater than or equal to 0"),
        ("privacy.edit_factor", float("inf"), "less than or equal to 1000"),
        ("privacy.edit_step_percent", 0, "greater than or equal to 1"),
        ("privacy.edit_step_percent", 100, "less than or equal to 99"),
        ("window.size", "15 minutes", "15m"),
        ("window.size", 900, "a duration such as 500ms"),
        ("window.size", "-5m", "a duration such as 500ms"),
        ("window.size", "0s", "longer than zero"),
        ("window.size", "99999999999d", "at most 36500d"),
        ("window.allowed_lateness", False, "a duration such as 500ms"),
        ("limits.message_bytes", "1MB", "900KiB or 1MiB"),
        ("limits.message_bytes", 10, "greater than or equal to 1024"),
        ("limits.message_bytes", True, "900KiB or 1MiB"),
        ("time.earliest", "yesterday", "2000-01-01T00:00:00Z"),
        ("time.unit", "h", "'s', 'ms', 'us' or 'ns'"),
        ("time.format", "%Q", "it has %Q, which strptime does not read: allowed are %%"),
        ("time.format", "%d/%m/%Y %H:%M:%S %d", "it has %d twice"),
        ("time.format", "%Y-%m-%d", "a whole date and an hour"),
        ("location.area", "40.5,-74.3,41.0", "south, west, north, east"),
        ("location.cells", "20", "20x20"),
        ("location.cells", "0x20", "greater than or equal to 1"),
        ("location.cells", "20x200000", "less than or equal to 100000"),
        ("location.cell_m", float("nan"), "less than or equal to"),
        ("location.kind", "hexagons", "'grid', 'h3', 'venues', 'regions' or 'pois'"),
        ("location.h3_resolution", 16, "less than or equal to 15"),
        ("shard.kind", "city", "'single', 'region' or 'user'"),
        ("kafka.bootstrap_servers", "kafka", "kafka-1:9092"),
        ("kafka.bootstrap_servers", "kafka:port", "kafka-1:9092"),
        *(
            ("kafka.start", value, "it must be earliest, latest, or an instant such as 2025-10-09T00:00:00Z")
            for value in ("soon", "1969-12-31", "end")
        ),
        ("kafka.session_timeout", "999ms", "1s to 24d"),
        ("kafka.session_timeout", "25d", "1s to 24d"),  # 32 bits of a request hold 24 days
        ("kafka.partitions", 0, "greater than or equal to 1"),
        ("kafka.replication_factor", 0, "greater than or equal to 1"),
        *(
            ("kafka.group", group, "it must be 1 to 200 characters, none of them a control character")
            for group in (" shoal", "shoal ", "sho\nal", "sho\tal", "\x7f", "g" * 201)
        ),
        *(
            (f"topics.{topic}", name, "it must be 1 to 249 of the characters A-Z, a-z, 0-9, '.', '_' and '-'")
            for topic in TOPICS
            for name in (".", "..", "a b", "a/b", "a:b", "a,b c", "städte", "a\n", "t" * 250)
        ),
        *(
            (f"topics.{topic}", name, "it must be another name: this topic is the brokers' own")
            for topic in TOPICS
            for name in ("__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state")
        ),
        ("web.port", 70_000, "less than or equal to 65535"),
        ("metrics.port", 0, "greater than or equal to 1"),
        ("web.page", "perhaps", "boolean"),
        ("web.tile_url", "tiles", "https://tiles.example/{z}/{x}/{y}.png"),
        ("web.tile_url", "https://tiles.example/{z}/{x}.png", "https://tiles.example/{z}/{x}/{y}.png"),
        ("web.tile_url", "https://a.example/{z}/{x}/{y}; script-src *", "https://tiles.example/{z}/{x}/{y}.png"),
        ("web.tile_url", "https://user@a.example/{z}/{x}/{y}", "https://tiles.example/{z}/{x}/{y}.png"),
        ("web.tile_url", "https://*/{z}/{x}/{y}", "https://tiles.example/{z}/{x}/{y}.png"),
        ("trajectories.max_speed_m_s", 0, "greater than 0"),
        ("trajectories.max_speed_m_s", float("nan"), "less than or equal to"),
        ("trajectories.max_speed_m_s", "fast", "valid number"),
        ("trajectories.max_gap", "0s", "longer than zero"),
        ("trajectories.max_gap", 600, "a duration such as 500ms"),
        ("files.metres", "metres", "a projection in metres such as EPSG:2100"),
        ("files.metres", "EPSG:4326", "a projection in metres such as EPSG:2100"),
        ("files.metres", "EPSG:2225", "a projection in metres such as EPSG:2100"),  # feet
        ("files.start", "noon", "2000-01-01T00:00:00Z"),
        ("logs.level", "loud", "'debug'"),
        ("privacy.sensitive_values", 7, "it must be a list of texts"),
        ("privacy.sensitive_field", "a\x01b", "match pattern"),
        ("privacy.attributes.age", 7, "valid string"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(name: str, value: object, allowed: str) -> None:
    """
    The sentence names the setting, the value that was found, and what is allowed.
    """
    sentence = fault({name: value})
    assert sentence.startswith(name)
    assert allowed in sentence
    assert name == "location.cells" or repr(value) in sentence


@pytest.mark.parametrize("more", [{}, {"privacy.demands_file": "all.csv"}, {"topics.checkins": ""}])
def test_check_ins_have_no_demands_of_users(more: dict[str, Any]) -> None:
    """
    A file of demands for check-ins alone would do nothing; the sentence says where it belongs.
    """
    sentence = fault({"checkins.privacy.demands_file": "own.csv"} | more)
    assert sentence.startswith("checkins.privacy.demands_file is own.csv: only fragments can")
    assert "set privacy.demands_file or fragments.privacy.demands_file" in sentence


def test_demands_of_users_may_be_set_for_all_or_for_fragments() -> None:
    """
    Set for all they are for fragments, too, which may have a file of their own.
    """
    for given, expected in (
        ({"privacy.demands_file": "all.csv"}, "all.csv"),
        ({"privacy.demands_file": "all.csv", "fragments.privacy.demands_file": "own.csv"}, "own.csv"),
        ({"fragments.privacy.demands_file": "own.csv"}, "own.csv"),
    ):
        settings = load_settings(given=given | {"privacy.secret": SECRET}).checked()
        assert settings.for_kind(Kind.FRAGMENTS).privacy.demands_file == Path(expected)


@pytest.mark.parametrize(
    "given", [{"attributes.age": "0..9"}, {"sensitive_field": "ward"}, {"sensitive_values": "a,b"}], ids=str
)
def test_fragments_tell_nothing_of_a_person(given: dict[str, str]) -> None:
    """
    Attributes for fragments alone would do nothing; for all, they are those of check-ins.
    """
    sentence = fault({f"fragments.privacy.{name}": value for name, value in given.items()})
    name = next(iter(given)).partition(".")[0]
    assert sentence.startswith(f"fragments.privacy.{name} is set: only check-ins")
    assert f"set privacy.{name} or checkins.privacy.{name}" in sentence


def test_attributes_may_come_from_everywhere(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    One by one in file, variable and command line, or all of them as JSON in a variable, which keeps capital letters.
    """
    file = write("privacy:\n  attributes:\n    age: 0..120\n    the plan: plans.csv\n  sensitive_values: [a, 'b, c']\n")
    privacy = load_settings(file).privacy
    assert privacy.attributes == {"age": "0..120", "the plan": "plans.csv"}
    assert privacy.sensitive_values == ("a", "b, c")
    assert load_settings(given={"privacy.attributes.age": "0..9"}).privacy.attributes == {"age": "0..9"}
    monkeypatch.setenv("SHOAL_PRIVACY__ATTRIBUTES__AGE", "0..9")
    assert load_settings().privacy.attributes == {"age": "0..9"}
    monkeypatch.setenv("SHOAL_PRIVACY__ATTRIBUTES", '{"Plan": "p.csv"}')
    assert load_settings().privacy.attributes == {"Plan": "p.csv"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"privacy.sensitive_field": "ward"}, "privacy.sensitive_values is empty: privacy.sensitive_field, 'ward'"),
        ({"privacy.sensitive_values": "a"}, "privacy.sensitive_field is not set"),
        ({"privacy.sensitive_field": "w", "privacy.sensitive_values": "a,b,a"}, "has 3 values, of which 2 differ"),
        (
            {"privacy.sensitive_field": "w", "privacy.sensitive_values": "a", "privacy.attributes.w": "0..9"},
            "privacy.sensitive_field is 'w': it must not be one of privacy.attributes",
        ),
        ({"privacy.attributes.lat": "0..90"}, "privacy.attributes has 'lat', which is fields.lat"),
        (
            {"privacy.attributes.id": "0..90", "fields.venue": "id"},
            "privacy.attributes has 'id', which is fields.venue",
        ),
        (
            {"privacy.sensitive_field": "category", "privacy.sensitive_values": "a"},
            "privacy.sensitive_field has 'category', which is fields.category: name another field or, if "
            "fields.category is not needed",
        ),
    ],
)
def test_attributes_that_contradict_one_another_are_refused(given: dict[str, Any], says: str) -> None:
    """
    Every field is one thing, and what is sensitive is said.
    """
    assert says in complaint(given)


def test_names_of_fragments_are_free_for_attributes() -> None:
    """
    A check-in has no ``k``, and a field that was moved away leaves its name.
    """
    given = {"privacy.attributes.k": "0..9", "privacy.attributes.category": "0..9", "fields.category": "unused"}
    load_settings(given=given | {"privacy.secret": SECRET}).checked()


def test_every_wrong_value_is_named_at_once() -> None:
    """
    Who made three mistakes reads about all of them, one to a line.
    """
    lines = fault({"privacy.k": 0, "privacy.m": 0, "window.size": "x"}).splitlines()
    assert sorted(line.split()[0] for line in lines) == ["privacy.k", "privacy.m", "window.size"]


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"privacy.secret": ["hunter2-hunter2"]}, "privacy.secret"),
        ({"kafka.sasl_password": {"x": "hunter2-hunter2"}}, "kafka.sasl_password"),
        ({"kafka.ssl_key_password": ["hunter2-hunter2"]}, "kafka.ssl_key_password"),
        ({"kafka.oauth_client_secret": ["hunter2-hunter2"]}, "kafka.oauth_client_secret"),
        ({"privacy": "hunter2-hunter2"}, "privacy"),
        ({"checkins.privacy": "hunter2-hunter2"}, "checkins.privacy"),
        ({"checkins.privacy.secret": ["hunter2-hunter2"]}, "checkins.privacy.secret"),
        ({"privacy.sekret": "hunter2-hunter2"}, "privacy.sekret"),
    ],
)
def test_no_sentence_shows_a_secret(given: dict[str, Any], name: str) -> None:
    """
    A secret is not repeated, of whatever wrong type it is and in whatever wrong place it stands.
    """
    sentence = fault(given)
    assert sentence.startswith(name)
    assert "hunter2" not in sentence


@pytest.mark.parametrize("name", ["privasy.k", "privacy.kk", "checkins.privacy.kk", "checkins.kafka.group", "k"])
def test_an_unknown_setting_is_refused(name: str) -> None:
    """
    A misspelt setting would silently leave the default in force.
    """
    assert "is not a setting" in fault({name: 5})


@pytest.mark.parametrize(
    "variable", ["SHOAL_X__Y", "SHOAL_PRIVACY__KK", "SHOAL_CHECKINS__KAFKA__GROUP", "SHOAL_CHECKINS__PRIVACY__KK"]
)
def test_an_unknown_variable_is_refused(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A variable with a section is meant as a setting, so it has to be one.
    """
    monkeypatch.setenv(variable, "5")
    assert "is not a setting" in fault()


def test_variables_that_kubernetes_adds_are_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A service named shoal puts variables with our prefix into every pod; none of them has a section.
    """
    for name in ("SHOAL_SERVICE_HOST", "SHOAL_PORT", "SHOAL_PORT_6066_TCP", "SHOAL_SERVICE_PORT_WEB"):
        monkeypatch.setenv(name, "tcp://10.0.0.1:6066")
    assert load_settings().masked() == Settings().masked()


def test_a_variable_for_a_whole_section_is_refused_in_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    ``SHOAL_PRIVACY=5`` is answered by how to name one setting, and does not repeat the value.
    """
    monkeypatch.setenv("SHOAL_PRIVACY", "hunter2-hunter2")
    sentence = fault()
    assert "SHOAL_PRIVACY__K" in sentence
    assert "hunter2" not in sentence


def test_a_section_and_one_of_its_settings_exclude_each_other() -> None:
    """
    ``--set privacy=5 --set privacy.k=5`` contradicts itself.
    """
    assert "privacy" in fault({"privacy": 5, "privacy.k": 5})


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"- a\n", "must hold sections"),
        (b"5\n", "must hold sections"),
        (b"1: {k: 5}\n", "must hold sections"),
        (b"\xff\xfe\x81", "is not text in UTF-8: save it as UTF-8"),
    ],
)
def test_a_file_that_holds_no_settings_is_refused(content: bytes, says: str, tmp_path: Path) -> None:
    """
    The sentence names the file and what is wrong with it.
    """
    file = tmp_path / "broken.yaml"
    file.write_bytes(content)
    assert fault(file=file).startswith(f"{file}: {says}")


@pytest.mark.parametrize(
    ("below", "line", "why"),
    [
        ("  k: {a: 5\n", 4, "expected ',' or '}', but got '<stream end>'"),
        ("\tk: 5\n", 3, r"found character '\t' that cannot start any token"),
        ("  k: 5\n m: 2\n", 4, ""),
        ("  k: 5: 6\n", 3, "mapping values are not allowed here"),
        ("  k: 5\n  m: @two\n", 4, "found character '@' that cannot start any token"),
        ("  m: [1\n  k: 5\n", 4, "expected ',' or ']', but got ':'"),
        ('  k: "\\q"\n', 3, "found unknown escape character '…'"),
        ("  k: *swordfish\n", 3, "found undefined alias '…'"),
        ("  k: !swordfish 5\n", 3, "could not determine a constructor for the tag '…'"),
        ("  k: 5\n  m: 2025-13-45\n", 4, "found an impossible date or number"),
        ("  k: !!int swordfish\n", 3, "found an impossible date or number"),
        ("  k: \x01\n", 3, "found a control character"),
    ],
)
def test_a_file_that_is_not_yaml_is_refused_with_the_line(below: str, line: int, why: str, tmp_path: Path) -> None:
    """
    The sentence names the file and the line, says what is wrong and what to do, and shows no value of the file.
    """
    file = tmp_path / "broken.yaml"
    file.write_text(f"# a comment\nprivacy:\n{below}", encoding="utf-8")
    sentence = fault(file=file)
    assert sentence.startswith(f"{file}, line {line}: is not YAML ({why}")
    assert sentence.endswith("): check the indentation and the quotation marks")
    assert "swordfish" not in sentence


@pytest.mark.parametrize(
    "below",
    [
        "secret: *swordfish",
        "secret: !swordfish x",
        "secret: !<swordfish> x",
        "secret: swordfish: x",
        "secret: [swordfish",
        "secret: 'swordfish",
        'secret: "swordfish',
        'secret: "swordfish" x',
        "secret: &swordfish x\n  k: &swordfish 5",
        "secret: !!int swordfish",
        "secret: !!float swordfish",
        "secret: !!timestamp swordfish",
        "secret: !!binary swordfish\u00e9",
        "secret: |swordfish\n  k: 5",
        "secret: @swordfish",
        "secret: swordfish\n k: 5",
        "secret: \x01swordfish",
        "swordfish\n  k: 5",
        "? [swordfish]\n  : 5",
        "k: 5\n%swordfish 1.0\n---",
    ],
)
def test_no_word_of_a_file_that_is_not_yaml_is_shown(below: str, tmp_path: Path) -> None:
    """
    Whatever is wrong with the file: any word in it may be a secret.
    """
    file = tmp_path / "broken.yaml"
    file.write_text(f"privacy:\n  {below}\n", encoding="utf-8")
    assert "swordfish" not in fault(file=file)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """
    The sentence says why, and what to look at.
    """
    file = tmp_path / "nowhere.yaml"
    assert fault(file=file) == (
        f"{file}: cannot be read (No such file or directory): check the path, and that this user may read the file (in "
        "a container or Pod: that it is mounted)"
    )


# Settings that contradict one another


def test_the_accepted_time_must_not_be_empty() -> None:
    """
    An earliest time at or after the latest would reject every record.
    """
    sentence = fault({"time.earliest": "2020-01-01", "time.latest": "2020-01-01"})
    assert sentence == "time.earliest is 2020-01-01T00:00:00Z: it must be before time.latest, 2020-01-01T00:00:00Z"


@pytest.mark.parametrize(
    ("form", "needs_zone"),
    [("%c", True), ("%c %z", False), ("%c %Z", False), ("%c %%z", True), ("%c %%Z", True), ("%c %%%z", False)],
)
def test_a_form_of_times_without_a_zone_needs_one(form: str, needs_zone: bool) -> None:
    """
    An offset or the name of UTC in each time is enough.
    """
    if needs_zone:
        assert "without %z or %Z: set time.zone" in fault({"time.format": form})
    else:
        assert load_settings(None, {"time.format": form}).time.format == form


def test_two_fields_cannot_share_a_name() -> None:
    """
    One name of the feed cannot be read as two of our fields.
    """
    assert "fields.user and fields.venue are both 'id'" in fault({"fields.user": "id", "fields.venue": "id"})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"topics.checkins": "", "topics.fragments": ""}, "at least one must be named"),
        ({"topics.anonymized": "checkins"}, "topics.checkins and topics.anonymized are both 'checkins'"),
        ({"topics.fragments": "checkins"}, "topics.checkins and topics.fragments are both 'checkins'"),
        ({"limits.points_per_fragment": 20_000}, "takes 960000 bytes: it must fit in ingest.chunk_bytes, 512KiB"),
        ({"ingest.chunk_bytes": "2MiB"}, "at most limits.message_bytes, 1MiB"),
        (
            {"privacy.model": "seqanon"},
            "fragments allow w4m or nwa or pw4m or pw4m-tr or bounded-pw4m "
            "(set fragments.privacy.model for one feed alone)",
        ),
        *(
            ({"privacy.model": model}, f"privacy.model is {model}: checkins allow seqanon or sd-seqanon or u-seqanon")
            for model in ("w4m", "nwa", "pw4m", "pw4m-tr", "bounded-pw4m")
        ),
        ({"checkins.privacy.model": "u-seqanon"}, "privacy.constraints is not set"),
        ({"privacy.taxonomy": "tree.csv"}, "privacy.taxonomy is a file: this needs location.kind venues"),
        ({"trajectories.resample": "7s"}, "trajectories.resample is 7s: it must divide window.size, 15m"),
        ({"trajectories.resample": "1ms"}, "makes up to 900000 points of one person in a window: limits.points_per"),
        ({"privacy.time_step": "1h"}, "privacy.time_step is 1h: it must divide window.size, 15m"),
        (
            {"window.hop": "5m"},
            "window.hop is 5m and window.size is 15m: overlapping windows would release one visit several times, and "
            "the guarantee covers one release alone: leave window.hop out",
        ),
        (
            {"fragments.privacy.model": "nwa", "privacy.granularity": "45s"},
            "privacy.granularity is 45s: it must be a multiple of privacy.time_step, 30s",
        ),
        (
            {"fragments.privacy.model": "nwa", "privacy.granularity": "4m"},
            "privacy.granularity is 4m: it must divide window.size, 15m",
        ),
        (
            {"shard.finest_resolution": 7},
            "shard.finest_resolution is set and shard.kind is single: only the windows of a region are divided",
        ),
        (
            {"shard.kind": "region", "shard.finest_resolution": 4},
            "shard.finest_resolution is 4 and shard.h3_resolution is 5: the finest cells must not be larger",
        ),
        (
            {"shard.kind": "region", "shard.finest_resolution": 8, "privacy.delta_m": 600},
            "shard.finest_resolution is 8, with edges of 531 m, and privacy.delta_m is 600: the name of a cell would",
        ),
        (
            {"shard.kind": "region", "shard.finest_resolution": 8},
            "shard.finest_resolution is set and privacy.across is mixing: the people of a region with few people",
        ),
        ({"privacy.mixing_l": 6}, "privacy.mixing_l is 6: it must be at most privacy.k, 5"),
        ({"privacy.horizon": 1}, "privacy.across is mixing and privacy.horizon is 1: a promise across windows needs"),
        ({"privacy.translation": "minimal"}, "privacy.across is mixing: with privacy.translation minimal"),
        ({"privacy.span_step": "45s"}, "privacy.span_step is 45s: it must be a multiple of privacy.time_step, 30s"),
        ({"privacy.span_step": "4m"}, "privacy.span_step is 4m: it must divide window.size, 15m"),
        (
            {"privacy.chunk_size": 19, "privacy.k": 10},
            "privacy.chunk_size is 19: it must be at least twice privacy.k, 10, or none",
        ),
        ({"privacy.k": 501}, "privacy.chunk_size is 1000: it must be at least twice privacy.k, 501, or none"),
        ({"location.kind": "venues"}, "location.venues_file is not set"),
        (
            {"stops.location.kind": "venues", **STOPS},
            "location.kind is venues: fragments name no venue where people stop",
        ),
        ({"stops.shard.kind": "region", **STOPS}, "shard.kind is region: somebody who stops near a border would be in"),
        ({"stops.privacy.model": "pw4m", **STOPS}, "privacy.model is pw4m: stops allow seqanon"),
        (
            {"stops.privacy.model": "rum-bound", "privacy.attributes.age": "0..120", **STOPS},
            "privacy.model is rum-bound, which releases attributes of people: fragments have none",
        ),
        ({"location.kind": "h3", "location.area": "1,2,3,4"}, "location.area is set"),
    ],
)
def test_a_worker_refuses_settings_that_contradict_one_another(given: dict[str, Any], says: str) -> None:
    """
    What no single setting shows is checked before a worker starts.
    """
    assert says in complaint(given)


@pytest.mark.parametrize(
    "given",
    [
        {"window.hop": "15m"},
        {"window.hop": "none", "window.max_lead": "none"},
        {"fragments.privacy.model": "nwa", "privacy.granularity": "90s"},
        {"fragments.privacy.model": "nwa", "privacy.granularity": "15m", "privacy.time_step": "5m"},
        *({"fragments.privacy.model": model, "privacy.granularity": "7s"} for model in ("w4m", "pw4m-tr")),
        {"shard.kind": "region", "shard.finest_resolution": 5, "privacy.across": "none"},
        {"shard.kind": "region", "shard.finest_resolution": 8, "privacy.delta_m": 500, "privacy.across": "none"},
        {"privacy.mixing_l": 6, "privacy.across": "none"},
        {"privacy.horizon": 1, "privacy.across": "none"},
        {"checkins.privacy.horizon": 1},
        {"privacy.translation": "minimal", "privacy.across": "none"},
        {"shard.kind": "region", "checkins.shard.finest_resolution": 12},
        {"privacy.chunk_size": 20, "privacy.k": 10},
        {"privacy.chunk_size": "none", "privacy.k": 5000},
        {"checkins.privacy.k": 5000},
        {"fragments.privacy.model": "nwa", "privacy.k": 501},
    ],
    ids=str,
)
def test_what_a_model_does_not_use_contradicts_nothing(given: dict[str, Any]) -> None:
    """
    Intervals matter to nwa alone, and chunks only where fragments are clustered in chunks, which nwa never does.
    """
    assert load_settings(given=given | {"privacy.secret": SECRET}).checked()


def test_a_fragment_that_fits_is_accepted() -> None:
    """
    48 bytes a point: the largest fragment may fill a message of ingest to the last byte.
    """
    fits = {"limits.points_per_fragment": 1024 * 1024 // 48, "ingest.chunk_bytes": "1MiB", "privacy.secret": SECRET}
    assert load_settings(given=fits).checked()
    assert "points_per_fragment" in complaint(fits | {"limits.points_per_fragment": 1024 * 1024 // 48 + 1})


def test_the_size_of_fragments_matters_only_where_they_are_read() -> None:
    """
    A service of check-ins alone may have any limit on points.
    """
    given = {"topics.fragments": "", "limits.points_per_fragment": 10**6, "privacy.secret": SECRET}
    assert load_settings(given=given).checked()


def test_a_model_may_be_set_for_one_kind_alone() -> None:
    """
    Each kind allows its own model, by name too.
    """
    given = {"checkins.privacy.model": "seqanon", "fragments.privacy.model": "w4m", "privacy.secret": SECRET}
    assert load_settings(given=given).checked()


def test_a_worker_needs_a_secret() -> None:
    """
    There is no default secret; the sentence says how to set one.
    """
    with pytest.raises(SettingsError, match="SHOAL_PRIVACY__SECRET to at least 16 random characters"):
        Settings().checked()


def test_a_secret_for_one_kind_is_not_one_for_the_other() -> None:
    """
    Every kind of feed that is read needs a secret.
    """
    with pytest.raises(SettingsError, match=r"privacy\.secret is not set"):
        load_settings(given={"checkins.privacy.secret": SECRET}).checked()
    only = load_settings(given={"checkins.privacy.secret": SECRET, "topics.fragments": ""})
    assert only.checked() is only


# Ports


@pytest.mark.parametrize(
    ("metrics", "web"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("10.0.0.1", "::"), ("localhost", "127.0.0.1")],  # noqa: S104
)
def test_metrics_and_page_have_a_port_each(metrics: str, web: str) -> None:
    """
    One port at one host, or at every host, cannot be both.
    """
    told = complaint({"metrics.host": metrics, "web.host": web, "metrics.port": 7000, "web.port": 7000})
    assert told.startswith(f"metrics.port and web.port are both 7000 (at {metrics} and {web})")


def test_one_port_at_two_hosts_is_two_ports() -> None:
    """
    Two addresses of a machine may share a number.
    """
    given = {"metrics.host": "10.0.0.1", "web.host": "127.0.0.1", "metrics.port": 7000, "web.port": 7000}
    load_settings(given=given | {"privacy.secret": SECRET}).checked()


@pytest.mark.parametrize(
    ("host", "url"),
    [
        ("127.0.0.1", "http://127.0.0.1:6067"),
        ("0.0.0.0", "http://127.0.0.1:6067"),  # noqa: S104
        ("::", "http://[::1]:6067"),
        ("fd00::7", "http://[fd00::7]:6067"),
        ("worker.example", "http://worker.example:6067"),
    ],
)
def test_where_a_worker_is_asked_from_its_own_machine(host: str, url: str) -> None:
    """
    Who listens everywhere is asked at loopback.
    """
    assert load_settings(given={"metrics.host": host}).metrics.url == url


# The secret


@pytest.mark.parametrize("name", ["privacy.secret", "checkins.privacy.secret", "fragments.privacy.secret"])
@pytest.mark.parametrize(
    ("secret", "wrong"),
    [
        ("", "is empty"),
        (" ", "is only white space"),
        ("\t\n" * 16, "is only white space"),
        ("\u2003" * 16, "is only white space"),
        ("hunter2", "has 7 characters"),
        ("  hunter2-hunter  \n", "has 14 characters"),
        ("x" * 64, "has 1 different character"),
        ("01" * 32, "has 2 different characters"),
        ("abcd" * 4, "has 4 different characters"),
    ],
)
def test_what_can_be_guessed_is_no_secret(enter: Enter, name: str, secret: str, wrong: str) -> None:
    """
    Whichever way it comes in and whichever feed it is for: at least 16 characters beside white space at the ends, at
    least 5 of them different. The sentence says what was found, what is allowed and how to make one, not the secret.
    """
    with pytest.raises(SettingsError) as refused:
        enter({name: secret})
    assert str(refused.value) == (
        f"{name} {wrong}: it must have at least 16 characters, at least 5 of them different; "
        "`shoal secret` prints a new one"
    )


@pytest.mark.parametrize("secret", ["abcde" * 3 + "a", "0123456789abcdef", " spaces are characters ", f"{SECRET}\n"])
def test_a_secret_that_is_long_enough(enter: Enter, secret: str) -> None:
    """
    Sixteen characters of which five differ are enough, and the secret is taken as it stands, line break and all.
    """
    found = enter({"privacy.secret": secret}).checked().privacy.secret
    assert found is not None
    assert found.get_secret_value() == secret


@pytest.mark.parametrize("secret", ["\x00" * 32, "*" * 10])
def test_what_stands_for_nothing_is_no_secret(secret: str) -> None:
    """
    Zero bytes, and what is shown in place of a secret: read from a file the latter leaves it unset.
    """
    assert fault({"privacy.secret": secret}).startswith("privacy.secret has 1")


def test_a_secret_is_made_by_chance() -> None:
    """
    Each is another, is one by the rule, and has 256 bits.
    """
    made = {new_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(secret_fault(one) is None and len(bytes.fromhex(one)) == 32 for one in made)


# Empty texts

MAY_BE_EMPTY = {"topics.checkins", "topics.fragments", "input.records"}
"""Settings that say something where they are empty: that an input is not read, that a message is a record."""


def all_settings() -> list[str]:
    """Return the dotted name of every setting."""
    sections = {name: field.annotation for name, field in Settings.model_fields.items()}
    return [
        f"{section}.{name}"
        for section, model in sections.items()
        if isinstance(model, type) and issubclass(model, BaseModel) and section not in INPUT_KINDS
        for name in model.model_fields
        if section != "stops" or name not in ReleaseOverrideSettings.model_fields
    ]


@pytest.mark.parametrize(("text", "found"), [("", "is empty"), ("  ", "is only white space")])
def test_an_empty_text_is_a_mistake(enter: Enter, text: str, found: str) -> None:
    """
    An empty variable is nearly always one that is missing: it never means what it does not say, such as the folder
    ``.``, no sensitive values, or a group without a name. Only an input topic may be empty: then it is not read.
    """
    names = [name for name in all_settings() if name not in MAY_BE_EMPTY and name != "privacy.secret"]
    names[names.index("privacy.attributes")] = "privacy.attributes.age"
    with pytest.raises(SettingsError) as refused:
        enter(dict.fromkeys(names, text))
    assert sorted(str(refused.value).splitlines()) == sorted(
        f"{name} {found}: leave it out, or give it a value" for name in names
    )


@pytest.mark.parametrize("name", ["privacy.attributes", "checkins.privacy.default_category", "fragments.window.size"])
def test_an_empty_text_is_a_mistake_in_maps_and_overrides(enter: Enter, name: str) -> None:
    """
    What is set for one kind of feed, and what holds names and values, are settings like any other.
    """
    with pytest.raises(SettingsError, match=f"{name} is empty: leave it out, or give it a value"):
        enter({name: ""})


def test_an_input_topic_that_is_empty_is_not_read(enter: Enter) -> None:
    """
    The empty name has a meaning there, and a blank one has none.
    """
    assert enter({"topics.fragments": ""}).kinds == (Kind.CHECKINS,)
    with pytest.raises(SettingsError, match=r"topics\.checkins is ' ': it must be 1 to 249"):
        enter({"topics.checkins": " "})


@pytest.mark.parametrize("name", ["privacy.sensitive_values", "privacy.sensitive_locations"])
def test_a_list_has_no_empty_texts(name: str, write: Write) -> None:
    """
    A list that is written as one may be empty; a text between two commas may not.
    """
    section, leaf = name.split(".")
    assert at(load_settings(write(f"{section}: {{{leaf}: []}}")), name) == ()
    for value in ("a,,b", ["a", "", "b"], ["a", " ", "b"]):
        assert fault({name: value}) == (
            f"{name} has 3 texts, of which 1 are empty: leave those out, or give them a value"
        )


# What a broker would refuse


@pytest.mark.parametrize("name", ["t", "A.b_c-9", "t" * 249, "...", "_", "__ours"])
def test_topics_that_kafka_takes(enter: Enter, name: str) -> None:
    """
    Letters, digits, dots, underscores and dashes, up to 249 of them.
    """
    assert enter({"topics.seals": name}).topics.seals == name


@pytest.mark.parametrize("group", ["s", "shoal of the city", "shoal/1:2", "fischschwärme", "g" * 200])
def test_groups_that_kafka_takes(enter: Enter, group: str) -> None:
    """
    Any text that people can see and repeat.
    """
    assert enter({"kafka.group": group}).kafka.ingest_group == f"{group}-ingest"


def test_topics_do_not_differ_in_dots_and_underscores_alone() -> None:
    """
    Kafka does not create the second of them, for their metrics would be one; before a broker is asked we say so.
    """
    sentence = fault({"topics.seals": "city.of_fish", "topics.windows": "city_of.fish"})
    assert sentence == (
        "topics.seals is 'city.of_fish' and topics.windows is 'city_of.fish': Kafka does not create two topics whose "
        "names differ only in '.' and '_'; rename one of them"
    )
    load_settings(given={"topics.seals": "city.of-fish", "topics.windows": "city_of_fish"})


# Credentials

PEM = "/nowhere.pem"
TLS, SASL = {"kafka.security_protocol": "SSL"}, {"kafka.security_protocol": "SASL_PLAINTEXT"}
OAUTH = SASL | {"kafka.sasl_mechanism": "OAUTHBEARER"}
NAMED = {"kafka.sasl_username": "shoal", "kafka.sasl_password": SECRET}
BY_URL = {
    "kafka.oauth_token_url": "https://login.example/token",
    "kafka.oauth_client_id": "shoal",
    "kafka.oauth_client_secret": SECRET,
}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (
            NAMED,
            "kafka.sasl_username is set and kafka.security_protocol is PLAINTEXT: only SASL_SSL and SASL_PLAINTEXT",
        ),
        (TLS | NAMED, "kafka.sasl_username is set and kafka.security_protocol is SSL"),
        (TLS | {"kafka.oauth_token_file": PEM}, "kafka.oauth_token_file is set and kafka.security_protocol is SSL"),
        (BY_URL, "kafka.oauth_token_url is set and kafka.security_protocol is PLAINTEXT"),
        (SASL, "kafka.sasl_username and kafka.sasl_password must be set as well"),
        (SASL | {"kafka.sasl_username": "shoal"}, "SCRAM-SHA-512: kafka.sasl_password must be set as well"),
        (SASL | NAMED | {"kafka.sasl_password": ""}, "kafka.sasl_password is empty"),
        (
            SASL | NAMED | BY_URL,
            "kafka.oauth_token_url is set and kafka.security_protocol is SASL_PLAINTEXT and kafka.",
        ),
        (SASL | NAMED | {"kafka.oauth_scope": "x"}, "kafka.oauth_scope is set and"),
        (
            {"kafka.ssl_cafile": PEM},
            "kafka.ssl_cafile is set and kafka.security_protocol is PLAINTEXT: only SSL and SASL_",
        ),
        (
            SASL | NAMED | {"kafka.ssl_certfile": PEM},
            "kafka.ssl_certfile is set and kafka.security_protocol is SASL_PLA",
        ),
        (TLS | {"kafka.ssl_certfile": PEM}, "kafka.ssl_keyfile must be set as well"),
        (TLS | {"kafka.ssl_keyfile": PEM}, "kafka.ssl_certfile must be set as well"),
        (TLS | {"kafka.ssl_key_password": SECRET}, "kafka.ssl_certfile and kafka.ssl_keyfile must be set as well"),
        (
            TLS | {"kafka.ssl_cafile": PEM},
            "kafka.ssl_cafile is /nowhere.pem: it cannot be used (no such file or directory)",
        ),
        (
            TLS | {"kafka.ssl_certfile": PEM, "kafka.ssl_keyfile": PEM},
            "kafka.ssl_certfile and ssl_keyfile cannot be used",
        ),
        (OAUTH, "set kafka.oauth_token_url, oauth_client_id and oauth_client_secret, or kafka.oauth_token_file"),
        (OAUTH | {"kafka.oauth_scope": "x"}, "set kafka.oauth_token_url, oauth_client_id and oauth_client_secret, or"),
        (OAUTH | NAMED, "kafka.sasl_username is set and kafka.sasl_mechanism is OAUTHBEARER: it needs kafka.oauth_"),
        (
            OAUTH | {"kafka.oauth_token_url": "https://login.example/token", "kafka.oauth_client_secret": SECRET},
            "kafka.oauth_client_id must be set as well",
        ),
        (OAUTH | BY_URL | {"kafka.oauth_client_id": ""}, "kafka.oauth_client_id is empty"),
        (
            OAUTH | {"kafka.oauth_client_secret": SECRET},
            "kafka.oauth_token_url and kafka.oauth_client_id must be set as",
        ),
        (
            OAUTH | BY_URL | {"kafka.oauth_token_file": PEM},
            "kafka.oauth_token_url is set and kafka.oauth_token_file is set",
        ),
        (OAUTH | {"kafka.oauth_token_file": PEM}, "kafka.oauth_token_file is /nowhere.pem: it cannot be read"),
        (OAUTH | BY_URL | {"kafka.oauth_cafile": PEM}, "kafka.oauth_cafile is /nowhere.pem: it cannot be used"),
    ],
)
def test_credentials_that_are_missing_left_over_or_unreadable_stop_the_start(given: dict[str, Any], says: str) -> None:
    """
    What a protocol or mechanism needs must be there, and what it would not use must not: somebody believes in it.
    """
    told = complaint(given)
    assert says in told
    assert SECRET not in told


@pytest.mark.parametrize("given", [{}, TLS, SASL | NAMED, OAUTH | BY_URL, OAUTH | BY_URL | {"kafka.oauth_scope": "x"}])
def test_credentials_that_fit(given: dict[str, Any]) -> None:
    """
    Every protocol with what it needs.
    """
    load_settings(given={"privacy.secret": SECRET} | given).checked()


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example/token",
        "https://shoal:hunter2@login.example/token",
        "login.example",
        "https://",
        "file:///t",
    ],
)
def test_a_secret_is_sent_to_nobody_in_the_clear(url: str) -> None:
    """
    Tokens are asked for over HTTPS; an address that is refused may hold a password and is not repeated.
    """
    told = fault({"kafka.oauth_token_url": url})
    assert told.startswith("kafka.oauth_token_url is hidden: it must be an address such as https://login.example/")
    assert "hunter2" not in told


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080/t", "http://[::1]/t", "http://localhost/t", "https://x.example"]
)
def test_plain_http_is_for_this_machine(url: str) -> None:
    """
    A provider beside us needs no certificate.
    """
    assert load_settings(given={"kafka.oauth_token_url": url}).kafka.oauth_token_url == url


# Printing


def test_masked_settings_hold_no_secret() -> None:
    """
    What is printed, and the repr, hold none of the secrets.
    """
    settings = load_settings(
        given={
            "privacy.secret": "hunter2-hunter2-1",
            "checkins.privacy.secret": "hunter2-hunter2-2",
            "kafka.sasl_password": "hunter2-hunter2-3",
            "kafka.ssl_key_password": "hunter2-hunter2-4",
            "kafka.oauth_client_secret": "hunter2-hunter2-5",
        }
    )
    assert "hunter2" not in json.dumps(settings.masked())
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings.for_kind(Kind.CHECKINS))


def test_printed_settings_can_be_read_back(write: Write) -> None:
    """
    ``shoal check-config`` prints a settings file: read back it means the same, overrides included.
    """
    settings = load_settings(
        given={
            "privacy.k": 10,
            "privacy.m": 3,
            "checkins.privacy.m": 1,
            "fragments.window.size": "1h",
            "window.size": "90s",
            "window.allowed_lateness": "0",
            "limits.message_bytes": 1_500_001,
            "location.area": "40.5,-74.3,41.0,-73.6",
            "location.cells": "30x40",
            "time.earliest": "1864-03-01T12:00:00.250Z",
            "topics.fragments": "",
            "trajectories.max_speed_m_s": "none",
            "trajectories.max_gap": "90s",
            "files.metres": "EPSG:2100",
            "files.start": "2002-08-01",
            "privacy.demands_file": "/etc/shoal/demands.csv",
            "fragments.privacy.model": "bounded-pw4m",
            "privacy.distance": "edr",
            "privacy.space_tolerance_m": 12.5,
            "privacy.chunk_size": "none",
            "privacy.granularity": "90s",
            "privacy.refinement": False,
            "privacy.attributes": {"age": "0..120", "the plan": "/etc/shoal/plans.csv"},
            "privacy.sensitive_field": "ward",
            "privacy.sensitive_values": ["oncology", "a, b"],
            "kafka.bootstrap_servers": "a:1,b:2",
        }
    )
    again = load_settings(write(yaml.safe_dump(settings.masked())))
    assert again.masked() == settings.masked()
    for kind in INPUT_KINDS:
        assert again.for_kind(kind) == settings.for_kind(kind)


def test_a_printed_override_is_one_that_was_set() -> None:
    """
    Defaults under ``checkins:`` would read as overrides, and weaken a stricter setting for all when read back.
    """
    shown = load_settings(given={"privacy.k": 10, "checkins.privacy.m": 1}).masked()
    assert shown["checkins"] == {"privacy": {"m": 1}}
    assert shown["fragments"] == {}


def test_a_masked_secret_is_read_as_none(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Asterisks are nobody's secret: read back they leave it unset, and the environment still sets it.
    """
    settings = load_settings(given={"privacy.secret": SECRET, "kafka.sasl_password": SECRET})
    file = write(yaml.safe_dump(settings.masked()))
    again = load_settings(file)
    assert (again.privacy.secret, again.kafka.sasl_password) == (None, None)
    monkeypatch.setenv("SHOAL_PRIVACY__SECRET", SECRET)
    assert load_settings(file).privacy.secret == settings.privacy.secret
