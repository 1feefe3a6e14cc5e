"""``shoal try`` as a new user runs it: what it proposes for feeds of other systems reads them whole."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from stream.cli.main import main
from stream.feeds.trial.topic_source import TopicSource
from stream.feeds.trial.trial import try_source
from stream.settings.load import load_settings
from tests.builders.topic_messages import messages_in
from tests.paths import CASES

pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason=f"the cases of other systems are not at hand: {CASES}")

SETTINGS = {"window.size": "1h", "location.cell_m": 1000, "privacy.k": 5, "privacy.secret": "a secret of the tests"}

PATHS = [
    "csv-decimal-comma/quoted.csv",
    "csv-decimal-comma/semicolons.csv",
    "csv-header-case/records.csv",
    "csv-semicolon/records.csv",
    "csv-semicolon/trackintel.csv",
    "epoch-microseconds/records.ndjson",
    "geojson-features/features.ndjson",
    "geojson-features/points.geojson",
    "gtfs-realtime-protobuf/vehicle_positions.pb",
    "latlon-e7/records.ndjson",
    "numbers-as-text/owntracks.ndjson",
    "numbers-as-text/records.ndjson",
    "overland-batch/array.ndjson",
    "owntracks-one-point/records.ndjson",
    "points-as-objects/records.ndjson",
    "time-foursquare/records.csv",
    "time-postgres-offset/records.csv",
    "time-without-zone/ais.csv",
    "time-without-zone/skmob.csv",
    "traccar-nested/records.ndjson",
    "tsv-headerless/brightkite.txt",
    "tsv-headerless/with_header.csv",
]
CHOSEN = {"time-without-zone/skmob.csv": {"time.zone": "UTC"}}
"""What the owner of a feed chooses, because only he knows."""


def shoal(*arguments: str, given: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
    options = [word for name, value in given.items() for word in ("--set", f"{name}={json.dumps(value)}")]
    result = CliRunner(env={"SHOAL_CONFIG": None}).invoke(main, [*arguments, "--json", *options])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def proposed(path: str, trial: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that a trial proposes, completed by what only the feed's owner knows."""
    if trial["proposal"] is None:
        assert trial["records"]["rejected"] == 0
        return {}
    chosen = CHOSEN.get(path, {})
    assert set(trial["proposal"]["needs"]) == set(chosen)
    settings: dict[str, Any] = trial["proposal"]["settings"]
    return settings | {f"{trial['kind']}.{name}": value for name, value in chosen.items()}


@pytest.mark.parametrize("path", PATHS)
def test_a_replay_with_the_proposal_reads_the_file(path: str, tmp_path: Path) -> None:
    """
    The settings that a trial of a file proposes let a replay release everything in it: all points of six people.
    """
    code, trial = shoal("try", str(CASES / path), given=SETTINGS)
    assert code == 0
    more = proposed(path, trial)
    n_points = 36 if path.startswith("points-as-objects") else 12
    code, summary = shoal(
        "replay",
        str(CASES / path),
        "--kind",
        trial["kind"],
        "--output",
        str(tmp_path),
        given=SETTINGS | {"location.kind": "grid"} | more,
    )
    assert (code, summary["rejected"]) == (0, 0)
    if trial["kind"] == "checkins":
        assert (summary["trajectories_released"], summary["points_released"]) == (6, n_points)
    assert summary["rows"] == n_points


def test_a_track_of_one_person(tmp_path: Path) -> None:
    """
    A GPX file is read by its preset; a single person is never released.
    """
    file = str(CASES / "gpx-track" / "p01.gpx")
    code, trial = shoal("try", file, given=SETTINGS)
    assert (code, trial["proposal"]["preset"]) == (0, "gpx")
    given = SETTINGS | trial["proposal"]["settings"]
    code, summary = shoal("replay", file, "--kind", trial["kind"], "--output", str(tmp_path), given=given)
    assert (code, summary["rows"], summary["points_released"]) == (0, 2, 0)


@pytest.mark.parametrize(
    ("path", "preset"),
    [
        ("connect-envelope/messages.ndjson", "connect-json"),
        ("overland-batch/messages.ndjson", "overland"),
        ("kafka-user-in-key/messages.ndjson", None),
        ("kafka-topic-pattern/a.ndjson", None),
        ("kafka-start-at-end/messages.ndjson", None),
    ],
)
def test_the_proposal_reads_messages(path: str, preset: str | None) -> None:
    """
    So do the settings proposed for messages of a topic; a person may be in their key.
    """
    messages = messages_in(CASES / path)
    trial = try_source(TopicSource("feed", messages), load_settings(given=SETTINGS), None, 100)
    found = trial.in_force if trial.proposal is None else trial.proposal.findings
    assert found is not None
    n_people = 3 if path.startswith("kafka-topic-pattern") else 6
    assert (found.rejected, found.people, found.points) == (0, n_people, 2 * n_people)
    assert (trial.proposal.preset if trial.proposal is not None else None) == preset
    if path.startswith("kafka-user-in-key"):
        assert trial.proposal is not None
        assert trial.proposal.settings == {"checkins.fields.user": "kafka:key"}


def test_messages_of_a_registry() -> None:
    """
    Framed Avro is recognized; the address of the registry is what the owner of the feed must name.
    """
    messages = messages_in(CASES / "avro-registry" / "messages.ndjson")
    trial = try_source(TopicSource("feed", messages), load_settings(given=SETTINGS), None, 100)
    assert trial.proposal is not None
    assert trial.proposal.settings == {"checkins.input.encoding": "avro"}
    assert set(trial.proposal.needs) == {"registry.url"}
    assert [n for looks, n in trial.looks.items() if "schema registry" in looks] == [12]
