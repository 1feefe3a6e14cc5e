"""What the settings of every model have in common, and what a plan is made of beside them.

The settings of a model stand in its own folder. ``core/models/registry.py`` composes them, and ``stream`` adds what all
models share: the section ``privacy``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict

from core.places.constraints import Constraints
from core.places.locate import Locator
from core.places.meaning import Taxonomy
from core.places.taxonomy import Categories
from core.records.profile import Profile
from core.trajectories.assemble import Limits
from core.trajectories.joining import Joining

__all__ = ["Context", "ModelSettings", "ModelSettingsError", "PlanInputs"]


class ModelSettingsError(ValueError):
    """Settings of a model that do not fit; the message is a sentence that says which, and what is allowed."""


class ModelSettings(BaseModel):
    """Settings of a model: names, defaults, ranges, and a docstring each."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What the settings of a model have to fit, before any file is read."""

    model: str
    k: int
    window_ms: int
    has_constraints: bool
    """Whether ``privacy.constraints`` is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInputs:
    """What a plan is made of, beside the settings of its model."""

    model: str
    k: int
    m: int
    l: int  # noqa: E741 - the name that the guarantees have
    delta_m: float
    limits: Limits
    secret: bytes = field(repr=False)
    """Key of releases."""

    locator: Locator = field(repr=False)
    """The feed's vocabulary of locations."""

    profile: Profile | None = field(repr=False)
    """What records state about their person."""

    attributes: tuple[str, ...] = field(repr=False)
    """Names of the attributes that are released; those of the profile, without the sensitive one."""

    sensitive_field: str | None = field(repr=False)
    """The attribute of the profile that is sensitive."""

    hierarchies: Mapping[str, Categories] = field(repr=False)
    """Hierarchies of attributes, by name."""

    joining: Joining
    """How fragments become trajectories."""

    taxonomy: Callable[[], Taxonomy]
    """Reads what the locations mean."""

    constraints: Callable[[], Constraints]
    """Reads which locations may be generalized together."""

    sensitive_locations: Callable[[], frozenset[str]]
    """Finds the names of the sensitive locations."""
