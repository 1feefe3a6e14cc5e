"""Local recoding: what each visit is released as, where one location may be released under several labels.

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
"""Stands where a visit has no label."""

Label = tuple[int, ...]
"""The locations that are released as one: ids of the vocabulary, ascending. One id is a location left as it is."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Recoding:
    """What to release: visit ``j`` as ``labels[label_of[j]]``, and not at all where that is -1.

    Labels that hold the same locations are published alike, so each stands here once; they ascend, and each is used.

    Raises:
        ValueError: The labels are not so, or a visit's label is none of them.
    """

    labels: tuple[Label, ...]
    """Every label that is released."""

    label_of: IntArray
    """Index into ``labels`` of each visit, -1 where it is suppressed, shape ``(p,)``."""

    def __post_init__(self) -> None:
        if any(not label or any(a >= b for a, b in pairwise(label)) for label in self.labels):
            raise ValueError("a label is empty or its locations do not ascend: sort them, each once")
        if any(a >= b for a, b in pairwise(self.labels)):
            raise ValueError("the labels do not ascend: equal ones are one, and their order is that of their members")
        used = np.unique(self.label_of[self.label_of != SUPPRESSED])
        if not np.array_equal(used, np.arange(len(self.labels))):
            raise ValueError(f"{len(self.labels)} labels, {len(used)} used: each is used, and no other")

    @classmethod
    def of(cls, labels: Sequence[Label], label_of: IntArray) -> Recoding:
        """Bring labels into their order: equal ones become one, unused ones go.

        Args:
            labels: Any labels, in any order, the locations of each ascending.
            label_of: Index into them of each visit, -1 where it is suppressed, shape ``(p,)``.
        """
        used = np.unique(label_of[label_of != SUPPRESSED]).tolist()
        found = sorted({labels[index] for index in used})
        number = {label: index for index, label in enumerate(found)}
        new = np.full(len(labels) + 1, SUPPRESSED, np.int64)  # the last for what is suppressed
        new[used] = [number[labels[index]] for index in used]
        return cls(labels=tuple(found), label_of=new[label_of])

    @property
    def kept(self) -> BoolArray:
        """False where a visit is suppressed, shape ``(p,)``."""
        kept: BoolArray = self.label_of != SUPPRESSED
        return kept

    def named(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """Return the members of each label by their public names, of which a location's id is the row."""
        return [tuple(names[location] for location in label) for label in self.labels]

    def apply(self, trajectories: Sequences) -> Sequences:
        """Return the same ``n`` trajectories over the indices of labels, without what is suppressed; some may be empty.

        Args:
            trajectories: The originals, with ``p`` visits.
        """
        left = trajectories.where(self.kept)
        return Sequences(users=left.users, starts=left.starts, locations=self.label_of[self.kept])
