"""(k,k^m)-anonymity: a person's attributes and set of locations, Rum-bound and Tum-bound (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.kkm import measure, plan, release
from core.models.kkm.released import AttributeRecord
from core.models.kkm.settings import KKmSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "rum-bound": ModelSummary(
            needs="`attributes`; withholds windows that lose more than `max_loss` of them",
        ),
        "tum-bound": ModelSummary(
            needs="`attributes`; withholds windows that lose more than `max_loss` of the locations",
        ),
    },
    promise="an adversary who knows all released attributes of a person and up to `m` locations, in no order, finds at "
    "least `k` people who match, or nobody; with `sensitive_locations`, at most one in `l` of them is shown at each; "
    "attributes of `horizon` windows fit `k` people",
    figures={
        "ncp": "Loss of the attributes, from 0 to 1 (NCP).",
        "ul": "Loss of the locations, from 0 to 1 (UL). A person whose locations are all suppressed counts as 1.",
        "groups": "Groups of people who share their generalized attributes.",
    },
    parameters={
        "sensitive_locations": "How many locations are sensitive.",
        "horizon": "`privacy.horizon`.",
    },
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
    answers=measure.answers,
    protects_sensitive_locations=True,
    needs_attributes=True,
)
