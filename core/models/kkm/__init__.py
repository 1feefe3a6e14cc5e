"""(k,k^m)-anonymity: a person's attributes and set of locations, Rum-bound and Tum-bound (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.kkm import measure, plan, release
from core.models.kkm.released import AttributeRecord
from core.models.kkm.settings import KKmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

_PROMISE = (
    "an adversary who knows all released attributes of a person and up to `m` locations, in no order, finds at least "
    "`k` people who match, or nobody; with `sensitive_locations`, at most one in `l` of them is shown at any one of "
    "these"
)

FAMILY = Family(
    models=("rum-bound", "tum-bound"),
    summaries=(
        ModelSummary(
            models=("rum-bound",),
            promise=_PROMISE,
            needs="`attributes`; withholds windows that lose more than `max_loss` of the attributes",
        ),
        ModelSummary(
            models=("tum-bound",),
            promise=_PROMISE,
            needs="`attributes`; withholds windows that lose more than `max_loss` of the locations",
        ),
    ),
    released=AttributeRecord,
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
