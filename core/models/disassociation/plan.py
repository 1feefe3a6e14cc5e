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
    sensitive: frozenset[str] = field(default=frozenset(), repr=False)
    """Names of the sensitive locations; used if the guarantee has an l."""

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "disassociation"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        promised: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m}
        if self.guarantee.l is not None:
            promised |= {"l": self.guarantee.l, "sensitive_locations": len(self.sensitive)}
        return promised | {
            "largest_cluster": self.options.largest(self.guarantee.smallest_cluster),
            "rare_locations": self.options.rare_locations,
        }

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "disassociated k^m" if self.guarantee.l is None else "disassociated k^m, l-diverse"


def make_plan(settings: DisassociationSettings, inputs: PlanInputs) -> DisassociationPlan:
    """Make the plan that the settings ask for.

    Raises:
        ModelSettingsError: Clusters are too small for k or l.
    """
    sensitive = inputs.sensitive_locations()
    guarantee = DisassociatedKm(k=inputs.k, m=inputs.m, l=inputs.l if sensitive else None)
    fewest = guarantee.smallest_cluster
    options = DisassociationOptions(largest_cluster=settings.largest_cluster, rare_locations=settings.rare_locations)
    try:
        options.largest(fewest)
    except ValueError:
        reason = f"privacy.k {inputs.k}" if fewest == inputs.k else f"privacy.l {inputs.l}"
        raise ModelSettingsError(
            f"privacy.largest_cluster is {settings.largest_cluster}: with {reason} it must be at least "
            f"{2 * fewest - 1}, or none"
        ) from None
    return DisassociationPlan(
        guarantee=guarantee,
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        options=options,
        sensitive=sensitive,
    )
