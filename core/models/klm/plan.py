"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import PlanInputs
from core.models.klm.algorithms import SGA, ZGA, ClusterAlgorithm, LmAnon
from core.models.klm.anonymize.cluster import ClusterSearch
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.settings import KLmSettings
from core.places.locate import Locator

__all__ = ["KLmPlan", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KLmPlan(Plan):
    """Check-ins, released as sequences of locations that are generalized in clusters of similar people."""

    guarantee: KLmDiversity
    locator: Locator = field(repr=False)
    algorithm: ClusterAlgorithm
    sensitive: frozenset[str] = field(repr=False)
    """Names of the sensitive locations."""

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return self.algorithm.model

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        promised = {"k": self.guarantee.k, "l": self.guarantee.l, "m": self.guarantee.m}
        return {**promised, "sensitive_locations": len(self.sensitive), **self.algorithm.parameters}

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "(k,l)^m" if self.sensitive else "k^m"


def make_plan(settings: KLmSettings, inputs: PlanInputs) -> KLmPlan:
    """Make the plan that the settings ask for."""
    return KLmPlan(
        guarantee=KLmDiversity(k=inputs.k, l=inputs.l, m=inputs.m),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        algorithm=_algorithm(settings, inputs.model),
        sensitive=inputs.sensitive_locations(),
    )


def _algorithm(settings: KLmSettings, model: str) -> ClusterAlgorithm:
    if model == "lm-anon":
        return LmAnon()
    search = ClusterSearch(number=settings.clusters)
    if model == "sga":
        return SGA(search, settings.key_patterns)
    return ZGA(search)
