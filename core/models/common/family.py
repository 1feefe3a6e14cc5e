"""A family: models that share a guarantee, as one object with all functions that handle a window.

The functions are in the order in which a sealed window passes through them. ``core/pipeline.py`` calls them to release
a window, ``core/models/measures.py`` to measure it; no other code depends on the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from core.models.common.plan import Plan
from core.models.common.settings import Context, ModelSettings, PlanInputs
from core.records.record import Kind, Rows
from core.release.attacks.linkage import LinkageExtract
from core.release.attacks.risk import Attack, Risk
from core.release.counts import Headcount
from core.release.locations import GeneralizedLocation
from core.release.outcome import Released
from core.utility.window_answers import WindowAnswers
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.draw import Counts
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["AssembledWindow", "Candidate", "Contents", "Family", "ModelSummary", "Variant", "Verdict"]


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
    """The content of a window as it would be published; it is verified first."""

    @property
    def users(self) -> Sequence[int]:
        """The user behind each released trajectory or record; not published."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What a verifier found."""

    finding: str | None = None
    """How the candidate breaks the guarantee, without naming a location or user; None if it keeps the guarantee."""

    smallest_support: int = 0
    """Smallest support, set or crowd observed, in distinct people; used if the guarantee is kept."""

    information_loss: Mapping[str, float] = field(default_factory=dict)
    """Further figures; they are published with the information loss of :class:`Contents`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Everything that a release publishes of a window, besides the guarantee and the numbers of people."""

    messages: tuple[Released, ...] = field(repr=False)
    """The released messages, in the order of their pseudonyms if they have one."""

    locations: tuple[GeneralizedLocation, ...] | None = field(repr=False)
    """The generalized locations of the release; None for points."""

    points_released: int
    """Visits or points of the release."""

    rows_released: int
    """Rows of the window that are released; the others are suppressed."""

    people_suppressed: int
    """Distinct people of whom a row is suppressed."""

    information_loss: dict[str, float | int | None]
    """Published figures of information loss."""

    risks: Mapping[Attack, Risk] = field(default_factory=dict)
    """Results of simulated attacks; not published."""

    compared: Mapping[str, float] = field(default_factory=dict)
    """Loss of each model that was compared, the chosen one first; not published."""

    extract: LinkageExtract | None = None
    """What an attack needs that links this release to the next one of the shard; not published."""

    roster: Roster | None = None
    """What later windows have to know of this one, if the promise spans windows; not published."""

    has_noise: bool = False
    """Whether all counts have noise: then no exact number of people or visits is published beside them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSummary:
    """What the documentation says of one model of a family, in Markdown."""

    needs: str
    """Which settings the model needs, and what it does to keep the promise."""

    also: str = ""
    """What it promises besides the family's promise."""

    page: str = "README.md"
    """The file in the family's folder that explains it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A model under some settings, as one line of a comparison."""

    name: str
    """Name in the results; a model with the configured settings has the model's name."""

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

    summaries: Mapping[str, ModelSummary]
    """The models by their names in the settings."""

    promise: str
    """What a release of any of them promises, in Markdown, with the settings as its symbols."""

    figures: Mapping[str, str]
    """Meaning of each figure of ``information_loss`` in their windows messages."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Meaning of each of the ``parameters`` that is not the value of the setting with its name."""

    released: type[Released]
    """Type of their messages."""

    kind: Kind
    """The kind of feed that they anonymize."""

    settings: type[S]
    """Their settings in the section ``privacy``."""

    plan: Callable[[S, PlanInputs], P]
    """Make the plan that the settings ask for; raises ``ModelSettingsError``."""

    assemble: Callable[[Seal, Rows, P], W]
    """Turn the rows of a sealed window into the input of the anonymizer."""

    anonymize: Callable[[Seal, W, P], R | None]
    """Anonymize the window; None if that is impossible under the settings."""

    candidate: Callable[[W, R, P], C | None]
    """Write out what would be published; None if nothing is left."""

    verify: Callable[[W, C, P], Verdict]
    """Check that the candidate keeps the guarantee, by code that shares nothing with the anonymizer."""

    publish: Callable[[Seal, W, R, C, Headcount, P], Contents]
    """Return what a verified candidate publishes."""

    loss: Callable[[W, R, P], WindowLoss]
    """Measure the loss by which all models are compared; not for publication."""

    measure: Callable[[Seal, W, R, P, MeasureInputs], WindowMeasures]
    """Measure the figures by which this model is judged; not for publication."""

    answers: Callable[[Seal, Rows, W, R, P], WindowAnswers]
    """Return what the raw window and its release answer to COUNT queries; not for publication."""

    protects_sensitive_locations: bool = False
    """Whether these models use ``privacy.sensitive_locations``."""

    needs_attributes: bool = False
    """Whether these models release attributes of people, which fragments do not have."""

    measures_meaning: bool = False
    """Whether the measures need the meaning of locations."""

    variants: tuple[Variant, ...] = ()
    """Points of reference in comparisons, besides the models with the configured settings."""

    count: Callable[[Seal, W, P], Counts] | None = None
    """Return the exact counts to which the noise of the plan is added; never published."""

    check: Callable[[S, Context], None] = lambda _settings, _context: None
    """Check the settings against those of the feed, before any file is read; raises ``ModelSettingsError``."""

    @property
    def models(self) -> tuple[str, ...]:
        """Their names in the settings."""
        return tuple(self.summaries)
