"""Worked examples of Poulis et al. 2014, and of Select-Organize-Anonymize for its distance."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.anonymize.seqanon import seqanon
from core.guarantees import KmAnonymity
from core.support import SupportIndex
from core.trajectory import FloatArray, Sequences
from core.utility import dataset_distance, location_distance, trajectory_distance
from core.verify.km import verify_km

GOLDEN = Path(__file__).resolve().parents[2].parent / "shared" / "golden"


def golden(name: str) -> Any:
    path = GOLDEN / name
    if not path.exists():
        pytest.skip(f"the published example is not here: {path}")
    return json.loads(path.read_text())


def sequences(trajectories: list[list[str]], names: list[str]) -> Sequences:
    return Sequences(
        users=np.arange(len(trajectories)),
        starts=np.cumsum([0, *map(len, trajectories)]),
        locations=np.array([names.index(location) for t in trajectories for location in t]),
    )


def test_example_4_finds_the_published_infrequent_subtrajectories() -> None:
    """
    Figure 4a: the subtrajectories of size 2 below k = 2, with their supports.
    """
    case = golden("seqanon_example4.json")
    names = sorted(case["locations"])
    index = SupportIndex(sequences(list(case["trajectories"].values()), names), size=2, k=case["k"])
    found = {" ".join(names[location] for location in pair): count for count, pair in index.infrequent()}
    assert found == case["infrequent_size2"]


def test_example_4_generalizes_as_published() -> None:
    """
    Figure 4c: a, b and c become one location, d and e stay, nothing is suppressed.
    """
    case = golden("seqanon_example4.json")
    names = sorted(case["locations"])
    window = sequences(list(case["trajectories"].values()), names)
    xy_m = np.array([case["locations"][name] for name in names])
    guarantee = KmAnonymity(k=case["k"], m=case["m"])
    result = seqanon(window, xy_m, guarantee)

    assert result.kept.all()
    assert result.merges == 2
    label = {
        group: "|".join(names[member] for member in np.flatnonzero(result.group_of == group))
        for group in result.group_of.tolist()
    }
    groups = result.group_of[window.locations].tolist()
    published = [
        [label[group] for group in groups[start:end]]
        for start, end in zip(window.starts, window.starts[1:], strict=False)
    ]
    assert published == list(case["generalized"].values())
    assert verify_km(range(len(published)), published, guarantee).holds


def on_a_line(names: list[str], wanted: dict[str, float]) -> FloatArray:
    """Place the locations so that the published distances hold; the first of `names` is the origin."""
    x_m = dict.fromkeys(names, 0.0)
    for pair, distance in wanted.items():
        a, b = pair.split()
        if a == names[0]:
            # Distances from the origin, taken to either side until those between the others agree.
            x_m[b] = distance
    for b, c in combinations([name for name in names if x_m[name]], 2):
        if f"{b} {c}" in wanted and abs(x_m[b] - x_m[c]) != wanted[f"{b} {c}"]:
            x_m[c] = -x_m[c]
    for pair, distance in wanted.items():
        a, b = pair.split()
        assert abs(x_m[a] - x_m[b]) == distance
    return np.array([(x_m[name], 0.0) for name in names])


def test_location_distance_as_published() -> None:
    """
    After Definition 6: a generalized to {a, a1, a2} is (0 + 1 + 2) / 3 away from itself.
    """
    for case in golden("distances.json")["location_distance"]:
        names = case["generalized"]
        assert names[0] == case["location"]
        distance_m = location_distance(on_a_line(names, case["d"]), np.zeros(len(names), np.int64))
        assert distance_m[0] == pytest.approx(case["expect"])


def test_trajectory_distance_as_published() -> None:
    """
    After Definition 6, and Select-Organize-Anonymize, Example 4: the mean over a trajectory's visits.
    """
    for case in golden("distances.json")["trajectory_distance"]:
        origin = next(iter(case["d"])).split()[0]
        every = {name for group in case["generalized"] for name in group} | set(case["trajectory"])
        names = [origin, *sorted(every - {origin})]
        smallest = {name: names.index(group[0]) for group in case["generalized"] for name in group}
        group_of = np.array([smallest[name] for name in names])
        window = sequences([case["trajectory"]], names)
        kept = np.ones(len(window.locations), np.bool_)
        arguments = window, on_a_line(names, case["d"]), group_of, kept
        assert trajectory_distance(*arguments) == pytest.approx([case["expect"]], abs=1e-9)
        assert dataset_distance(*arguments) == pytest.approx(case["expect"], abs=1e-9)
