"""Pattern-preserving k-anonymity: sequences as they are, where enough people have them in common (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.common.sequences import SequenceTrajectory
from core.models.p2ka import measure, plan, release
from core.models.p2ka.settings import P2kASettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "p2ka": ModelSummary(
            needs="nothing more; suits short trajectories, locations stay as they are",
        ),
    },
    promise="at least `k` people of the window made each released sequence, and at least `k` people have it in "
    "the release",
    figures={
        "released_locations": "Locations in the release.",
        "points_added": "Visits in released sequences that their people did not make; null if of 1 to k-1 people.",
    },
    released=SequenceTrajectory,
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
    answers=measure.answers,
)
