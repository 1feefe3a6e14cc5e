"""(k,l)^m-anonymity: sequences generalized in clusters of similar people, ZGA and SGA (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.common.sequences import SequenceTrajectory
from core.models.klm import measure, plan, release
from core.models.klm.settings import KLmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

_PROMISE = (
    "an adversary who knows up to `m` locations of a person that are not sensitive, in order, finds at least `k` "
    "people who match, and at most one in `l` of them is shown at any one sensitive location"
)

FAMILY = Family(
    models=("lm-anon", "zga", "sga"),
    summaries=(
        ModelSummary(
            models=("lm-anon",),
            promise=_PROMISE,
            needs="`sensitive_locations`; merges locations for all people alike",
        ),
        ModelSummary(
            models=("zga",),
            promise=_PROMISE,
            needs="`sensitive_locations`; merges locations in clusters of people who visited neighbouring places",
        ),
        ModelSummary(
            models=("sga",),
            promise=_PROMISE,
            needs="`sensitive_locations`; merges locations in clusters of people who share frequent subtrajectories",
        ),
    ),
    released=SequenceTrajectory,
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
