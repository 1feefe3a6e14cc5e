"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import ModelSettingsError, PlanInputs
from core.models.kkm.anonymize.result import RTOptions
from core.models.kkm.attributes import Attribute, CategoricalAttribute, Hierarchy, NumericAttribute, Schema
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.settings import KKmSettings
from core.places.locate import Locator
from core.places.taxonomy import Categories
from core.records.profile import Categorical, Numeric, Profile

__all__ = ["KKmPlan", "make_plan"]

_HORIZON = 8
"""By default: attributes of windows that stand alone may fit fewer than k people (README.md, What a horizon costs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KKmPlan(Plan):
    """Check-ins, released as a person's attributes and set of locations, both generalized."""

    guarantee: KKmAnonymity
    locator: Locator = field(repr=False)
    options: RTOptions
    profile: Profile
    """The attributes of people that rows contain."""

    schema: Schema = field(repr=False)
    """The attributes that are released, with their ranges and hierarchies."""

    sensitive: frozenset[str] = field(repr=False)
    """Names of the sensitive locations; used where the guarantee has an l."""

    @property
    def horizon(self) -> int:
        """See :attr:`Plan.horizon`."""
        return self.guarantee.horizon

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return "rum-bound" if self.options.bound == "ncp" else "tum-bound"

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        promised: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m}
        if self.guarantee.l is not None:
            promised |= {"l": self.guarantee.l, "sensitive_locations": len(self.sensitive)}
        merging: Parameters = {"max_loss": self.options.delta, "merge": self.options.merge}
        if self.options.distance == "ul":
            merging |= {"alike_by": "ul", "ul_candidates": self.options.n_measured}
        return promised | merging | {"horizon": self.horizon}

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "(k,k^m)" if self.guarantee.l is None else "(k,l^m)"


def make_plan(settings: KKmSettings, inputs: PlanInputs) -> KKmPlan:
    """Make the plan that the settings ask for.

    Raises:
        ModelSettingsError: No attribute is to be released.
    """
    if inputs.profile is None or not inputs.attributes:
        raise ModelSettingsError(
            f"privacy.attributes is not set: privacy.model {inputs.model} releases attributes of people; name them, "
            "such as age: 0..120"
        )
    sensitive = inputs.sensitive_locations()
    return KKmPlan(
        guarantee=KKmAnonymity(
            k=inputs.k, m=inputs.m, l=inputs.l if sensitive else None, horizon=settings.horizon or _HORIZON
        ),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        options=RTOptions(
            bound="ncp" if inputs.model == "rum-bound" else "ul",
            delta=settings.max_loss,
            merge=settings.merge,
            distance=settings.alike_by,
            n_measured=settings.ul_candidates,
        ),
        profile=inputs.profile,
        schema=tuple(
            _attribute(known, inputs.hierarchies)
            for known in inputs.profile.attributes
            if known.name in inputs.attributes
        ),
        sensitive=sensitive,
    )


def _attribute(known: Numeric | Categorical, trees: Mapping[str, Categories]) -> Attribute:
    if isinstance(known, Numeric):
        # A range of one value has no loss, but its length must not be 0.
        return NumericAttribute(name=known.name, low=known.low, high=max(known.high, known.low + 1))
    return CategoricalAttribute(name=known.name, hierarchy=Hierarchy(trees[known.name]))
