"""Release the check-ins of one window with the attributes of people: assemble, merge, verify, publish."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.horizon import anonymize_over_horizon
from core.models.kkm.anonymize.result import BoundNotMet, RTRecords, RTResult, published
from core.models.kkm.attributes import Attributes, Interval, Value
from core.models.kkm.plan import KKmPlan
from core.models.kkm.released import AttributeRecord
from core.models.kkm.signature import label_of
from core.models.kkm.verify import verify_kkm
from core.models.kkm.verify_horizon import PersonAttributes, verify_horizon
from core.records.arrays import numbered
from core.records.keys import pseudonyms
from core.records.profile import Categorical, common_profiles
from core.records.record import Rows
from core.release.attacks.linked_places import VisitedPlaces
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.trajectories.assemble import SequenceWindow, assemble_sequences
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["AttributeWindow", "anonymize", "assemble", "attributes_of", "candidate", "publish", "verify"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttributeWindow:
    """The check-ins of one window, and the attributes of their people."""

    visits: SequenceWindow = field(repr=False)
    attributes: Attributes = field(repr=False)

    @property
    def n_users(self) -> int:
        """Distinct people in the rows."""
        return self.visits.n_users

    @property
    def duplicates(self) -> int:
        """Rows left out because the same user was at the same location at the same instant."""
        return self.visits.duplicates


def assemble(seal: Seal, rows: Rows, plan: KKmPlan) -> AttributeWindow:
    """Assemble a window's visits as sequences, and the attributes of each person."""
    visits = assemble_sequences(rows, plan.locator, plan.limits)
    return AttributeWindow(visits=visits, attributes=attributes_of(rows, plan))


def anonymize(seal: Seal, window: AttributeWindow, plan: KKmPlan) -> RTResult | None:
    """Generalize attributes and locations; None if the bound of the loss cannot be kept."""
    visits, attributes, guarantee = window.visits, window.attributes, plan.guarantee
    xy_m = visits.vocabulary.xy_m
    sensitive = None if guarantee.l is None else visits.vocabulary.among(plan.sensitive)
    if plan.horizon == 1:
        result = anonymize_rt(visits.sequences, attributes, xy_m, guarantee, plan.options, sensitive=sensitive)
    else:
        result = anonymize_over_horizon(
            visits.sequences,
            visits.hashes,
            attributes,
            xy_m,
            guarantee,
            plan.options,
            plan.history,
            sensitive=sensitive,
        )
    return None if isinstance(result, BoundNotMet) else result


def candidate(window: AttributeWindow, result: RTResult, plan: KKmPlan) -> RTRecords | None:
    """Write out the records."""
    records = published(result, window.visits.vocabulary.names)
    return records if records.users else None


def verify(window: AttributeWindow, candidate: RTRecords, plan: KKmPlan) -> Verdict:
    """Check (k,k^m)-anonymity, or (k,l^m)-diversity, in the window, and the attributes over the horizon."""
    verdict = _verify_window(candidate, plan)
    if verdict.finding is not None or plan.horizon == 1:
        return verdict
    report = verify_horizon(list(_described(window, candidate)), plan.schema, plan.guarantee, plan.history)
    if not report.holds:
        return Verdict(
            finding=f"over a horizon of {plan.horizon} windows, {report.unshared} signatures are shared by fewer than "
            f"k={plan.guarantee.k} people, {report.outside} people have attributes outside the released ones, "
            f"{report.changed} another signature than before, {report.untrue} one that is not theirs"
        )
    return verdict


def _verify_window(candidate: RTRecords, plan: KKmPlan) -> Verdict:
    guarantee = plan.guarantee
    report = verify_kkm(
        candidate.users,
        candidate.attributes,
        candidate.locations,
        guarantee,
        sensitive=None if guarantee.l is None else candidate.sensitive,
    )
    if not report.holds or report.smallest_group is None:
        return Verdict(
            finding=f"{report.violations} groups, sets of locations, shares or names break the guarantee with "
            f"k={guarantee.k}"
        )
    supports = [report.smallest_group, *([report.smallest_support] if report.smallest_support is not None else [])]
    return Verdict(smallest_support=min(supports))


