"""The plan: everything that decides what a window releases, besides its rows; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import ModelSettingsError, PlanInputs
from core.models.disassociation.anonymize.disassociate import DisassociationOptions
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.settings import DisassociationSettings
from core.places.locate import Locator

__all__ = ["DisassociationPlan", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DisassociationPlan(Plan):
    """Check-ins, released as parts of sets of locations; nothing shows which parts belong to one person."""

    guarantee: DisassociatedKm
    locator: Locator = field(repr=False)
    options: DisassociationOptions

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "disassociation"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        promised: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m}
        return promised | {
            "largest_cluster": self.options.largest(self.guarantee.k),
            "rare_locations": self.options.rare_locations,
        }

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "disassociated k^m"


def make_plan(settings: DisassociationSettings, inputs: PlanInputs) -> DisassociationPlan:
    """Make the plan that the settings ask for.

    Raises:
        ModelSettingsError: Clusters are too small for k.
    """
    options = DisassociationOptions(largest_cluster=settings.largest_cluster, rare_locations=settings.rare_locations)
    try:
        options.largest(inputs.k)
    except ValueError:
        raise ModelSettingsError(
            f"privacy.largest_cluster is {settings.largest_cluster}: with privacy.k {inputs.k} it must be at least "
            f"{2 * inputs.k - 1}, or none"
        ) from None
    return DisassociationPlan(
        guarantee=DisassociatedKm(k=inputs.k, m=inputs.m),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        options=options,
    )
