"""Check of the attributes over a horizon: the rules of :class:`core.models.kkm.guarantee.KKmAnonymity`.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec
import numpy as np

from core.models.kkm.attributes import Attribute, CategoricalAttribute, Interval, Schema, Value
from core.models.kkm.guarantee import KKmAnonymity
from core.records.arrays import numbered
from core.windows.history import History

__all__ = ["AttributeHorizonReport", "PersonAttributes", "verify_horizon"]

_Values = tuple[Value, ...]


class PersonAttributes(NamedTuple):
    """What a person's attributes are, and what is published of them; values in the schema's order."""

    user: int
    """Keyed hash, as in rosters."""

    own: tuple[Value, ...]
    """The true values; a number as an interval of length 0."""

    signature: tuple[Value, ...]
    """What all releases of the person over the horizon are meant to contain."""

    released: tuple[Value, ...]
    """The values as they would be published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeHorizonReport:
    """What the check found."""

    smallest_crowd: int | None
    """Fewest people who share a new signature; None if none is new."""

    unshared: int
    """New signatures that fewer than k people of the release share: their values and their own signatures are within
    it."""

    outside: int
    """People whose released values do not contain their own values and their signature."""

    changed: int
    """People whose signature does not contain one of an earlier window, or whose earlier one promises less than k."""

    untrue: int
    """People who are released twice, or have a signature for the first time that does not contain their own values."""

    @property
    def holds(self) -> bool:
        """Whether the promise over the horizon holds."""
        return self.unshared == self.outside == self.changed == self.untrue == 0


def verify_horizon(
    people: Sequence[PersonAttributes], schema: Schema, guarantee: KKmAnonymity, history: History
) -> AttributeHorizonReport:
    """Check the signatures of a release against its attributes, and against those of the earlier windows.

    Args:
        people: The person of each record.
        schema: The attributes.
        guarantee: k and the horizon; m and l are not looked at.
        history: What the earlier windows of the horizon released.
    """
    often = Counter(one.user for one in people)
    earlier, remembered = _earlier(history, often, schema, guarantee.k)
    new = {one.signature for one in people if one.user not in earlier} - remembered
    crowds = _crowds(new, people, schema)
    return AttributeHorizonReport(
        smallest_crowd=min(crowds, default=None),
        unshared=sum(crowd < guarantee.k for crowd in crowds),
        outside=sum(
            not (_contains(schema, one.released, one.own) and _contains(schema, one.released, one.signature))
            for one in people
        ),
        changed=sum(
            any(before is None or not _contains(schema, one.signature, before) for before in earlier[one.user])
            for one in people
            if one.user in earlier
        ),
        untrue=sum(
            often[one.user] > 1 or (one.user not in earlier and not _contains(schema, one.signature, one.own))
            for one in people
        ),
    )


def _contains(schema: Schema, outer: _Values, inner: _Values) -> bool:
    """Return whether generalized values contain others, each of them."""
    return all(_is_within(attribute, b, a) for attribute, a, b in zip(schema, outer, inner, strict=True))


def _is_within(attribute: Attribute, inner: Value, outer: Value) -> bool:
    if isinstance(attribute, CategoricalAttribute):
        return isinstance(inner, str) and outer in attribute.hierarchy.path(inner)
    return (
        isinstance(inner, Interval)
        and isinstance(outer, Interval)
        and outer.low <= inner.low <= inner.high <= outer.high
    )


def _crowds(signatures: Iterable[_Values], people: Sequence[PersonAttributes], schema: Schema) -> list[int]:
    """Count for each of some signatures the people of whom both the own values and the signature are within it."""
    columns = [
        (attribute, *numbered([value for one in people for value in (one.own[i], one.signature[i])]))
        for i, attribute in enumerate(schema)
    ]
    users = np.array([one.user for one in people], np.uint64)
    counts: list[int] = []
    for signature in signatures:
        fits = np.ones(2 * len(people), np.bool_)
        for (attribute, numbers, distinct), outer in zip(columns, signature, strict=True):
            fits &= np.array([_is_within(attribute, inner, outer) for inner in distinct])[numbers]
        counts.append(len(np.unique(users[fits.reshape(-1, 2).all(axis=1)])))
    return counts


def _earlier(
    history: History, users: Collection[int], schema: Schema, k: int
) -> tuple[dict[int, set[_Values | None]], set[_Values | None]]:
    """Return the earlier signatures of some people, None for one that promises too little, and those of everybody."""
    of_user: defaultdict[int, set[_Values | None]] = defaultdict(set)
    of_all: set[_Values | None] = set()
    wanted = np.array(sorted(users), np.uint64)
    for roster in history.rosters:
        signatures = [_signature(label, schema, k) for label in roster.labels]
        of_all.update(signatures)
        about = np.isin(roster.users, wanted)
        for user, group in zip(roster.users[about].tolist(), roster.groups[about].tolist(), strict=True):
            of_user[user].add(signatures[group] if group < len(signatures) else None)
    return dict(of_user), of_all - {None}


def _signature(label: str, schema: Schema, k: int) -> _Values | None:
    """Read a label; no release can agree with one that cannot be read, or that fewer than k people shared."""
    try:
        shared, named = msgspec.json.decode(label, type=tuple[int, dict[str, str | tuple[float, float]]])
    except msgspec.DecodeError:
        return None
    if shared < k or sorted(named) != sorted(attribute.name for attribute in schema):
        return None
    values = [named[attribute.name] for attribute in schema]
    if not all(_is_known(attribute, value) for attribute, value in zip(schema, values, strict=True)):
        return None
    return tuple(value if isinstance(value, str) else Interval(*value) for value in values)


def _is_known(attribute: Attribute, written: str | tuple[float, float]) -> bool:
    if isinstance(attribute, CategoricalAttribute):
        return isinstance(written, str) and written in attribute.hierarchy.labels
    return not isinstance(written, str) and attribute.low <= written[0] <= written[1] <= attribute.high
