"""The plan: everything besides the rows that decides what a window releases; and how settings become a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

from core.models.common.guarantee import Parameters
from core.models.common.plan import ALGORITHMS, Plan
from core.models.common.settings import Context, ModelSettingsError, PlanInputs
from core.models.km.algorithms import Auto, LeastLoss, SDSeqAnon, SeqAnon, SequenceAlgorithm, USeqAnon
from core.models.km.anonymize.least_loss.anonymize import LeastLossOptions
from core.models.km.anonymize.least_loss.prices import Prices
from core.models.km.guarantee import KmAnonymity
from core.models.km.settings import KmSettings
from core.places.locate import Locator

__all__ = ["KmPlan", "check", "make_plan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmPlan(Plan):
    """Check-ins, released as sequences of generalized locations."""

    guarantee: KmAnonymity
    locator: Locator = field(repr=False)
    algorithm: SequenceAlgorithm
    suppression_price: float = 1.0
    """Price of a visit that the horizon suppresses; see :class:`core.models.km.anonymize.least_loss.prices.Prices`."""

    @property
    def horizon(self) -> int:
        """See :attr:`Plan.horizon`."""
        return self.guarantee.horizon

    @property
    def algorithms(self) -> tuple[str, ...]:
        """See :attr:`Plan.algorithms`. A horizon of these models once had no effect: a seal of then is another one."""
        return (*ALGORITHMS.values(), *(["horizon"] if self.horizon > 1 else []))

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return self.algorithm.model

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        named: Parameters = {"k": self.guarantee.k, "m": self.guarantee.m, **self.algorithm.parameters}
        if self.horizon > 1:
            named |= {"suppression_price": self.suppression_price, "horizon": self.horizon}
        return named

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "k^m"


def check(settings: KmSettings, context: Context) -> None:
    """Check the settings before any file is read.

    Raises:
        ModelSettingsError: Constraints are missing.
    """
    if context.model == "u-seqanon" and not context.has_constraints:
        raise ModelSettingsError(
            "privacy.constraints is not set: privacy.model u-seqanon needs level:N of the taxonomy, "
            "or a CSV with location,constraint"
        )


def make_plan(settings: KmSettings, inputs: PlanInputs) -> KmPlan:
    """Make the plan that the settings ask for."""
    return KmPlan(
        guarantee=KmAnonymity(k=inputs.k, m=inputs.m, horizon=settings.horizon or 1),
        limits=inputs.limits,
        secret=inputs.secret,
        locator=inputs.locator,
        algorithm=_algorithm(settings, inputs),
        suppression_price=settings.suppression_price,
    )


def _algorithm(settings: KmSettings, inputs: PlanInputs) -> SequenceAlgorithm:
    if inputs.model == "sd-seqanon":
        return SDSeqAnon(inputs.taxonomy())
    if inputs.model == "u-seqanon":
        return USeqAnon(inputs.constraints(), settings.suppression_percent)
    if inputs.model == "seqanon":
        return SeqAnon(settings.apriori)
    prices = Prices(suppression=settings.suppression_price, split=settings.split_price)
    least_loss = LeastLoss(
        LeastLossOptions(
            prices=prices,
            max_suppressed_percent=settings.max_suppressed,
            max_split_percent=settings.max_split,
        )
    )
    if inputs.model == "least-loss":
        return least_loss
    return Auto((least_loss, SeqAnon(), SDSeqAnon(inputs.taxonomy())), prices, settings.max_work)
