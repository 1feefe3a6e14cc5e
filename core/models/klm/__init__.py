"""(k,l)^m-anonymity: sequences generalized in clusters of similar people, ZGA and SGA (README.md here)."""

from core.models.common.family import Family
from core.models.klm import measure, plan, release
from core.models.klm.settings import KLmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("lm-anon", "zga", "sga"),
    kind=Kind.CHECKINS,
    settings=KLmSettings,
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
