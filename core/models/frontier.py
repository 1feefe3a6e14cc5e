"""The Pareto frontier: the ways to anonymize the same windows that no other way beats in every loss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from core.release.attacks.linkage import LinkageRisk
from core.release.outcome import Account
from core.utility.window_measures import WindowLoss

__all__ = ["Tally", "undominated"]


def undominated(points: Sequence[tuple[float, float]]) -> list[bool]:
    """Return which points no other point dominates. Less is better.

    A point dominates another if it is at least as good in both coordinates and better in one. Equal points all stay or
    all go.

    Args:
        points: Two losses of each way.

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
    """Counts of a feed that is anonymized in one way, summed over windows."""

    windows: int = 0
    windows_released: int = 0
    windows_failed: int = 0
    """Windows that were withheld because of a failure."""

    points_released: int = 0
    points_suppressed: int = 0
    points_withheld: int = 0
    people: int = 0
    """People, summed over windows: a person in several windows counts in each."""

    people_released: int = 0
    """People with anything released, likewise."""

    highest_linkage: float | None = None
    """Largest figure that the attack on two successive releases found; None if there were no two."""

    highest_risk: float | None = None
    """Largest probability with which a simulated attack on one release finds a person; None without an attack."""

    _distance_m: float = 0.0
    _time_s: float = 0.0
    _linked: float = 0.0
    _people_followed: int = 0

    def add(
        self,
        account: Account,
        people: int,
        loss: WindowLoss | None,
        *,
        failed: bool = False,
        linkage: LinkageRisk | None = None,
        risk: float | None = None,
    ) -> None:
        """Add a window.

        Args:
            account: Where its rows went.
            people: Distinct people in it.
            loss: What its release lost; None where nothing was released.
            failed: Whether it was withheld because of a failure.
            linkage: What the attack on its release and the one before found.
            risk: Largest probability with which an attack on its release finds a person; None without an attack.
        """
        if risk is not None:
            self.highest_risk = max(self.highest_risk or 0.0, risk)
        if linkage is not None:
            self.highest_linkage = max(self.highest_linkage or 0.0, linkage.highest)
            self._linked += linkage.mean * linkage.people
            self._people_followed += linkage.people
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
        """Visits, or points of trajectories, of accepted records, without repeated ones."""
        return self.points_released + self.points_suppressed + self.points_withheld

    @property
    def unreleased_percent(self) -> float | None:
        """Share of the points that is suppressed or withheld, percent; None without points."""
        return 100 * (1 - self.points_released / self.points) if self.points else None

    @property
    def people_lost_percent(self) -> float | None:
        """Share of the people with nothing released, percent; None without people."""
        return 100 * (1 - self.people_released / self.people) if self.people else None

    @property
    def distance_m(self) -> float | None:
        """Mean of the windows' distances, metres, weighted by released points; None without any."""
        return self._distance_m / self.points_released if self.points_released else None

    @property
    def mean_linkage(self) -> float | None:
        """Mean probability that the unit named next has a person of a unit; None if nothing was followed."""
        return self._linked / self._people_followed if self._people_followed else None

    @property
    def time_s(self) -> float | None:
        """Mean of the windows' time differences, seconds, weighted likewise; None without any."""
        return self._time_s / self.points_released if self.points_released else None
