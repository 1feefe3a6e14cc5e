"""Disassociated k^m-anonymity: sets of locations in parts that nothing links (README.md here)."""

from core.models.common.family import Family
from core.models.disassociation import measure, plan, release
from core.models.disassociation.settings import DisassociationSettings
from core.records.record import Kind

__all__ = ["FAMILY"]

FAMILY = Family(
    models=("disassociation",),
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
