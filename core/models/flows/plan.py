"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.noise import LaplaceNoise
from core.models.common.plan import Plan
from core.models.common.settings import ModelSettingsError, PlanInputs
from core.models.flows.guarantee import KAnonymousFlows, TripRule
from core.models.flows.settings import FlowSettings
from core.places.locate import Locator
from core.places.meaning import Taxonomy

__all__ = ["FlowPlan", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowPlan(Plan):
    """Check-ins, released as numbers of people who went from one place to another."""

    guarantee: KAnonymousFlows
    locator: Locator = field(repr=False)
    taxonomy: Taxonomy = field(repr=False)
    """The hierarchy whose nodes are the places."""

    max_suppressed_percent: float
    """Most trips that may be left out to keep places small, percent."""

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "flows"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        shared: Parameters = {"k": self.guarantee.k, "trips": self.guarantee.trips.value}
        if self.noise is not None:
            return shared | {
                "noise": "laplace",
                "epsilon": self.noise.epsilon,
                "dp_delta": self.noise.delta,
                "max_flows_per_person": self.noise.most_counts,
                "threshold": self.noise.threshold,
            }
        return shared | {
            "taxonomy": self.taxonomy.name,
            "max_suppressed_trips": self.max_suppressed_percent,
        }

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "flows of k people" if self.noise is None else "differentially private flows"


def make_plan(settings: FlowSettings, inputs: PlanInputs) -> FlowPlan:
    """Make the plan that the settings ask for.

    Raises:
        ModelSettingsError: The settings ask for noise without an epsilon.
    """
    epsilon, delta, most = settings.epsilon, settings.dp_delta, settings.max_flows_per_person
    noise = None
    if settings.noise == "laplace":
        if epsilon is None:  # never exact counts in place of noisy ones
            raise ModelSettingsError("privacy.epsilon is not set: privacy.noise laplace needs it; such as 1.0")
        noise = LaplaceNoise(epsilon=epsilon, delta=delta, most_counts=most)
    return FlowPlan(
        guarantee=KAnonymousFlows(k=inputs.k, trips=TripRule(settings.trips)),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        taxonomy=inputs.taxonomy(),
        max_suppressed_percent=settings.max_suppressed_trips,
        noise=noise,
    )
