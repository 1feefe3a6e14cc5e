"""Pattern-preserving k-anonymity: sequences as they are, where enough people have them in common (README.md here)."""

from core.models.common.family import Family
from core.models.p2ka import measure, plan, release
from core.models.p2ka.settings import P2kASettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("p2ka",),
    kind=Kind.CHECKINS,
    settings=P2kASettings,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
)
