"""A family: models that share a guarantee, as one object that holds all that is done with them.

The functions stand in the order in which a sealed window passes them. ``core/pipeline.py`` calls them to release a
window, ``core/models/measures.py`` to measure it; nothing else asks which model it has to do with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from core.models.common.plan import Plan
from core.models.common.settings import Context, ModelSettings, PlanInputs
from core.records.record import Kind, Rows
from core.release.counts import Headcount
from core.release.locations import GeneralizedLocation
from core.release.outcome import Released
from core.release.risk import Attack, Risk
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["AssembledWindow", "Candidate", "Contents", "Family", "Variant", "Verdict"]


class AssembledWindow(Protocol):
    """The rows of a window, assembled as a model needs them."""

    @property
    def n_users(self) -> int:
        """Distinct people in the rows."""
        ...

    @property
    def duplicates(self) -> int:
        """Rows left out because they repeat another."""
        ...


class Candidate(Protocol):
    """What would leave of a window; it is verified first."""

    @property
    def users(self) -> Sequence[int]:
        """The user behind each released trajectory or record; not published."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a verifier found."""

    finding: str | None = None
    """How the candidate breaks the guarantee, without a location or user; None where it keeps it."""

    smallest_support: int = 0
    """Smallest support, set or crowd that was observed, in distinct people; used where the guarantee is kept."""

    information_loss: Mapping[str, float] = field(default_factory=dict)
    """What was measured besides; it is published with the information loss of :class:`Contents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a release publishes of a window, beside its promise and its numbers of people."""

    messages: tuple[Released, ...] = field(repr=False)
    """In the order of their pseudonyms, where they have one."""

    locations: tuple[GeneralizedLocation, ...] | None = field(repr=False)
    """The generalized locations of the release; None for points."""

    points_released: int
    """Visits or points of the release."""

    rows_released: int
    """Rows of the window that are released; the others are suppressed."""

    people_suppressed: int
    """Distinct people of whom a row is suppressed."""

    information_loss: dict[str, float | int | None]
    """Functions of the release alone."""

    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """What simulated attacks came to; not published."""

    compared: Mapping[str, float] = field(default_factory=dict)
    """What the models that were compared would lose, the chosen one first; not published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A model under some settings, as one line of a comparison."""

    name: str
    """What it is called in the results; a model as the settings have it has the model's name."""

    model: str
    """``privacy.model``."""

    given: Mapping[str, object] = field(default_factory=dict)
    """More settings of the section ``privacy``, by name."""


S = TypeVar("S", bound=ModelSettings)
P = TypeVar("P", bound=Plan)
W = TypeVar("W", bound=AssembledWindow)
R = TypeVar("R")
C = TypeVar("C", bound=Candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family(Generic[S, P, W, R, C]):
    """Models that share a guarantee."""

    models: tuple[str, ...]
    """Their names in the settings."""

    kind: Kind
    """The kind of feed that they anonymize."""

    settings: type[S]
    """Their settings in the section ``privacy``."""

    plan: Callable[[S, PlanInputs], P]
    """Make the plan that the settings ask for; raises ``ModelSettingsError``."""

    assemble: Callable[[Seal, Rows, P], W]
    """Rows of a sealed window to what the anonymizer works on."""

    anonymize: Callable[[Seal, W, P], R | None]
    """Make the window anonymous; None where that cannot be done as the settings ask."""

    candidate: Callable[[W, R, P], C | None]
    """Write out what would leave; None where nothing is left."""

    verify: Callable[[W, C, P], Verdict]
    """Check that the candidate keeps the guarantee, by code that shares nothing with the anonymizer."""

    publish: Callable[[Seal, W, R, C, Headcount, P], Contents]
    """Say what a verified candidate publishes."""

    loss: Callable[[W, R, P], WindowLoss]
    """Measure what every model is compared by; not for publication."""

    measure: Callable[[Seal, W, R, P, MeasureInputs], WindowMeasures]
    """Measure what this model is judged by; not for publication."""

    protects_sensitive_locations: bool = False
    """Whether ``privacy.sensitive_locations`` means something to these models."""

    measures_meaning: bool = False
    """Whether the measures need what locations mean."""

    variants: tuple[Variant, ...] = ()
    """Points of reference in comparisons, beside the models as the settings have them."""

    check: Callable[[S, Context], None] = lambda _settings, _context: None
    """Check the settings against those of the feed, before any file is read; raises ``ModelSettingsError``."""
