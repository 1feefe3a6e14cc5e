"""How far to merge: what a level of a hierarchy will lose, foretold from levels that are known."""

from __future__ import annotations

import numpy as np

from core.models.km.anonymize.least_loss.hierarchy import MergeHierarchy
from core.models.km.anonymize.least_loss.repair import Allowed
from core.records.arrays import FloatArray

__all__ = ["Search"]

_POWER, _LOWEST_POWER, _HIGHEST_POWER = 2.75, 0.5, 8.0
"""Power of the number of generalized locations that what there is to repair grows with: before two levels are known,
and within which bounds it is believed."""


_FEWER = 0.8
"""Share of the pairs of a level that could not be repaired that a level tried after it may have: so tries are few."""

_SUPPRESSED_PER_PAIR = 1.0
"""Visits that are suppressed for each pair, before a repair has shown it."""


class Search:
    """Foretells the loss of every level of a hierarchy; a level is a number of merges.

    The further the merges go, the less is left to repair locally. What there is to repair, pairs of a person and an
    infrequent subtrajectory, goes with a power of the number of generalized locations, which is learned from the levels
    that are known; how many visits are suppressed for each pair is learned from repairs.

    Args:
        hierarchy: The merges.
        allowed: Prices and budgets.
    """

    def __init__(self, hierarchy: MergeHierarchy, allowed: Allowed) -> None:
        self._moved_m, self._allowed = hierarchy.moved_m, allowed
        self._log_groups = np.log(np.arange(len(self._moved_m), 0, -1, dtype=np.float64))  # (levels,)
        self._infrequent: dict[int, int] = {}
        self.too_fine = -1
        """The coarsest level that is out of the question; none is -1."""
        self._most_pairs = np.inf
        self._suppressed_per_pair = _SUPPRESSED_PER_PAIR
        self._m_per_pair = _SUPPRESSED_PER_PAIR * allowed.suppression_m

    @property
    def coarsest(self) -> int:
        """The level that holds one generalized location."""
        return len(self._moved_m) - 1

    def moving(self, share: float) -> int:
        """Return the last level at which visits are moved by no more than a share of what all merges move them."""
        return int(np.searchsorted(self._moved_m, share * self._moved_m[-1], side="right")) - 1

    def halfway(self) -> int | None:
        """Return the level halfway between the coarsest and the next that is known, by powers; None where none is."""
        finer = max((level for level in self._infrequent if level < self.coarsest), default=0)
        n_groups = round((len(self._moved_m) - finer) ** 0.5)
        level = len(self._moved_m) - n_groups
        return level if max(finer, self.too_fine) < level < self.coarsest else None

    def learn(self, level: int, infrequent: int) -> None:
        """Take note of how many pairs there are to repair at a level."""
        self._infrequent[level] = infrequent

    def failed(self, level: int) -> None:
        """Take note that repairing a level would take too much."""
        self.too_fine = max(self.too_fine, level)
        self._most_pairs = min(self._most_pairs, _FEWER * self._infrequent[level])

    def over_budget(self, level: int) -> None:
        """Take note that repairing a level would suppress more than the budget."""
        self.failed(level)
        least = self._allowed.suppressions / self._infrequent[level]
        self._suppressed_per_pair = 1.25 * max(self._suppressed_per_pair, least)

    def repaired(self, level: int, *, suppressed: int, splits: int) -> None:
        """Take note of what repairing a level took."""
        n_pairs, allowed = self._infrequent[level], self._allowed
        if n_pairs:
            self._suppressed_per_pair = suppressed / n_pairs
            self._m_per_pair = (suppressed * allowed.suppression_m + splits * allowed.split_m) / n_pairs

    def best(self) -> int:
        """Return the level that promises the least loss within the budget, the coarsest where none does."""
        loss_m = self._losses_m()
        found = int(loss_m.argmin())
        return found if np.isfinite(loss_m[found]) else self.coarsest

    def best_known(self) -> int | None:
        """Return the same of the levels that are known, None where none is within the budget."""
        loss_m = self._losses_m()
        known = min(self._infrequent, key=lambda level: (loss_m[level], level))
        return known if np.isfinite(loss_m[known]) or known == self.coarsest else None

    def foretold_m(self, level: int) -> float:
        """Return the loss that a level promises, metres, summed over all visits."""
        return float(self._moved_m[level] + self._m_per_pair * self._foretold()[level])

    def _losses_m(self) -> FloatArray:
        """Foretell the loss of each level, infinite where it is beyond the budget, shape ``(levels,)``."""
        pairs = self._foretold()
        loss_m = self._moved_m + self._m_per_pair * pairs
        loss_m[self._suppressed_per_pair * pairs > self._allowed.suppressions] = np.inf
        loss_m[pairs > self._most_pairs] = np.inf
        loss_m[: self.too_fine + 1] = np.inf
        return loss_m

    def _foretold(self) -> FloatArray:
        """Foretell how many pairs there are to repair at each level, shape ``(levels,)``."""
        levels = sorted(self._infrequent, reverse=True)  # from few generalized locations to many
        x = self._log_groups[levels]
        y = np.log(np.array([self._infrequent[level] for level in levels]) + 0.5)
        powers = np.clip(np.diff(y) / np.diff(x), _LOWEST_POWER, _HIGHEST_POWER)
        below, above = (float(powers[0]), float(powers[-1])) if len(powers) else (_POWER, _POWER)
        foretold = np.interp(self._log_groups, x, y)
        foretold += below * np.minimum(self._log_groups - x[0], 0) + above * np.maximum(self._log_groups - x[-1], 0)
        # Logarithms differ in their last digits between processors, on which no choice may depend.
        pairs: FloatArray = np.maximum(np.exp(foretold) - 0.5, 0.0).round(6)
        return pairs
