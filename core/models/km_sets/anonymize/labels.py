"""What the algorithms have in common: people as sets of locations, and the labels that locations get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from core.records.arrays import IntArray
from core.trajectories.recoding import SUPPRESSED, Label, Recoding
from core.trajectories.trajectory import Sequences

__all__ = ["LabelledParts", "rare_sets"]

NodeSet = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LabelledParts:
    """The label of each location, for each part of the people."""

    part_of: IntArray = field(repr=False)
    """Part of each person, shape ``(n_users,)``."""

    labels: Sequence[Mapping[int, Label]] = field(repr=False)
    """For each part the label of each location; a location that is missing is suppressed."""

    def recoding(self, sequences: Sequences) -> Recoding:
        """Return the label of each visit of the people, who are numbered as in ``sequences``."""
        labels: list[Label] = []
        number: dict[Label, int] = {}
        label_of = np.full(len(sequences.locations), SUPPRESSED, np.int64)
        parts = self.part_of[sequences.owners]
        for part, named in enumerate(self.labels):
            here = np.flatnonzero(parts == part)
            of_location = np.full(int(sequences.locations.max(initial=-1)) + 1, SUPPRESSED, np.int64)
            for location, label in named.items():
                index = number.setdefault(label, len(labels))
                if index == len(labels):
                    labels.append(label)
                of_location[location] = index
            label_of[here] = of_location[sequences.locations[here]]
        return Recoding.of(labels, label_of)


def rare_sets(people: Iterable[Iterable[int]], size: int, k: int, rank: Mapping[int, int]) -> list[tuple[int, NodeSet]]:
    """Find the sets of one size that 1 to ``k - 1`` people have.

    Args:
        people: What each person has, each item once.
        size: Items of a set.
        k: Smallest support that is not rare.
        rank: Place of each item in the order; a set is written in this order.

    Returns:
        Each set with its support, in the lexicographic order of ranks.
    """
    counts: Counter[NodeSet] = Counter()
    for items in people:
        counts.update(combinations(sorted(items, key=rank.__getitem__), size))
    rare = [(key, count) for key, count in counts.items() if count < k]
    return [(count, key) for key, count in sorted(rare, key=lambda one: [rank[item] for item in one[0]])]
