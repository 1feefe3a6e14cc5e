"""Check of utility constraints (Poulis et al. 2014, Definition 10), from the candidate and the visited locations."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

__all__ = ["ConstraintsReport", "verify_constraints"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintsReport:
    """What the check found."""

    straddling: int
    """Generalized locations with members of more than one constraint."""

    suppressed_percent: float
    """Share of the locations visited that no released trajectory holds."""

    budget_percent: float
    """Largest share allowed."""

    @property
    def holds(self) -> bool:
        """Whether both conditions hold."""
        return self.straddling == 0 and self.suppressed_percent <= self.budget_percent + 1e-9


def verify_constraints(
    trajectories: Iterable[Iterable[Iterable[str]]],
    visited: Iterable[str],
    constraint_of: Mapping[str, Hashable],
    *,
    budget_percent: float,
) -> ConstraintsReport:
    """Check both conditions of Definition 10.

    Args:
        trajectories: Members of each generalized location, as they would be published.
        visited: Names of the locations of the window before anonymization.
        constraint_of: The constraint of each visited location.
        budget_percent: Largest share of locations that may be suppressed, delta %.
    """
    shown = {tuple(members) for trajectory in trajectories for members in trajectory}
    there = set(visited)
    left = {name for members in shown for name in members}
    return ConstraintsReport(
        straddling=sum(len({constraint_of[name] for name in members}) > 1 for members in shown),
        suppressed_percent=100.0 * len(there - left) / len(there) if there else 0.0,
        budget_percent=budget_percent,
    )
