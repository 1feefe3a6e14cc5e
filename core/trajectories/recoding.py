"""Local recoding: the label under which each visit is released; one location may have several labels.

In a global recoding a location has one generalized location in the whole release; in a local one it depends on the
trajectory. Any release of generalized sequences can be written this way, whatever model made it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.records.arrays import BoolArray, IntArray
from core.trajectories.trajectory import Sequences

__all__ = ["SUPPRESSED", "Label", "Recoding"]

SUPPRESSED = -1
"""Stands for the label of a visit that is suppressed."""

Label = tuple[int, ...]
"""A generalized location: ids of the vocabulary, ascending. A single id is a location that is not generalized."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recoding:
    """What to release: visit ``j`` as ``labels[label_of[j]]``; it is suppressed if ``label_of[j]`` is -1.

    Labels with the same locations are published alike, so each occurs once. Labels ascend, and each is used.

    Raises:
        ValueError: The labels are not of this form, or ``label_of`` has another index.
    """

    labels: tuple[Label, ...]
    """Every label that is released."""

    label_of: IntArray
    """Index into ``labels`` of each visit, -1 if it is suppressed, shape ``(p,)``."""

    def __post_init__(self) -> None:
        if any(not label or any(a >= b for a, b in pairwise(label)) for label in self.labels):
            raise ValueError("a label is empty or its locations do not ascend: sort them, and list each once")
        if any(a >= b for a, b in pairwise(self.labels)):
            raise ValueError("the labels do not ascend: sort them by their members, and list each once")
        used = np.unique(self.label_of[self.label_of != SUPPRESSED])
        if not np.array_equal(used, np.arange(len(self.labels))):
            raise ValueError(f"{len(self.labels)} labels, {len(used)} used: each must be used, and no other")

    @classmethod
    def of(cls, labels: Sequence[Label], label_of: IntArray) -> Recoding:
        """Sort labels, merge equal ones, and remove unused ones.

        Args:
            labels: Any labels, in any order, the locations of each ascending.
            label_of: Index into ``labels`` of each visit, -1 if it is suppressed, shape ``(p,)``.
        """
        used = np.unique(label_of[label_of != SUPPRESSED]).tolist()
        found = sorted({labels[index] for index in used})
        number = {label: index for index, label in enumerate(found)}
        new = np.full(len(labels) + 1, SUPPRESSED, np.int64)  # the last entry is for suppressed visits
        new[used] = [number[labels[index]] for index in used]
        return cls(labels=tuple(found), label_of=new[label_of])

    @property
    def kept(self) -> BoolArray:
        """False for each suppressed visit, shape ``(p,)``."""
        kept: BoolArray = self.label_of != SUPPRESSED
        return kept

    def named(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the public names of each label's members; a location's id is its row in ``names``."""
        return [tuple(names[location] for location in label) for label in self.labels]

    def apply(self, trajectories: Sequences) -> Sequences:
        """Return the same ``n`` trajectories over indices of labels, without suppressed visits; some may be empty.

        Args:
            trajectories: The originals, with ``p`` visits.
        """
        left = trajectories.where(self.kept)
        return Sequences(users=left.users, starts=left.starts, locations=self.label_of[self.kept])
