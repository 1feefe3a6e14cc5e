"""The common base of all models' settings, and the other inputs of a plan.

The settings of a model are in its own folder. ``core/models/registry.py`` combines them, and ``stream`` adds the
settings that all models share. Together they are the section ``privacy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from core.models.common.values import none_by_name
from core.places.constraints import Constraints
from core.places.locate import Locator
from core.places.meaning import Taxonomy
from core.places.taxonomy import Categories
from core.records.profile import Profile
from core.trajectories.assemble import Limits
from core.trajectories.joining import Joining

__all__ = [
    "Context",
    "HorizonSettings",
    "ModelSettings",
    "ModelSettingsError",
    "PatternSettings",
    "PlanInputs",
    "SuppressionSettings",
]


class ModelSettingsError(ValueError):
    """Settings of a model are not allowed; the message is a sentence that names them and what is allowed."""


class ModelSettings(BaseModel):
    """Settings of a model: names, defaults, ranges, and a docstring each."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class HorizonSettings(ModelSettings):
    """The setting of models whose promise can span windows."""

    horizon: Annotated[Annotated[int, Field(ge=1, le=100)] | None, BeforeValidator(none_by_name)] = None
    """Over how many successive windows of a shard the promise holds, for ``seqanon``, ``sd-seqanon``, ``u-seqanon``,
    ``least-loss``, ``auto``, ``lkc``, ``rum-bound``, ``tum-bound`` and ``across``; with ``across: persistent``, the
    windows of an epoch. By default 2 for ``across``, each window and the next; 8 for ``lkc``, ``rum-bound`` and
    ``tum-bound``; and 1 for the others. 1 lets each window stand alone."""


class PatternSettings(ModelSettings):
    """The setting of models whose measures compare frequent patterns."""

    longest_pattern: Annotated[int, Field(ge=1, le=10)] = 3
    """Most locations of the frequent patterns, or pairs of the frequent sequences, that ``--measure all`` compares, for
    ``p2ka`` and ``lkc``. The papers have no bound; windows of long trajectories need one."""


class SuppressionSettings(ModelSettings):
    """The setting of models that keep utility constraints by suppressing locations."""

    suppression_percent: Annotated[float, Field(ge=0, le=100)] = 5.0
    """Most locations of a window that ``u-seqanon``, ``coat`` and ``pcta`` may suppress, percent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model's settings are checked against, before any file is read."""

    model: str
    k: int
    window_ms: int
    has_constraints: bool
    """Whether ``privacy.constraints`` is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """The inputs of a plan besides the settings of its model."""

    model: str
    k: int
    m: int
    l: int  # noqa: E741 - the name that the guarantees have
    delta_m: float
    limits: Limits
    secret: bytes = field(repr=False)
    """Key of pseudonyms, release ids and random choices; see :attr:`core.models.common.plan.Plan.secret`."""

    locator: Locator = field(repr=False)
    """The feed's vocabulary of locations."""

    profile: Profile | None = field(repr=False)
    """What records state about their person."""

    attributes: tuple[str, ...] = field(repr=False)
    """Names of the released attributes: those of the profile without the sensitive one."""

    sensitive_field: str | None = field(repr=False)
    """The attribute of the profile that is sensitive."""

    hierarchies: Mapping[str, Categories] = field(repr=False)
    """Hierarchies of attributes, by name."""

    joining: Joining
    """How fragments become trajectories."""

    window_ms: int
    """Length of a window."""

    taxonomy: Callable[[], Taxonomy]
    """Reads the meaning of the locations."""

    constraints: Callable[[], Constraints]
    """Reads which locations may be generalized together."""

    sensitive_locations: Callable[[], frozenset[str]]
    """Finds the names of the sensitive locations."""
