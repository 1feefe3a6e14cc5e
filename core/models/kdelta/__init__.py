"""(k,delta)-anonymity: GPS trajectories in sets, Never Walk Alone and Wait for Me (README.md here)."""

from core.models.common.family import Family
from core.models.kdelta import measure, plan, release
from core.models.kdelta.settings import KDeltaSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("w4m", "nwa", "pw4m", "pw4m-tr", "bounded-pw4m"),
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
