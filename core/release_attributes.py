"""Release the check-ins of one window with the attributes of people: assemble, merge, verify (k,k^m)-anonymity."""

from __future__ import annotations

from core.anonymize.rt.bounding import anonymize_rt
from core.anonymize.rt.result import BoundNotMet, RTRecords, RTResult, published
from core.assemble import SequenceWindow, assemble_sequences
from core.attributes import Attributes, Interval, Value
from core.places import generalized_locations
from core.plan import AttributePlan
from core.profile import Categorical, common_profiles
from core.records import Rows
from core.release import (
    Account,
    AttributeRecord,
    Headcount,
    Outcome,
    WithholdReason,
    pseudonyms,
    publishable,
)
from core.seal import Seal
from core.verify.kkm import verify_kkm

__all__ = ["anonymized", "attributes_of", "release_attributes"]


def release_attributes(seal: Seal, rows: Rows, plan: AttributePlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_sequences(rows, plan.locator, plan.limits)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    result = anonymized(rows, window, plan)
    if isinstance(result, BoundNotMet):
        reason = WithholdReason.CONSTRAINTS_NOT_SATISFIED
        return plan.withhold(seal, reason, withheld=n_rows, duplicates=duplicates)
    records = published(result, window.vocabulary.names)
    if not records.users:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    report = verify_kkm(
        records.users,
        records.attributes,
        records.locations,
        plan.guarantee,
        sensitive=None if plan.guarantee.l is None else records.sensitive,
    )
    if not report.holds or report.smallest_group is None:
        finding = f"{report.violations} groups, sets of locations, shares or names break the guarantee with k={k}"
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)

    n_released = int(result.kept.sum())
    supports = [report.smallest_group, *([report.smallest_support] if report.smallest_support is not None else [])]
    count = Headcount.of(records.users, window.n_users, min(supports), k)
    labels = sorted({ids for group in result.groups for ids in group.generalized} | _sensitive_ids(result))
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            _record(pseudonym, records, i, plan)
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(records.users))
        ),
        locations=generalized_locations(window.vocabulary, labels, plan.sensitive),
        points_released=sum(map(len, records.locations)) + sum(map(len, records.sensitive)),
        points_suppressed=publishable(n_rows - n_released, k, people=window.people_suppressed(result.kept)),
        information_loss={"ncp": round(result.ncp, 6), "ul": round(result.ul, 6), "groups": len(result.groups)},
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
    )


def anonymized(rows: Rows, window: SequenceWindow, plan: AttributePlan) -> RTResult | BoundNotMet:
    """Anonymize an assembled window."""
    hidden = window.vocabulary.among(plan.sensitive)
    return anonymize_rt(
        window.sequences,
        attributes_of(rows, plan),
        window.vocabulary.xy_m,
        plan.guarantee,
        plan.options,
        sensitive=None if plan.guarantee.l is None else hidden,
    )


def attributes_of(rows: Rows, plan: AttributePlan) -> Attributes:
    """Return the attributes of each user of a window, whose rows may disagree: those that most of them tell."""
    # What is told besides, and not released, does not decide which of them is taken.
    profile, codes = plan.profile.part(rows["profile"], [attribute.name for attribute in plan.schema])
    _, codes = common_profiles(rows["user"], codes)
    told = dict(zip(profile.names, profile.decode(codes), strict=True))
    named = {one.name: one for one in profile.attributes}
    columns: list[list[float | str]] = []
    for attribute in plan.schema:
        own, values = named[attribute.name], told[attribute.name].tolist()
        columns.append([own.values[i] for i in values] if isinstance(own, Categorical) else values)
    return Attributes.of(plan.schema, list(zip(*columns, strict=True)))


def _record(pseudonym: str, records: RTRecords, i: int, plan: AttributePlan) -> AttributeRecord:
    names = [attribute.name for attribute in plan.schema]
    return AttributeRecord(
        pseudonym=pseudonym,
        attributes=dict(zip(names, map(_plain, records.attributes[i]), strict=True)),
        # A set: its order must not tell in which places were visited.
        locations=tuple(sorted(records.locations[i])),
        sensitive=tuple(sorted(records.sensitive[i])),
    )


def _plain(value: Value) -> str | tuple[float, float]:
    return (value.low, value.high) if isinstance(value, Interval) else value


def _sensitive_ids(result: RTResult) -> set[tuple[int, ...]]:
    return {(location,) for group in result.groups for its in group.sensitive for location in its}
