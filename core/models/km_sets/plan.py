"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import Context, ModelSettingsError, PlanInputs
from core.models.km_sets.algorithms import LRA, VPA, Apriori, ConstrainedSets, SetAlgorithm
from core.models.km_sets.guarantee import KmSetAnonymity
from core.models.km_sets.settings import KmSetSettings
from core.places.locate import Locator

__all__ = ["KmSetPlan", "check", "make_plan"]

_PART = 10
"""People of a part by default, as a multiple of k."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KmSetPlan(Plan):
    """Check-ins, released as each person's set of generalized locations."""

    guarantee: KmSetAnonymity
    locator: Locator = field(repr=False)
    algorithm: SetAlgorithm

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return self.algorithm.model

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        return {"k": self.guarantee.k, "m": self.guarantee.m, **self.algorithm.parameters}

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "k^m of sets"


def check(settings: KmSetSettings, context: Context) -> None:
    """Check the settings before any file is read.

    Raises:
        ModelSettingsError: Constraints are missing, or parts are too small for k.
    """
    if context.model in ("coat", "pcta") and not context.has_constraints:
        raise ModelSettingsError(
            f"privacy.constraints is not set: privacy.model {context.model} needs level:N of the taxonomy, "
            "or a CSV with location,constraint"
        )
    people = settings.people_per_part
    if context.model == "sets-lra" and people is not None and people < context.k:
        raise ModelSettingsError(
            f"privacy.people_per_part is {people}: with privacy.k {context.k} it must be at least {context.k}, or none"
        )


def make_plan(settings: KmSetSettings, inputs: PlanInputs) -> KmSetPlan:
    """Make the plan that the settings ask for."""
    return KmSetPlan(
        guarantee=KmSetAnonymity(k=inputs.k, m=inputs.m),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        algorithm=_algorithm(settings, inputs),
    )


def _algorithm(settings: KmSetSettings, inputs: PlanInputs) -> SetAlgorithm:
    if inputs.model == "sets-apriori":
        return Apriori(inputs.taxonomy())
    if inputs.model == "sets-lra":
        return LRA(inputs.taxonomy(), max(inputs.k, settings.people_per_part or _PART * inputs.k))
    if inputs.model == "sets-vpa":
        return VPA(inputs.taxonomy())
    return ConstrainedSets(inputs.model, inputs.constraints(), settings.suppression_percent)
