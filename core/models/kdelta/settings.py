"""Settings of the models of fragments, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from core.models.common.settings import HorizonSettings
from core.models.common.values import Duration, PositiveDuration, none_by_name

__all__ = ["KDeltaSettings"]


class KDeltaSettings(HorizonSettings):
    """Settings of these models alone; ``stream`` adds those that all models share."""

    translation: Literal["exchangeable", "minimal"] = "exchangeable"
    """How the points of a set are moved together. ``minimal`` is the published rule, which releases the raw trajectory
    of each pivot; it needs ``across: none``, because raw trajectories link windows."""

    time_step: PositiveDuration = 30_000
    """Step of the common grid of time stamps in released trajectories."""

    span_step: Annotated[PositiveDuration | None, BeforeValidator(none_by_name)] = None
    """Released sets begin and end at multiples of this. The shorter it is, the more the beginning of a set reveals
    about when its members appeared. It must be a multiple of ``time_step`` that divides the window; by default the
    largest one of up to five minutes. Not for ``nwa``, whose intervals have a ``granularity``, nor for
    ``translation: minimal``."""

    time_tolerance: Duration = 60_000
    """Largest difference in time at which LSTD looks for the nearest position and EDR matches two points."""

    distance: Literal["lstd", "edr"] = "lstd"
    """How the distance of trajectories is measured: ``lstd``, the mean distance with a tolerance in time, or ``edr``,
    the share of points without a counterpart within the tolerances. ``nwa`` does not use it."""

    space_tolerance_m: Annotated[Annotated[float, Field(ge=0, le=1_000_000)] | None, BeforeValidator(none_by_name)] = (
        None
    )
    """Largest difference in each coordinate at which EDR matches two points; ``delta_m`` if not set."""

    max_radius_m: Annotated[float, Field(gt=0, le=20_000_000)] = 5_000.0
    """Largest distance of a cluster's members from its pivot at first; it grows while too many trajectories are left
    out."""

    max_radius_edits: Annotated[float, Field(gt=0, lt=1)] = 0.5
    """The same for ``distance: edr``, in edits a point. A trajectory that has points in common with too few others is
    suppressed."""

    refinement: bool = True
    """Whether local search improves the clusters; otherwise they are those of the published algorithms."""

    chunk_size: Annotated[Annotated[int, Field(ge=2)] | None, BeforeValidator(none_by_name)] = 1_000
    """Most trajectories that are clustered together, or ``none`` for no limit. Larger windows are divided into chunks
    of similar trajectories, at some loss. A person who demands more people than a chunk has is suppressed."""

    granularity: PositiveDuration = 60_000
    """The intervals of ``nwa`` begin and end at multiples of this. It must be a multiple of ``time_step``."""

    sigma_m: Annotated[float, Field(ge=0.01, le=10_000_000)] = 200.0
    """Distance that counts as near, for ``pw4m-tr`` and ``bounded-pw4m``: a person this far away counts as 0.61 of a
    neighbour."""

    segment_window: Annotated[int, Field(ge=1)] = 4
    """Number of steps before and after a cut whose neighbours ``pw4m-tr`` compares; no piece has fewer steps."""

    segment_threshold: Annotated[float, Field(ge=0.000_001, le=1_000_000)] = 1.0
    """Smallest difference in the number of neighbours at which ``pw4m-tr`` cuts a trajectory."""

    improvement: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Share by which ``bounded-pw4m`` lowers the distortion of ``pw4m``. It relaxes the demands of the most demanding
    people for that, but never gives anybody less than ``k`` and ``delta_m``."""

    edit_factor: Annotated[float, Field(ge=0, le=1_000)] = 0.25
    """Cost of relaxing a person's demands completely; suppressing the person costs 1."""

    edit_step_percent: Annotated[int, Field(ge=1, le=99)] = 10
    """Percentage points by which the share of relaxed people grows from one try to the next."""

    across: Literal["none", "mixing", "persistent"] = "mixing"
    """What is promised of several windows together: ``none``, each window stands alone; ``mixing``, the people of a
    released set are spread over several sets in later windows; ``persistent``, in an epoch of ``horizon`` windows at
    least ``k`` people share a person's sets in every window, and people are mixed between epochs."""

    mixing_l: Annotated[int, Field(ge=2, le=1_000)] = 2
    """Of the people of a set who are released in a later window, at most one in ``mixing_l`` is in any one set there,
    for ``across: mixing``, and for ``persistent`` where an epoch begins."""

    trash_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Share of trajectories left out above which the radius grows."""
