"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import ModelSettingsError, PlanInputs
from core.models.common.values import show_duration
from core.models.lkc.anonymize.suppress import LKCOptions, Utility
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Cycle, Slots
from core.models.lkc.settings import LKCSettings
from core.places.locate import Locator
from core.records.profile import Categorical, Profile

__all__ = ["LKCPlan", "make_plan"]


_HORIZON = 8
"""By default: where values belong to people, more windows cost nothing but time (README.md, What a horizon costs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LKCPlan(Plan):
    """Check-ins, released as visits with their slots of time, suppressed wherever too few people made them."""

    guarantee: LKCPrivacy
    locator: Locator = field(repr=False)
    slots: Slots
    options: LKCOptions
    profile: Profile | None = None
    """The attributes of people that rows contain."""

    longest_sequence: int = 3
    """Most pairs of the frequent sequences that are measured; a release does not depend on it."""

    sensitive_field: str | None = None
    """Name of the sensitive attribute; None if there is none."""

    @property
    def sensitive_values(self) -> tuple[str, ...]:
        """The values that are sensitive, in the order of their codes."""
        attributes = () if self.profile is None else self.profile.attributes
        named = [
            attribute
            for attribute in attributes
            if attribute.name == self.sensitive_field and isinstance(attribute, Categorical)
        ]
        return named[0].values if named else ()

    @property
    def horizon(self) -> int:
        """See :attr:`Plan.horizon`; without a bound on sensitive values no window depends on others."""
        return self.guarantee.horizon if self.sensitive_values and self.guarantee.c < 1 else 1

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "lkc"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        promised = {"l": self.guarantee.l, "k": self.guarantee.k, "c": self.guarantee.c}
        slots: Parameters = {"slot_ms": self.slots.granularity_ms, "slots_of": self.slots.cycle.value}
        return promised | slots | {"horizon": self.horizon}

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "LKC"


def make_plan(settings: LKCSettings, inputs: PlanInputs) -> LKCPlan:
    """Make the plan that the settings ask for.

    Raises:
        ModelSettingsError: Slots are too short, or do not fit a day.
    """
    try:
        slots = Slots(granularity_ms=settings.time_slot, cycle=Cycle(settings.slots_of))
    except ValueError:
        raise ModelSettingsError(
            f"privacy.time_slot is {show_duration(settings.time_slot)}: it must be at least 1s, and divide a day where "
            "privacy.slots_of is day"
        ) from None
    return LKCPlan(
        guarantee=LKCPrivacy(l=inputs.m, k=inputs.k, c=settings.max_confidence, horizon=settings.horizon or _HORIZON),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        slots=slots,
        options=LKCOptions(utility=Utility(settings.spare), min_support_percent=settings.frequent_percent),
        longest_sequence=settings.longest_pattern,
        profile=inputs.profile,
        sensitive_field=inputs.sensitive_field,
    )
