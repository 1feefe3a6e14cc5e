"""(k,delta)-anonymity: GPS trajectories in sets, Never Walk Alone and Wait for Me (README.md here)."""

from core.models.common.family import Family, ModelSummary
from core.models.kdelta import measure, plan, release
from core.models.kdelta.released import PointTrajectory
from core.models.kdelta.settings import KDeltaSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

_PROMISE = (
    "each trajectory belongs to a set of at least `k` people whose trajectories are never more than `delta_m` metres "
    "apart"
)

FAMILY = Family(
    models=("w4m", "nwa", "pw4m", "pw4m-tr", "bounded-pw4m"),
    summaries=(
        ModelSummary(
            models=("w4m",),
            promise=_PROMISE,
            needs="nothing more; moves points in space and time",
        ),
        ModelSummary(
            models=("nwa",),
            promise=_PROMISE,
            needs="nothing more; cuts trajectories to equal intervals (`granularity`) and moves points in space alone",
        ),
        ModelSummary(
            models=("pw4m",),
            promise=f"{_PROMISE}; people may demand a larger `k` and a smaller `delta_m`",
            needs="demands in fragments or in `demands_file`",
        ),
        ModelSummary(
            models=("pw4m-tr",),
            promise=f"{_PROMISE}; people may demand a larger `k` and a smaller `delta_m`",
            needs="the same; cuts trajectories where their neighbours change",
        ),
        ModelSummary(
            models=("bounded-pw4m",),
            promise=f"{_PROMISE}; larger demands are kept as far as the distortion allows",
            needs="the same; relaxes the largest demands until the distortion is lower by `improvement`",
        ),
    ),
    released=PointTrajectory,
    kind=Kind.FRAGMENTS,
    settings=KDeltaSettings,
    check=plan.check,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
)
