"""How far to merge: the loss of each level of a hierarchy, predicted from the levels that are known."""

from __future__ import annotations

import numpy as np

from core.models.km.anonymize.least_loss.hierarchy import MergeHierarchy
from core.models.km.anonymize.least_loss.repair import Allowed
from core.records.arrays import FloatArray

__all__ = ["Search"]

_POWER, _LOWEST_POWER, _HIGHEST_POWER = 2.75, 0.5, 8.0
"""The pairs to repair grow with a power of the number of generalized locations: the power that is assumed until two
levels are known, and the bounds of the power after that."""


_FEWER = 0.8
"""After a level could not be repaired, only levels with at most this share of its pairs are tried: so tries are few."""

_SUPPRESSED_PER_PAIR = 1.0
"""Suppressed visits per pair that are assumed until a repair shows the actual number."""


class Search:
    """Predicts the loss of every level of a hierarchy; a level is a number of merges.

    The higher the level, the less is left to repair locally. There is one repair for each pair of a person and an
    infrequent subtrajectory. The number of pairs grows with a power of the number of generalized locations; the power
    is learned from the levels that are known, and the suppressed visits per pair from repairs.

    Args:
        hierarchy: The merges.
        allowed: Prices and budgets.
    """

    def __init__(self, hierarchy: MergeHierarchy, allowed: Allowed) -> None:
        self._moved_m, self._allowed = hierarchy.moved_m, allowed
        self._log_groups = np.log(np.arange(len(self._moved_m), 0, -1, dtype=np.float64))  # (levels,)
        self._infrequent: dict[int, int] = {}
        self._pairs: FloatArray | None = None  # predicted from these, shape (levels,)
        self.too_fine = -1
        """This level and all finer ones are ruled out; -1 if none is."""
        self._most_pairs = np.inf
        self._suppressed_per_pair = _SUPPRESSED_PER_PAIR
        self._m_per_pair = _SUPPRESSED_PER_PAIR * allowed.suppression_m

    @property
    def coarsest(self) -> int:
        """The level with one generalized location."""
        return len(self._moved_m) - 1

    def moving(self, share: float) -> int:
        """Return the last level that moves visits by at most a share of the distance that all merges move them."""
        return int(np.searchsorted(self._moved_m, share * self._moved_m[-1], side="right")) - 1

    def halfway(self) -> int | None:
        """Return the geometric mean of the coarsest and the next known level; None if none is between."""
        finer = max((level for level in self._infrequent if level < self.coarsest), default=0)
        n_groups = round((len(self._moved_m) - finer) ** 0.5)
        level = len(self._moved_m) - n_groups
        return level if max(finer, self.too_fine) < level < self.coarsest else None

    def learn(self, level: int, infrequent: int) -> None:
        """Record how many pairs there are to repair at a level."""
        self._infrequent[level] = infrequent
        self._pairs = None

    def failed(self, level: int) -> None:
        """Record that repairing a level would take too much."""
        self.too_fine = max(self.too_fine, level)
        self._most_pairs = min(self._most_pairs, _FEWER * self._infrequent[level])

    def over_budget(self, level: int) -> None:
        """Record that repairing a level would suppress more than the budget."""
        self.failed(level)
        least = self._allowed.suppressions / self._infrequent[level]
        self._suppressed_per_pair = 1.25 * max(self._suppressed_per_pair, least)

    def repaired(self, level: int, *, suppressed: int, splits: int) -> None:
        """Record what repairing a level took."""
        n_pairs, allowed = self._infrequent[level], self._allowed
        if n_pairs:
            self._suppressed_per_pair = suppressed / n_pairs
            self._m_per_pair = (suppressed * allowed.suppression_m + splits * allowed.split_m) / n_pairs

    def best(self) -> int:
        """Return the level with the least predicted loss within the budget; the coarsest if none is within it."""
        loss_m = self._losses_m()
        found = int(loss_m.argmin())
        return found if np.isfinite(loss_m[found]) else self.coarsest

    def best_known(self) -> int | None:
        """Return the known level with the least predicted loss; None if none is within the budget."""
        loss_m = self._losses_m()
        known = min(self._infrequent, key=lambda level: (loss_m[level], level))
        return known if np.isfinite(loss_m[known]) or known == self.coarsest else None

    def foretold_m(self, level: int) -> float:
        """Return the predicted loss of a level, metres, summed over all visits."""
        return float(self._moved_m[level] + self._m_per_pair * self._foretold()[level])

    def _losses_m(self) -> FloatArray:
        """Predict the loss of each level, infinite beyond the budget, shape ``(levels,)``."""
        pairs = self._foretold()
        loss_m = self._moved_m + self._m_per_pair * pairs
        loss_m[self._suppressed_per_pair * pairs > self._allowed.suppressions] = np.inf
        loss_m[pairs > self._most_pairs] = np.inf
        loss_m[: self.too_fine + 1] = np.inf
        return loss_m

    def _foretold(self) -> FloatArray:
        """Predict how many pairs there are to repair at each level, shape ``(levels,)``."""
        if self._pairs is not None:
            return self._pairs
        levels = sorted(self._infrequent, reverse=True)  # from few generalized locations to many
        x = self._log_groups[levels]
        y = np.log(np.array([self._infrequent[level] for level in levels]) + 0.5)
        powers = np.clip(np.diff(y) / np.diff(x), _LOWEST_POWER, _HIGHEST_POWER)
        below, above = (float(powers[0]), float(powers[-1])) if len(powers) else (_POWER, _POWER)
        foretold = np.interp(self._log_groups, x, y)
        foretold += below * np.minimum(self._log_groups - x[0], 0) + above * np.maximum(self._log_groups - x[-1], 0)
        # The last digits of logarithms differ between processors; no choice may depend on them.
        pairs: FloatArray = np.maximum(np.exp(foretold) - 0.5, 0.0).round(6)
        self._pairs = pairs
        return pairs
