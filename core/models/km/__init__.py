"""k^m-anonymity of sequences: SeqAnon, SD-SeqAnon, U-SeqAnon, least loss, and the best of several (README.md here)."""

from core.models.common.family import Family, Variant
from core.models.km import measure, plan, release
from core.models.km.settings import KmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("seqanon", "sd-seqanon", "u-seqanon", "least-loss", "auto"),
    kind=Kind.CHECKINS,
    settings=KmSettings,
    check=plan.check,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
    measures_meaning=True,
    variants=(
        Variant(
            name="suppression only",
            model="least-loss",
            given={"suppression_price": 0, "max_suppressed": 100, "max_split": 0},
        ),
    ),
)
