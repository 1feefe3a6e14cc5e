"""The frontier: of several ways to anonymize the same windows, those that no other beats in all that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.release.outcome import Account
from core.utility.window_measures import WindowLoss

__all__ = ["Tally", "undominated"]


def undominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Tell which points no other is as good as in both coordinates and better than in one. Less is better.

    Of equal points each stays or none.

    Args:
        points: Two losses of each.

    >>> undominated([(0.0, 8.0), (3.0, 2.0), (3.0, 4.0), (0.0, 8.0)])
    [True, True, False, True]
    """
    on = [False] * len(points)
    best = float("inf")
    last: tuple[float, float] | None = None
    for i in sorted(range(len(points)), key=lambda i: points[i]):  # the first coordinate ascends
        if points[i][1] < best or points[i] == last:
            on[i], best, last = True, points[i][1], points[i]
    return on


@dataclass(slots=True)
class Tally:
    """What became of a feed under one way to anonymize it, summed over windows."""

    windows: int = 0
    windows_released: int = 0
    windows_failed: int = 0
    """Windows that were withheld because something is wrong."""

    points_released: int = 0
    points_suppressed: int = 0
    points_withheld: int = 0
    people: int = 0
    """People of each window, so that whoever is in several counts in each."""

    people_released: int = 0
    """Those of them of whom something is released."""

    _distance_m: float = 0.0
    _time_s: float = 0.0

    def add(self, account: Account, people: int, loss: WindowLoss | None, *, failed: bool = False) -> None:
        """Take in a window.

        Args:
            account: Where its rows went.
            people: Distinct people in it.
            loss: What its release lost; None where nothing was released.
            failed: Whether it was withheld because something is wrong.
        """
        self.windows += 1
        self.windows_failed += failed
        self.points_released += account.released
        self.points_suppressed += account.suppressed
        self.points_withheld += account.withheld
        self.people += people
        if loss is not None:
            self.windows_released += 1
            self.people_released += loss.people
            if account.released:
                self._distance_m += loss.distance_m * account.released
                self._time_s += loss.time_s * account.released

    @property
    def points(self) -> int:
        """Visits, or points of trajectories: those of accepted records, repeated ones left out."""
        return self.points_released + self.points_suppressed + self.points_withheld

    @property
    def unreleased_percent(self) -> float | None:
        """Share of the points that is not released, suppressed or withheld; None without any point."""
        return 100 * (1 - self.points_released / self.points) if self.points else None

    @property
    def people_lost_percent(self) -> float | None:
        """Share of the people of whom nothing is released; None without anybody."""
        return 100 * (1 - self.people_released / self.people) if self.people else None

    @property
    def distance_m(self) -> float | None:
        """Mean of the windows' distances, weighted by the points that were released; None without any."""
        return self._distance_m / self.points_released if self.points_released else None

    @property
    def time_s(self) -> float | None:
        """The same mean of times."""
        return self._time_s / self.points_released if self.points_released else None
