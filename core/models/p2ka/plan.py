"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import PlanInputs
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.settings import P2kASettings
from core.places.locate import Locator

__all__ = ["P2kAPlan", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class P2kAPlan(Plan):
    """Check-ins, released as sequences of locations as they are, where enough people have them in common."""

    guarantee: PatternPreservingK
    locator: Locator = field(repr=False)
    known_places: int
    """How many places of a person a simulated attack knows; the guarantee does not depend on it."""

    longest_pattern: int = 3
    """Most locations of the frequent patterns that are measured; a release does not depend on it."""

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "p2ka"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        return {"k": self.guarantee.k, "alike": self.guarantee.alike}

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "pattern-preserving k"


def make_plan(settings: P2kASettings, inputs: PlanInputs) -> P2kAPlan:
    """Make the plan that the settings ask for."""
    return P2kAPlan(
        guarantee=PatternPreservingK(k=inputs.k, alike=settings.alike),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        known_places=inputs.m,
        longest_pattern=settings.longest_pattern,
    )