def _described(window: AttributeWindow, candidate: RTRecords) -> Iterator[PersonAttributes]:
    """Yield the true attributes of each record's person, the signature, and what is published."""
    signatures = candidate.signatures or ()
    for user, signature, released in zip(candidate.users, signatures, candidate.attributes, strict=True):
        yield PersonAttributes(int(window.visits.hashes[user]), window.attributes.values(user), signature, released)


def publish(
    seal: Seal, window: AttributeWindow, result: RTResult, candidate: RTRecords, count: Headcount, plan: KKmPlan
) -> Contents:
    """Return what the release publishes: attributes and sets of generalized locations."""
    labels = sorted({ids for group in result.groups for ids in group.generalized} | _sensitive_ids(result))
    return Contents(
        messages=tuple(
            _record(pseudonym, candidate, i, plan)
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate.users))
        ),
        locations=generalized_locations(window.visits.vocabulary, labels, plan.sensitive),
        points_released=sum(map(len, candidate.locations)) + sum(map(len, candidate.sensitive)),
        rows_released=int(result.kept.sum()),
        people_suppressed=window.visits.people_suppressed(result.kept),
        extract=VisitedPlaces.of([(user,) for user in candidate.users], _shown(candidate), window.visits.hashes),
        information_loss={"ncp": round(result.ncp, 6), "ul": round(result.ul, 6), "groups": len(result.groups)},
        roster=_roster(seal, window, candidate, plan),
    )


def _roster(seal: Seal, window: AttributeWindow, candidate: RTRecords, plan: KKmPlan) -> Roster | None:
    """Return the signatures of the released people, for later windows."""
    if candidate.signatures is None:
        return None
    order = np.argsort(candidate.users)  # records are in the order of groups
    groups, signatures = numbered([candidate.signatures[i] for i in order.tolist()])
    return Roster(
        key=seal.key,
        users=window.visits.hashes[np.array(candidate.users)[order]],
        groups=groups,
        labels=tuple(label_of(signature, plan.schema, k=plan.guarantee.k) for signature in signatures),
    )


def _shown(records: RTRecords) -> list[list[tuple[str, ...]]]:
    """Return what each record shows that later windows can show again: locations, and values of attributes."""
    return [
        [*locations, *((name,) for name in sensitive), *((f"{i} = {value}",) for i, value in enumerate(values))]
        for locations, sensitive, values in zip(records.locations, records.sensitive, records.attributes, strict=True)
    ]


def attributes_of(rows: Rows, plan: KKmPlan) -> Attributes:
    """Return the attributes of each user of a window; if rows disagree, those in most of the user's rows."""
    # Attributes that are not released do not influence which rows agree.
    profile, codes = plan.profile.part(rows["profile"], [attribute.name for attribute in plan.schema])
    _, codes = common_profiles(rows["user"], codes)
    stated = dict(zip(profile.names, profile.decode(codes), strict=True))
    named = {attribute.name: attribute for attribute in profile.attributes}
    columns: list[list[float | str]] = []
    for attribute in plan.schema:
        own, values = named[attribute.name], stated[attribute.name].tolist()
        columns.append([own.values[i] for i in values] if isinstance(own, Categorical) else values)
    return Attributes.of(plan.schema, list(zip(*columns, strict=True)))


def _record(pseudonym: str, records: RTRecords, i: int, plan: KKmPlan) -> AttributeRecord:
    names = [attribute.name for attribute in plan.schema]
    return AttributeRecord(
        pseudonym=pseudonym,
        attributes=dict(zip(names, map(_plain, records.attributes[i]), strict=True)),
        # A set: its order must not reveal the order of visits.
        locations=tuple(sorted(records.locations[i])),
        sensitive=tuple(sorted(records.sensitive[i])),
    )


def _plain(value: Value) -> str | tuple[float, float]:
    return (value.low, value.high) if isinstance(value, Interval) else value


def _sensitive_ids(result: RTResult) -> set[tuple[int, ...]]:
    return {(location,) for group in result.groups for locations in group.sensitive for location in locations}
