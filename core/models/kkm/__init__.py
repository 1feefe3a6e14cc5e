"""(k,k^m)-anonymity: a person's attributes and set of locations, Rum-bound and Tum-bound (README.md here)."""

from core.models.common.family import Family
from core.models.kkm import measure, plan, release
from core.models.kkm.settings import KKmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("rum-bound", "tum-bound"),
    kind=Kind.CHECKINS,
    settings=KKmSettings,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
    protects_sensitive_locations=True,
)
