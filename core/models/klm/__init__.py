"""(k,l)^m-anonymity: sequences generalized in clusters of similar people, ZGA and SGA (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.common.sequences import SequenceTrajectory
from core.models.klm import measure, plan, release
from core.models.klm.settings import KLmSettings
from core.records.record import Kind
from core.utility.published import LOCATION_FIGURES

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "lm-anon": ModelSummary(
            needs="`sensitive_locations`; merges locations for all people alike",
        ),
        "zga": ModelSummary(
            needs="`sensitive_locations`; merges locations in clusters of people who visited neighbouring places",
        ),
        "sga": ModelSummary(
            needs="`sensitive_locations`; merges locations in clusters of people who share frequent subtrajectories",
        ),
    },
    promise="an adversary who knows up to `m` locations of a person that are not sensitive, in order, finds at least "
    "`k` people who match, or nobody; at most one in `l` of them is shown at any one sensitive location",
    figures=LOCATION_FIGURES,
    parameters={
        "sensitive_locations": "How many locations are sensitive.",
        "clusters": "`privacy.clusters`, or `searched`.",
    },
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
    answers=measure.answers,
    protects_sensitive_locations=True,
)
