"""(k,delta)-anonymity: GPS trajectories in sets, Never Walk Alone and Wait for Me (README.md here)."""

from core.models.common.family import Family, ModelSummary
from core.models.kdelta import measure, plan, release
from core.models.kdelta.released import PointTrajectory
from core.models.kdelta.settings import KDeltaSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "w4m": ModelSummary(
            needs="nothing more; moves points in space and time",
        ),
        "nwa": ModelSummary(
            needs="nothing more; cuts trajectories to equal intervals (`granularity`) and moves points in space alone",
        ),
        "pw4m": ModelSummary(
            needs="demands in fragments or in `demands_file`",
            also="people may demand a larger `k` and a smaller `delta_m`",
        ),
        "pw4m-tr": ModelSummary(
            needs="the same; cuts trajectories where their neighbours change",
            also="people may demand a larger `k` and a smaller `delta_m`",
        ),
        "bounded-pw4m": ModelSummary(
            needs="the same; relaxes the largest demands until the distortion is lower by `improvement`",
            also="larger demands are kept as far as the distortion allows",
        ),
    },
    promise="each released trajectory belongs to a set of released trajectories of at least `k` people; those of one "
    "set are never more than `delta_m` metres apart",
    figures={
        "mean_space_translation_m": "Mean distance by which points were moved, metres, to two digits.",
        "mean_time_translation_s": "Mean time by which points were moved, seconds, to two digits.",
        "sets": "Sets of at least k people.",
        "people_demanding_more": "People who demand a larger k or a smaller delta; null if that could reveal fewer "
        "than k.",
        "people_relaxed": "People who got less than they demand; null if that could reveal fewer than k.",
    },
    parameters={
        "delta_m": "`privacy.delta_m`, metres.",
        "distance": "`privacy.distance`; `euclidean` under `nwa`.",
        "clustering": "`refined` by local search, or `greedy` (`privacy.refinement`).",
    },
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
    answers=measure.answers,
)
