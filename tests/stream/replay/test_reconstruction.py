"""Reconstruction for analysts: from messages to windows that a disassociated release may be of."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner

from core.models.disassociation.reconstruct import support_bounds
from core.trajectories.assemble import assemble_sequences
from stream.cli.main import main
from stream.replay.reconstruction import ReconstructionError, reconstructed
from tests.builders.windows import anonymized, messages, released, set_plan, visits

CROWD = visits(*((user, at, (user + at) % 5) for user in range(24) for at in range(3)))
PLAN = set_plan(k=3)


def sent() -> list[bytes]:
    """The messages of one release as they stand on the anonymized topic."""
    return [message.value for message in messages(released(CROWD, PLAN))[:-1]]


def drawn(lines: list[bytes], seed: int = 1) -> list[dict[str, object]]:
    return [json.loads(line) for line in reconstructed(lines, seed=seed)]


def test_as_many_people_as_are_released_visit_what_is_released() -> None:
    """
    A window has the release's people, and each location in as many sets as the release says are possible.
    """
    outcome = released(CROWD, PLAN)
    people = drawn(sent())
    assert len(people) == outcome.people
    assert {one["release"] for one in people} == {outcome.release_id}
    window = assemble_sequences(CROWD, PLAN.locator, PLAN.limits)
    truth = anonymized(CROWD, PLAN)[1].release
    counted = Counter(name for one in people for name in one["locations"])  # type: ignore[attr-defined]
    for location, name in enumerate(window.vocabulary.names):
        at_least, at_most = support_bounds(truth, [location])
        assert at_least <= counted[name] <= at_most


def test_a_seed_decides() -> None:
    """
    The same seed and messages give the same windows, whatever stands before them; another seed gives others.
    """
    assert drawn(sent()) == drawn([b"\n", *sent()])
    assert any(drawn(sent(), seed) != drawn(sent()) for seed in range(2, 8))


@pytest.mark.parametrize("line", [b"not JSON", b'{"locations": [["a"]]}', b"\xff"])
def test_a_line_that_is_something_else_is_named(line: bytes) -> None:
    """
    If a line is not a message of a disassociated release, the error names its number, never its content.
    """
    with pytest.raises(ReconstructionError, match=r"^line 2 is not a message of a disassociated release") as fault:
        drawn([sent()[0], line])
    assert "locations" not in str(fault.value)


def test_the_command(tmp_path: Path) -> None:
    """
    ``shoal reconstruct`` reads a file of messages and writes a person a line; a wrong file ends with a sentence and 1.
    """
    file, output = tmp_path / "anonymized.ndjson", tmp_path / "possible.ndjson"
    file.write_bytes(b"\n".join(sent()))
    done = CliRunner().invoke(main, ["reconstruct", str(file), "--output", str(output), "--seed", "7"])
    assert done.exit_code == 0, done.output
    assert len(output.read_text().splitlines()) == len(drawn(sent()))
    file.write_text('{"pseudonym": "x"}\n')
    done = CliRunner().invoke(main, ["reconstruct", str(file), "--output", str(output)])
    assert (done.exit_code, done.output.count("\n")) == (1, 1)
    assert done.output.startswith("shoal: line 1 is not a message")
