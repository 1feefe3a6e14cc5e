"""Worked examples of Poulis et al. 2014, and of Select-Organize-Anonymize for its distance."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest

from core.models.common.verify_constraints import verify_constraints
from core.models.km.anonymize.seqanon import seqanon, u_seqanon
from core.models.km.guarantee import KmAnonymity
from core.models.km.verify import verify_km
from core.places.taxonomy import LocationTree
from core.records.arrays import FloatArray
from core.support.index import SupportIndex
from core.trajectories.trajectory import Sequences
from core.utility.distance import dataset_distance, location_distance, trajectory_distance
from tests.oracles import km as oracles
from tests.paths import EXAMPLES


def golden(name: str) -> Any:
    path = EXAMPLES / name
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
    index = SupportIndex.of(sequences(list(case["trajectories"].values()), names), size=2, k=case["k"])
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


def test_semantic_dissimilarity_as_published() -> None:
    """
    Example 2: {a, c, e} are the three restaurants of five places, 0.6; {a, d} have only the root in common, 1.
    """
    case = golden("distances.json")["semantic_dissimilarity"]
    category_of = {name: category for category, own in case["taxonomy"].items() for name in own}
    names = sorted(category_of)
    tree = LocationTree([(category_of[name],) for name in names])
    for wanted in case["cases"]:
        together = [names.index(name) for name in wanted["generalized"]]
        group_of = np.array([min(together) if i in together else i for i in range(len(names))])
        alone = [1 / len(names)] * len(names)
        expected = [wanted["expect"] if i in together else alone[i] for i in range(len(names))]
        assert tree.dissimilarity(group_of).tolist() == pytest.approx(expected)


class Example5:
    """Example 5 of Poulis et al. 2014, in the numbers that `core` and the oracles take."""

    def __init__(self) -> None:
        case = golden("useqanon_example5.json")
        self.names = sorted(case["locations"])
        self.k, self.m, self.percent = case["k"], case["m"], case["delta_percent"]
        self.crowd = [
            (user, tuple(self.names.index(name) for name in t)) for user, t in enumerate(case["trajectories"].values())
        ]
        # In tenths of a metre they are whole numbers: the same order of distances.
        self.points = [(round(10 * x), round(10 * y)) for x, y in (case["locations"][name] for name in self.names)]
        number = {name: i for i, own in enumerate(case["utility_constraints"]) for name in own}
        self.constraint_of = [number[name] for name in self.names]
        self.trajectories = list(case["trajectories"])
        self.after_first = [case["after_first_subtrajectory"][t] for t in self.trajectories]
        self.published = [case["generalized"][t] for t in self.trajectories]
        figure_4a = golden("seqanon_example4.json")["infrequent_size2"]
        self.printed = [tuple(self.names.index(name) for name in pair.split()) for pair in figure_4a]

    def shown(self, group_of: Sequence[int], left: oracles.Crowd) -> list[list[str]]:
        """Write a release as the paper does."""
        label = {
            group: "|".join(name for name, g in zip(self.names, group_of, strict=True) if g == group)
            for group in group_of
        }
        return [[label[group] for group in trajectory] for _, trajectory in left]

    def literally(self, pairs: Sequence[tuple[int, ...]] | None = None) -> list[list[str]] | None:
        """Follow the pseudo-code, over pairs in an order of one's own or in ours; None where it gives up."""
        result = oracles.literal_u_seqanon(
            self.crowd, self.points, self.constraint_of, self.k, self.m,
            percent=self.percent, in_order=None if pairs is None else {2: pairs},
        )  # fmt: skip
        return None if result is None else self.shown(*result)

    def ours(self) -> list[list[str]]:
        """Run U-SeqAnon."""
        window, guarantee = oracles.as_sequences(self.crowd), KmAnonymity(k=self.k, m=self.m)
        result = u_seqanon(
            window, oracles.positions(self.points), guarantee, np.array(self.constraint_of),
            max_suppressed_percent=self.percent,
        )  # fmt: skip
        assert result is not None
        assert result.kept.all()
        return self.shown(result.group_of.tolist(), oracles.released(self.crowd, result))


def test_example_5_begins_as_published() -> None:
    """
    Figure 5b: after (d, a), the first pair that the paper takes, a and d are one location. Our order takes (a, d)
    first and makes the same of it.
    """
    example = Example5()
    assert [example.names[i] for i in example.printed[0]] == ["d", "a"]
    assert example.literally(example.printed[:1]) == example.after_first
    first = oracles.infrequent(example.crowd, example.k, 2)[0][1]
    assert example.literally([first]) == example.after_first


def test_example_5_does_not_end_as_published_in_any_order() -> None:
    """
    Figure 5c contradicts the algorithm it illustrates: after (d, a), all that is left to do is (c, e), and step 6
    takes its location with the minimum support, c (4 people; e has 5), which step 8 joins with b. Nothing then is
    infrequent, and e stays by itself. Figure 5c has it in {a, d, e}, as if step 6 had taken e. Of the 120 orders of
    the five infrequent pairs, 30 (those that come to (b, d) before a and d are one) suppress b and c, which 5 % does
    not allow; the 90 others, the printed one among them, end as we do.
    """
    example = Example5()
    c, e = example.names.index("c"), example.names.index("e")
    assert [oracles.support([location], example.crowd) for location in (c, e)] == [4, 5]
    ours = example.ours()
    assert ours[0] == ["a|d", "a|d", "b|c", "e"]
    assert ours != example.published
    assert example.literally() == example.literally(example.printed) == ours
    ends = [example.literally(order) for order in permutations(example.printed)]
    assert (len(ends), ends.count(ours), ends.count(None)) == (120, 90, 30)


def test_example_5_keeps_what_it_promises_with_less_generalization_than_published() -> None:
    """
    Our result is 2^2-anonymous, satisfies both constraints with nothing suppressed, and each of its generalized
    locations is part of the published one in the same place.
    """
    example = Example5()
    ours = example.ours()
    guarantee = KmAnonymity(k=example.k, m=example.m)
    for result in (ours, example.published):
        assert verify_km(range(len(result)), result, guarantee).holds
        report = verify_constraints(
            [[location.split("|") for location in trajectory] for trajectory in result],
            example.names,
            dict(zip(example.names, example.constraint_of, strict=True)),
            budget_percent=example.percent,
        )
        assert (report.holds, report.straddling, report.suppressed_percent) == (True, 0, 0.0)
    for one, published in zip(ours, example.published, strict=True):
        for location, wider in zip(one, published, strict=True):
            assert set(location.split("|")) <= set(wider.split("|"))
