"""LKC-privacy: visits with slots of time, suppressed wherever too few people made them (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.lkc import measure, plan, release
from core.models.lkc.released import PairTrajectory
from core.models.lkc.settings import LKCSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "lkc": ModelSummary(
            needs="`time_slot`; `sensitive_field` and `sensitive_values`; suppresses visits",
        ),
    },
    promise="an adversary who knows up to `m` locations of a person and the time slots of the visits finds at least "
    "`k` people who match, or nobody; at most a share of `max_confidence` of them has any one sensitive value, also "
    "over a `horizon` of windows",
    figures={
        "released_locations": "Locations in the release.",
        "released_pairs": "Pairs of a location and a slot of time in the release.",
        "highest_confidence": "Largest share of one sensitive value among people who match; at most `parameters.c`. "
        "With a horizon above 1, each entry of `one_of` counts as equally likely.",
    },
    parameters={
        "l": "As in the paper, the locations and slots that an adversary knows: `privacy.m`.",
        "c": "`privacy.max_confidence`.",
        "horizon": "`privacy.horizon`; 1 if no sensitive value is bounded.",
        "slot_ms": "`privacy.time_slot`, milliseconds.",
    },
    released=PairTrajectory,
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
    answers=measure.answers,
)
