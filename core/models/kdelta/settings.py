"""The settings of the models of fragments, as they stand in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from core.models.common.settings import ModelSettings
from core.models.common.values import Duration, PositiveDuration, none_by_name

__all__ = ["KDeltaSettings"]


class KDeltaSettings(ModelSettings):
    """The settings of these models alone; all models share others."""

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    """How points of a set are moved together; ``minimal`` is the published rule, which gives pivots away."""

    time_step: PositiveDuration = 30_000
    """Step of the common grid of time stamps in released trajectories."""

    time_tolerance: Duration = 60_000
    """How far in time LSTD looks for the nearest position."""

    distance: Literal["lstd", "edr"] = "lstd"
    """What makes trajectories near: ``lstd``, their mean distance, tolerant in time, or ``edr``, the share of points
    that have no counterpart within the tolerances. Not for ``nwa``."""

    space_tolerance_m: Annotated[Annotated[float, Field(ge=0, le=1_000_000)] | None, BeforeValidator(none_by_name)] = (
        None
    )
    """How far apart in each coordinate points may be that EDR takes for counterparts; the delta where not set."""

    max_radius_m: Annotated[float, Field(gt=0, le=20_000_000)] = 5_000.0
    """Largest distance from a pivot to its cluster's members at first; it grows where too much would be trash."""

    max_radius_edits: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The same for ``distance: edr``, edits a point. Who has no point in common with enough others is suppressed."""

    refinement: bool = True
    """Whether clusters are improved by local search; without it they are those of the published algorithms."""

    chunk_size: Annotated[Annotated[int, Field(ge=2)] | None, BeforeValidator(none_by_name)] = 1_000
    """Most trajectories that are clustered together, or ``none``; larger windows are divided into chunks of similar
    trajectories, at some loss. Whoever demands more people than a chunk has is suppressed."""

    granularity: PositiveDuration = 60_000
    """What the intervals of ``nwa`` begin and end at multiples of; a multiple of ``time_step``."""

    sigma_m: Annotated[float, Field(ge=0.01, le=10_000_000)] = 200.0
    """How near is together, for ``pw4m-tr`` and ``bounded-pw4m``: who is so far away counts for 0.61 of a neighbour."""

    segment_window: Annotated[int, Field(ge=1)] = 4
    """Steps of a trajectory before and after a cut whose neighbours ``pw4m-tr`` compares; no piece has fewer."""

    segment_threshold: Annotated[float, Field(ge=0.000_001, le=1_000_000)] = 1.0
    """Difference in neighbours that ``pw4m-tr`` cuts at."""

    improvement: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """How much lower than under ``pw4m`` the distortion is to be under ``bounded-pw4m``, which relaxes the demands of
    the most demanding for it, down to ``k`` and ``delta_m`` at most."""

    edit_factor: Annotated[float, Field(ge=0, le=1_000)] = 0.25
    """How bad it is to relax somebody's demands completely; suppressing somebody is 1."""

    edit_step_percent: Annotated[int, Field(ge=1, le=99)] = 10
    """By how much the share of people relaxed grows from try to try."""

    trash_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Largest share of trajectories left out before the radius grows."""
