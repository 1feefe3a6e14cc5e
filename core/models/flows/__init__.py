"""Flows: how many people went from one place to another, if at least k did (see README.md)."""

from core.models.common.family import Family, ModelSummary
from core.models.flows import measure, noisy, plan, release
from core.models.flows.released import PublishedFlow
from core.models.flows.settings import FlowSettings, check_budget
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "flows": ModelSummary(
            needs="nothing more; suits H3 cells, whose parents are the larger places; `noise: laplace` makes the "
            "numbers differentially private",
        ),
    },
    promise="each released number of people who went from one place to another is at least `k`, and no two places of a "
    "release overlap",
    figures={
        "places": "Places between which there are flows.",
        "original_locations": "Places that are one location as it is.",
        "radius_m": "Mean radius of the places of all flows, metres, weighted by people; 0 for a location as it is.",
        "inside_share": "Share of the counted people who are in flows inside one place.",
        "trips_released": "Trips of all flows; null if it would reveal that 1 to k-1 people made several.",
        "trips_suppressed": "Trips that are in no flow; null if they are of 1 to k-1 people.",
    },
    released=PublishedFlow,
    kind=Kind.CHECKINS,
    settings=FlowSettings,
    plan=plan.make_plan,
    assemble=release.assemble,
    anonymize=release.anonymize,
    candidate=release.candidate,
    verify=release.verify,
    publish=release.publish,
    loss=measure.loss,
    measure=measure.measure,
    answers=measure.answers,
    count=noisy.count,
    check=check_budget,
)
