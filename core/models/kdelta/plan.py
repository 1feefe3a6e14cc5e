"""The plan: everything that decides what a window releases, besides its rows; and how settings become a plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.common.settings import Context, ModelSettingsError, PlanInputs
from core.models.common.values import show_duration
from core.models.kdelta.algorithms import (
    AnonymizedTrajectories,
    BoundedWaitForMe,
    NeverWalkAlone,
    SegmentedWaitForMe,
    TrajectoryAlgorithm,
    WaitForMe,
)
from core.models.kdelta.anonymize.bounding import BoundedOptions
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions
from core.models.kdelta.anonymize.segmentation import SegmentationOptions
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.guarantee import KDelta, Mixing, Persistent
from core.models.kdelta.settings import KDeltaSettings
from core.trajectories.joining import Joining

__all__ = ["KDeltaPlan", "LastResult", "check", "make_plan"]

_LONGEST_SPAN_STEP_MS = 300_000
_HORIZON = 2

_NOT_PERSISTENT = {
    "nwa": "which leaves out everybody whose interval changes",
    "pw4m-tr": "which puts the pieces of one person into several sets",
}
"""Models that cannot keep people together over an epoch, and why."""


@dataclass(slots=True, eq=False)
class LastResult:
    """Keeps the result of the window released last until it is measured."""

    _of: str | None = None
    _result: AnonymizedTrajectories | None = None

    def made(self, release_id: str, make: Callable[[], AnonymizedTrajectories]) -> AnonymizedTrajectories:
        """Return the kept result of a release and forget it; if there is none, make it and keep it."""
        kept = self._result if self._of == release_id else None
        self._of = self._result = None  # if making fails, no result of another window is left
        if kept is not None:
            return kept
        self._of, self._result = release_id, make()
        return self._result


@dataclass(frozen=True, slots=True, kw_only=True)
class KDeltaPlan(Plan):
    """Fragments, released as GPS trajectories."""

    guarantee: KDelta
    algorithm: TrajectoryAlgorithm
    joining: Joining = field(default_factory=Joining)
    """Which points can follow one another, and where trajectories are cut."""

    last: LastResult | None = field(default=None, repr=False)
    """See :meth:`Plan.remembering`."""

    def __post_init__(self) -> None:
        Plan.__post_init__(self)
        if self.guarantee.personal != self.algorithm.personal:
            raise ValueError(
                f"guarantee.personal is {self.guarantee.personal}: with {self.algorithm.model} it must be "
                f"{self.algorithm.personal}"
            )

    def remembering(self) -> KDeltaPlan:
        """See :meth:`Plan.remembering`."""
        return replace(self, last=LastResult())

    @property
    def model(self) -> str:
        """See :attr:`Plan.model`."""
        return self.algorithm.model

    @property
    def parameters(self) -> Parameters:
        """See :attr:`Plan.parameters`."""
        return {
            "k": self.guarantee.k,
            "delta_m": self.guarantee.delta_m,
            **self.algorithm.parameters,
            **_parameters_across(self.guarantee.across),
        }

    @property
    def horizon(self) -> int:
        """See :attr:`Plan.horizon`."""
        return 1 if self.guarantee.across is None else self.guarantee.across.horizon

    @property
    def promised_linkage(self) -> float | None:
        """See :attr:`Plan.promised_linkage`."""
        across = self.guarantee.across
        return 1 / across.l if isinstance(across, Mixing) else None

    @property
    def promise(self) -> str:
        """See :attr:`Plan.promise`."""
        return "(k,delta)"  # a person who demands more is given it or left out, never given less


def _parameters_across(across: Mixing | Persistent | None) -> Parameters:
    if across is None:
        return {}
    name = "mixing" if isinstance(across, Mixing) else "persistent"
    return {"across": name, "mixing_l": across.l, "horizon": across.horizon}


def check(settings: KDeltaSettings, context: Context) -> None:
    """Check the settings against the window and one another.

    Raises:
        ModelSettingsError: Time stamps could leave their window, chunks are too small for k, or the promise across
            windows does not fit the translation.
    """
    if settings.across == "persistent" and context.model in _NOT_PERSISTENT:
        raise ModelSettingsError(
            f"privacy.across is persistent: with privacy.model {context.model}, {_NOT_PERSISTENT[context.model]}, it "
            "must be none or mixing"
        )
    if settings.across != "none" and settings.translation == "minimal":
        raise ModelSettingsError(
            f"privacy.across is {settings.across}: with privacy.translation minimal, which releases raw "
            "trajectories and so links windows, it must be none"
        )
    if settings.across != "none" and settings.mixing_l > context.k:
        raise ModelSettingsError(
            f"privacy.mixing_l is {settings.mixing_l}: it must be at most privacy.k, {context.k}, because the people "
            "of a set go to as many sets"
        )
    if settings.across != "none" and settings.horizon == 1:
        raise ModelSettingsError(
            f"privacy.across is {settings.across} and privacy.horizon is 1: a promise across windows needs a horizon "
            "of at least 2, or none for the default"
        )
    if context.window_ms % settings.time_step:
        raise ModelSettingsError(
            f"privacy.time_step is {show_duration(settings.time_step)}: it must divide window.size, "
            f"{show_duration(context.window_ms)}, so that released time stamps stay inside their window"
        )
    if settings.span_step is not None:
        _check_multiple("span_step", settings.span_step, settings, context.window_ms)
    if context.model == "nwa":
        _check_multiple("granularity", settings.granularity, settings, context.window_ms)
    elif settings.chunk_size is not None and settings.chunk_size < 2 * context.k:
        raise ModelSettingsError(
            f"privacy.chunk_size is {settings.chunk_size}: it must be at least twice privacy.k, {context.k}, or none"
        )


def _check_multiple(name: str, value_ms: int, settings: KDeltaSettings, window_ms: int) -> None:
    shown = show_duration(value_ms)
    if value_ms % settings.time_step:
        raise ModelSettingsError(
            f"privacy.{name} is {shown}: it must be a multiple of privacy.time_step, "
            f"{show_duration(settings.time_step)}"
        )
    if window_ms % value_ms:
        raise ModelSettingsError(f"privacy.{name} is {shown}: it must divide window.size, {show_duration(window_ms)}")


def _span_step_ms(settings: KDeltaSettings, window_ms: int) -> int:
    """Return the step of the begin and end of sets: by default the largest that fits, of up to five minutes."""
    if settings.span_step is not None:
        return settings.span_step
    n_steps = window_ms // settings.time_step
    fitting = (n for n in range(_LONGEST_SPAN_STEP_MS // settings.time_step, 1, -1) if n_steps % n == 0)
    return next(fitting, 1) * settings.time_step


def make_plan(settings: KDeltaSettings, inputs: PlanInputs) -> KDeltaPlan:
    """Make the plan that the settings ask for."""
    algorithm = _algorithm(settings, inputs)
    return KDeltaPlan(
        guarantee=KDelta(
            k=inputs.k,
            delta_m=inputs.delta_m,
            personal=algorithm.personal,
            across=_across(settings, inputs.window_ms),
        ),
        limits=inputs.limits,
        secret=inputs.secret,
        algorithm=algorithm,
        joining=inputs.joining,
    )


def _across(settings: KDeltaSettings, window_ms: int) -> Mixing | Persistent | None:
    """Return what is promised of several windows together."""
    horizon, mixing_l = settings.horizon or _HORIZON, settings.mixing_l
    if settings.across == "persistent":
        return Persistent(horizon=horizon, window_ms=window_ms, l=mixing_l)
    return Mixing(l=mixing_l, horizon=horizon) if settings.across == "mixing" else None


def _algorithm(settings: KDeltaSettings, inputs: PlanInputs) -> TrajectoryAlgorithm:
    model = inputs.model
    if model == "nwa":
        return NeverWalkAlone(
            options=NeverWalkAloneOptions(
                translation=settings.translation,
                time_step_ms=settings.time_step,
                max_radius_m=settings.max_radius_m,
                trash_share=settings.trash_share,
                refined=settings.refinement,
                granularity_ms=settings.granularity,
            )
        )
    options = Wait4MeOptions(
        translation=settings.translation,
        time_step_ms=settings.time_step,
        span_step_ms=_span_step_ms(settings, inputs.window_ms),
        max_radius_m=settings.max_radius_m,
        trash_share=settings.trash_share,
        refined=settings.refinement,
        distance=settings.distance,
        time_tolerance_s=settings.time_tolerance / 1000,
        space_tolerance_m=settings.space_tolerance_m,
        max_radius_edits=settings.max_radius_edits,
        chunk_size=settings.chunk_size,
    )
    if model == "pw4m-tr":
        segmentation = SegmentationOptions(
            sigma_m=settings.sigma_m, window=settings.segment_window, threshold=settings.segment_threshold
        )
        return SegmentedWaitForMe(options=options, segmentation=segmentation)
    if model == "bounded-pw4m":
        bound = BoundedOptions(
            improvement=settings.improvement,
            edit_factor=settings.edit_factor,
            step_percent=settings.edit_step_percent,
        )
        return BoundedWaitForMe(options=options, sigma_m=settings.sigma_m, bound=bound)
    return WaitForMe(options=options, personal=model == "pw4m")
