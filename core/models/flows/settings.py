"""The settings of ``flows``, in the section ``privacy``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from core.models.common.settings import Context, ModelSettings, ModelSettingsError
from core.models.common.values import DURATION_MS, none_by_name, show_duration

__all__ = ["FlowSettings", "check_budget", "windows_of_a_day"]


class FlowSettings(ModelSettings):
    """The settings that only this model has."""

    trips: Literal["successive", "first-last"] = "successive"
    """What ``flows`` counts as a trip: ``successive`` each step from a location to the next different one,
    ``first-last`` only from a person's first location in the window to the last one."""

    max_suppressed_trips: Annotated[float, Field(ge=0, le=100)] = 100.0
    """Most trips of a window that ``flows`` may leave out to keep places small, percent. More only if one place for the
    whole window has more. At 100 the loss alone decides: a trip that is left out costs as much as one of which only the
    region of all trips is known."""

    noise: Literal["none", "laplace"] = "none"
    """Which noise ``flows`` adds to the numbers of people: ``none``, or ``laplace`` for differential privacy, which
    needs ``epsilon``, ``epsilon_per_day`` and the extra ``dp`` (OpenDP). Places are then locations as they are."""

    epsilon: Annotated[Annotated[float, Field(gt=0, le=100)] | None, BeforeValidator(none_by_name)] = None
    """The epsilon of one window of one shard, for ``noise: laplace``: the smaller, the more noise."""

    epsilon_per_day: Annotated[Annotated[float, Field(gt=0, le=1000)] | None, BeforeValidator(none_by_name)] = None
    """The budget for ``noise: laplace``: most that ``epsilon`` may come to over all windows with records of one day."""

    dp_delta: Annotated[float, Field(gt=0, le=0.01)] = 1e-6
    """The delta of one window, for ``noise: laplace``: bounds the probability that a flow of one person appears."""

    max_flows_per_person: Annotated[int, Field(ge=1, le=1000)] = 4
    """Most flows of a window in which a person is counted, for ``noise: laplace``; of more, some are drawn by a keyed
    hash. The noise grows with it."""


def windows_of_a_day(window_ms: int) -> int:
    """Return over how many windows the records of one day may be spread, at most.

    >>> windows_of_a_day(3_600_000), windows_of_a_day(604_800_000), windows_of_a_day(25_200_000)
    (24, 1, 5)
    """
    day_ms = DURATION_MS["d"]
    if day_ms % window_ms == 0 or window_ms % day_ms == 0:
        return max(day_ms // window_ms, 1)
    return -(-day_ms // window_ms) + 1


def check_budget(settings: FlowSettings, context: Context) -> None:
    """Check that the windows of a day do not exceed the budget.

    Raises:
        ModelSettingsError: They do, or epsilon or budget is missing.
    """
    epsilon, budget = settings.epsilon, settings.epsilon_per_day
    if settings.noise == "none":
        return
    if epsilon is None or budget is None:
        missing = "epsilon" if epsilon is None else "epsilon_per_day"
        raise ModelSettingsError(f"privacy.{missing} is not set: privacy.noise {settings.noise} needs it; such as 1.0")
    n_windows = windows_of_a_day(context.window_ms)
    if n_windows * epsilon > budget * (1 + 1e-9):
        raise ModelSettingsError(
            f"privacy.epsilon is {epsilon:g}: the records of a day are in up to {n_windows} windows of "
            f"{show_duration(context.window_ms)}, so with privacy.epsilon_per_day {budget:g} it must be at most "
            f"{budget / n_windows:g}; or choose a longer window.size"
        )
