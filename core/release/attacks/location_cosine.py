"""How similar trajectories of two releases are: the cosine of vectors of locations in which rare locations weigh more.

Narayanan and Shmatikov 2008, Section 4. A generalized location counts as each of its members, by equal shares.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from core.records.arrays import FloatArray, IntArray, ranges

__all__ = ["DIGITS", "LabelSimilarity", "Labelled"]

DIGITS = 9
"""Similarities are compared to a billionth, so that the order of sums decides nothing."""

_SHORTEST = 1e-12
"""Least length of a vector: a unit may show only locations that everybody visits."""


class Labelled(Protocol):
    """``n`` units with distinct labels each, and the members of the labels."""

    @property
    def starts(self) -> IntArray:
        """Where the labels of each unit begin, then their number, shape ``(n + 1,)``."""
        ...

    @property
    def labels(self) -> IntArray:
        """Numbers of the labels."""
        ...

    @property
    def member_starts(self) -> IntArray:
        """Where the members of each of ``g`` labels begin, then their number, shape ``(g + 1,)``."""
        ...

    @property
    def members(self) -> IntArray:
        """Number of each member, the same in every release."""
        ...


class LabelSimilarity:
    """LabelSimilarity of the units of a release to those of the next one; rare locations of both weigh more.

    Args:
        earlier: The earlier release.
        later: The next one.
    """

    def __init__(self, earlier: Labelled, later: Labelled) -> None:
        self._earlier, self._later, self._n_later = earlier, later, len(later.starts) - 1
        self._places = np.unique(np.concatenate([earlier.members, later.members]))
        shown = self._n_showing(earlier) + self._n_showing(later)
        n_units = len(earlier.starts) + len(later.starts) - 2
        self._weight: FloatArray = np.log((n_units + 1) / np.maximum(shown, 1))
        self._norms, self._later_norms = self._lengths(earlier), self._lengths(later)
        label, place = _label_of_member(later), self._numbers(later)
        by_place = np.argsort(place, kind="stable")
        self._label = label[by_place]
        self._label_starts = np.searchsorted(place[by_place], np.arange(len(self._places) + 1))
        by_label = np.argsort(later.labels, kind="stable")
        self._unit = _unit_of_label(later)[by_label]
        self._unit_starts = np.searchsorted(later.labels[by_label], np.arange(len(later.member_starts)))

    def _numbers(self, release: Labelled) -> IntArray:
        return np.searchsorted(self._places, release.members)

    def _n_showing(self, release: Labelled) -> FloatArray:
        """Count the units of a release that show each location, shape ``(len(places),)``."""
        n_units = np.bincount(release.labels, minlength=len(release.member_starts) - 1)
        return _sums(self._numbers(release), n_units[_label_of_member(release)], len(self._places))

    def _lengths(self, release: Labelled) -> FloatArray:
        """Return the length of the vector of each unit, as if no two of its labels shared a member."""
        label, sizes = _label_of_member(release), np.maximum(np.diff(release.member_starts), 1)
        squared = _sums(label, (self._weight[self._numbers(release)] / sizes[label]) ** 2, len(sizes))
        lengths = _sums(_unit_of_label(release), squared[release.labels], len(release.starts) - 1) ** 0.5
        return lengths.clip(_SHORTEST)

    def of(self, units: IntArray) -> FloatArray:
        """Return the cosines of some units with every unit of the next release, shape ``(a, n)``, to a billionth."""
        earlier = self._earlier
        n_labels = np.diff(earlier.starts)[units]
        own = earlier.labels[ranges(earlier.starts[units], n_labels)]
        shown, own = np.unique(own, return_inverse=True)
        starts, label, product = self._label_pairs(shown)
        # (target, label of the earlier release) -> (target, label of the later release)
        n_pairs = starts[own + 1] - starts[own]
        pairs = ranges(starts[own], n_pairs)
        target, label = np.repeat(np.repeat(np.arange(len(units)), n_labels), n_pairs), label[pairs]
        # -> (target, unit of the later release)
        n_units = self._unit_starts[label + 1] - self._unit_starts[label]
        unit = self._unit[ranges(self._unit_starts[label], n_units)]
        cells = np.repeat(target, n_units) * self._n_later + unit
        dots = _sums(cells, np.repeat(product[pairs], n_units), len(units) * self._n_later)
        found: FloatArray = dots.reshape(len(units), self._n_later) / self._later_norms
        found /= self._norms[units][:, None]
        return found.round(DIGITS)

    def _label_pairs(self, shown: IntArray) -> tuple[IntArray, IntArray, FloatArray]:
        """Return for some labels of the earlier release those of the later one that share members with each.

        Returns:
            Where the pairs of each label begin, then their number; the later label and the product of each pair.
        """
        earlier, n_later = self._earlier, len(self._later.member_starts) - 1
        sizes = np.diff(earlier.member_starts)[shown]
        place = self._numbers(earlier)[ranges(earlier.member_starts[shown], sizes)]
        n_having = self._label_starts[place + 1] - self._label_starts[place]
        label = self._label[ranges(self._label_starts[place], n_having)]
        share = np.repeat(self._weight[place] ** 2 / np.repeat(sizes, sizes), n_having)
        product: FloatArray = share / np.diff(self._later.member_starts)[label]
        of = np.repeat(np.repeat(np.arange(len(shown)), sizes), n_having)
        pair, of_pair = np.unique(of * max(n_later, 1) + label, return_inverse=True)
        starts = np.searchsorted(pair, np.arange(len(shown) + 1) * max(n_later, 1)).astype(np.int64)
        return starts, pair % max(n_later, 1), _sums(of_pair, product, len(pair))


def _sums(groups: IntArray, values: npt.ArrayLike, n: int) -> FloatArray:
    """Return the sum of the values of each of ``n`` groups; numpy's stubs take it for whole numbers."""
    return np.bincount(groups, values, n).astype(np.float64)


def _label_of_member(release: Labelled) -> IntArray:
    sizes = np.diff(release.member_starts)
    return np.repeat(np.arange(len(sizes)), sizes)


def _unit_of_label(release: Labelled) -> IntArray:
    return np.repeat(np.arange(len(release.starts) - 1), np.diff(release.starts))
