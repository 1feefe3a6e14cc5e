"""LKC-privacy: visits with slots of time, suppressed wherever too few people made them (README.md here)."""

from core.models.common.family import Family
from core.models.lkc import measure, plan, release
from core.models.lkc.settings import LKCSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("lkc",),
    kind=Kind.CHECKINS,
    settings=LKCSettings,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
)
