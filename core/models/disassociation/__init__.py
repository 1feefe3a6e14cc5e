"""Disassociated k^m-anonymity: sets of locations, released in parts that nothing links (README.md here)."""

from core.models.common.family import Family, ModelSummary
from core.models.disassociation import measure, plan, release
from core.models.disassociation.released import ClusterGroup
from core.models.disassociation.settings import DisassociationSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    summaries={
        "disassociation": ModelSummary(
            needs="nothing more; separates what belongs together, locations stay as they are",
        ),
    },
    promise="for up to `m` locations that an adversary knows of a person, in no order, the release describes a "
    "possible window in which at least `k` people visited all of them; in a cluster at most one in `l` was at any "
    "sensitive location that it names",
    figures={
        "released_locations": "Locations in the release.",
        "clusters": "Clusters of people.",
        "term_chunk_share": "Share of locations that stand in term chunks, where nothing links them to other "
        "locations.",
    },
    parameters={
        "largest_cluster": "Most people of a cluster.",
        "sensitive_locations": "How many locations are sensitive.",
    },
    released=ClusterGroup,
    kind=Kind.CHECKINS,
    settings=DisassociationSettings,
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
    measures_meaning=True,
)
