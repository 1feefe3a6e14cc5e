"""Worked examples of Select-Organize-Anonymize."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from core.models.klm.anonymize.cluster import ClusterSearch, lm_anon, sga, zga
from core.models.klm.anonymize.keys import gray_order, location_keys, subtrajectory_keys, z_order
from core.models.klm.anonymize.merge import _Run
from core.models.klm.anonymize.window import Clustered, ClusteredWindow
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.verify import verify_klm
from core.records.arrays import FloatArray
from core.support.table import subtrajectories, support
from core.support.top import top_subtrajectories
from core.trajectories.recoding import Recoding
from core.trajectories.trajectory import Sequences
from core.utility.recoded import recoded_distance, recoded_visit_distance
from tests.golden.test_seqanon import golden, on_a_line, sequences


class Example:
    """One example in the numbers that `core` takes; positions are those of Example 7, which fit all of them."""

    def __init__(self, name: str, *, mirrored: bool = False) -> None:
        self.case: dict[str, Any] = golden(name)
        places = golden("lmanon_example7.json")["locations"]
        self.names = sorted(places)
        self.xy_m: FloatArray = np.array([places[name][:: -1 if mirrored else 1] for name in self.names], np.float64)
        self.trajectories: dict[str, list[str]] = self.case["trajectories"]
        self.window: Sequences = sequences(list(self.trajectories.values()), self.names)
        self.sensitive = np.array([name in self.case["sensitive"] for name in self.names])
        self.guarantee = KLmDiversity(k=self.case["k"], l=self.case["l"], m=self.case["m"])

    @property
    def arguments(self) -> tuple[Sequences, FloatArray, np.typing.NDArray[np.bool_], KLmDiversity]:
        return self.window, self.xy_m, self.sensitive, self.guarantee

    def published(self, result: Clustered) -> dict[str, list[str]]:
        """Write a release as the paper does."""
        labels = ["|".join(label) for label in result.recoding.named(self.names)]
        left = result.recoding.apply(self.window)
        return {
            name: [labels[i] for i in left.locations[start:end].tolist()]
            for name, (start, end) in zip(self.trajectories, pairwise(left.starts.tolist()), strict=True)
        }

    def assert_published(self, result: Clustered) -> None:
        published = self.published(result)
        assert published == {name: self.case["generalized"][name] for name in self.trajectories}
        left = [[tuple(label.split("|")) for label in trajectory] for trajectory in published.values()]
        assert verify_klm(range(len(left)), left, self.case["sensitive"], self.guarantee).holds

    def written(self, keys: list[list[int]], n_bits: int) -> dict[str, str]:
        """Write keys as bits, the most significant first."""
        return {
            name: "".join("01"[bit in key] for bit in range(n_bits))
            for name, key in zip(self.trajectories, keys, strict=True)
        }

    def shown(self) -> Sequences:
        return ClusteredWindow(*self.arguments).shown


def test_example_7_generalizes_as_published() -> None:
    """
    Figure 4d: a, b and d become one location, e and c stay, nothing is suppressed.
    """
    example = Example("lmanon_example7.json")
    result = lm_anon(*example.arguments)
    example.assert_published(result)
    assert result.recoding.kept.all()
    assert result.merges == 2


def test_example_7_begins_as_published() -> None:
    """
    Figures 4a and 4b: a is the only location below k = 2, and is generalized with b.
    """
    example = Example("lmanon_example7.json")
    shown = example.shown()
    table = subtrajectories(shown, 1)
    supports = dict(zip((example.names[i] for i in table.locations[:, 0]), table.supports.tolist(), strict=True))
    assert supports == example.case["supports_size1"]

    window = ClusteredWindow(*example.arguments)
    run = _Run(shown, example.xy_m, window._carriers, example.guarantee)
    run.work_on(1)
    labels, label_of = run.labels()
    written = iter(["|".join(example.names[i] for i in labels[label]) for label in label_of.tolist()])
    after = {
        name: [next(written) if x not in example.case["sensitive"] else x for x in t]
        for name, t in example.trajectories.items()
    }
    assert after == {name: example.case["after_size1"][name] for name in example.trajectories}


def test_example_5_has_the_published_keys_and_order() -> None:
    """
    Figure 2a and b, by the columns printed there.
    """
    example = Example("zga_example5.json")
    columns = example.case["key_columns"]
    others = [name for name in example.names if name not in columns]
    # The first of the order is the least significant bit, so the figure's columns come backwards.
    order = np.array([example.names.index(name) for name in (*others, *reversed(columns))])
    keys = location_keys(example.shown(), order)
    assert {name: key[: len(columns)] for name, key in example.written(keys, len(order)).items()} == example.case[
        "keys"
    ]
    found = gray_order(keys, len(order))
    assert [list(example.trajectories)[i] for i in found] == example.case["gray_order"]


def test_the_z_order_is_that_of_the_text_or_mirrored_that_of_the_figure() -> None:
    """
    Example 5's text lists a, b, d, e, c and its figure uses a, d, b, e, c: positions of Example 7, axes kept or
    exchanged, give either.
    """
    for mirrored, published in ((False, "abdec"), (True, "adbec")):
        example = Example("zga_example5.json", mirrored=mirrored)
        order = [example.names[i] for i in z_order(example.xy_m)]
        assert [name for name in order if name not in example.case["sensitive"]] == list(published)


def test_example_5_generalizes_as_published() -> None:
    """
    Figure 2c: two clusters, {a, c, d, e} in one, {a, b, d} in the other, f and g as they are.
    """
    example = Example("zga_example5.json", mirrored=True)
    result = zga(*example.arguments, ClusterSearch(number=example.case["clusters"]))
    example.assert_published(result)
    assert result.clusters == 2


def test_example_6_finds_the_published_subtrajectories() -> None:
    """
    Figure 3a: supports as printed; the two most frequent are d and e.
    """
    example = Example("sga_example6.json")
    shown = example.shown()
    for written, wanted in example.case["frequent"].items():
        assert support([example.names.index(name) for name in written.split()], shown) == wanted
    top = top_subtrajectories(shown, example.case["top_subtrajectories"])
    assert [example.names[i] for (i,), _ in top] == ["d", "e"]
    every = {" ".join(example.names[i] for i in part): count for part, count in top_subtrajectories(shown, 100)}
    assert example.case["frequent"].items() <= every.items()


def test_example_6_has_the_published_keys_and_order() -> None:
    """
    Figure 3b and c: the most frequent subtrajectory is the least significant bit, ties stay as they are given.
    """
    example = Example("sga_example6.json")
    shown = example.shown()
    top = [part for part, _ in top_subtrajectories(shown, example.case["top_subtrajectories"])]
    assert [example.names[i] for (i,) in reversed(top)] == example.case["key_columns"]
    keys = subtrajectory_keys(shown, top)
    assert example.written(keys, len(top)) == example.case["keys"]
    assert [list(example.trajectories)[i] for i in gray_order(keys, len(top))] == example.case["gray_order"]


def test_example_6_generalizes_as_published() -> None:
    """
    Figure 3d.
    """
    example = Example("sga_example6.json")
    top, number = example.case["top_subtrajectories"], example.case["clusters"]
    example.assert_published(sga(*example.arguments, ClusterSearch(number=number), top=top))


def test_example_4_is_as_far_as_published() -> None:
    """
    D_loc and D_traj of (d, {a, b, c}, {a, b, c}, e) for (d, a, c, e), where only that trajectory has the label.
    """
    case = golden("distances.json")["trajectory_distance"][1]
    names = ["a", "b", "c", "d", "e"]
    labels = sorted(tuple(names.index(name) for name in group) for group in {*map(tuple, case["generalized"])})
    label_of = np.array([labels.index(tuple(names.index(name) for name in group)) for group in case["generalized"]])
    window = sequences([case["trajectory"]], names)
    xy_m = on_a_line(names, case["d"])
    recoding = Recoding(labels=tuple(labels), label_of=label_of)
    assert recoded_visit_distance(window, xy_m, recoding).tolist() == pytest.approx([0, 2 / 3, 1, 0])
    assert recoded_distance(window, xy_m, recoding) == pytest.approx(case["expect"], abs=1e-9)
