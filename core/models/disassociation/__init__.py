"""Disassociated k^m-anonymity: sets of locations, released in parts that nothing links (README.md here)."""

from core.models.common.family import Family, ModelSummary
from core.models.disassociation import measure, plan, release
from core.models.disassociation.released import ClusterGroup
from core.models.disassociation.settings import DisassociationSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("disassociation",),
    summaries=(
        ModelSummary(
            models=("disassociation",),
            promise="for up to `m` locations that an adversary knows of a person, in no order, the release describes a "
            "possible window in which at least `k` people visited all of them",
            needs="nothing more; separates what belongs together, locations stay as they are",
        ),
    ),
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
)
