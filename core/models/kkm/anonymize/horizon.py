"""(k,k^m)-anonymity over a horizon: people who are remembered are generalized to their signatures first.

After m-invariance (Xiao and Tao 2007): a remembered person keeps the signature. The person is clustered like all
others, but begins with the values of the signature instead of single ones.

A new person's signature is that of the person's cluster before clusters are merged: merging is for utility, and would
make signatures larger from window to window. It is a remembered signature instead if one loses less, contains the
person's own values, and is within the cluster's, so that the release contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import BoundNotMet, RTCluster, RTOptions, RTResult
from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.attributes import Attributes, Schema
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.signature import AttributeSignature, signature_of_label
from core.records.arrays import BoolArray, FloatArray, UserHashes
from core.trajectories.trajectory import Sequences
from core.windows.history import History

__all__ = ["anonymize_over_horizon", "returning"]


def anonymize_over_horizon(
    trajectories: Sequences,
    users: UserHashes,
    attributes: Attributes,
    xy_m: FloatArray,
    guarantee: KKmAnonymity,
    options: RTOptions,
    history: History,
    *,
    sensitive: BoolArray | None = None,
) -> RTResult | BoundNotMet:
    """Make people with attributes and locations (k,k^m)-anonymous, and their attributes also over a horizon.

    Args:
        trajectories: The window, ``p`` visits.
        users: Keyed hash of each user, ascending, shape ``(n_users,)``.
        attributes: Attributes of the same people.
        xy_m: Position of each location, metres, shape ``(L, 2)``; ids are rows.
        guarantee: k, m, l and the horizon.
        options: How clusters are merged, and the bound.
        history: What earlier windows released.
        sensitive: See :func:`anonymize_rt`.
    """
    schema = attributes.schema
    earlier = returning(history, users, schema, k=guarantee.k)
    known = {user: signature for user, signature in earlier.items() if signature is not None}
    left_out = np.zeros(attributes.n_users, np.bool_)
    left_out[sorted(earlier.keys() - known.keys())] = True
    people = Spans.of_people(attributes)
    signatures = Spans.of_values(schema, list(known.values()))
    for number, user in enumerate(known):
        people.replace(user, people.part(np.array([user])).joined(signatures, number), 0)
    result = anonymize_rt(
        trajectories, attributes, xy_m, guarantee, options, sensitive=sensitive, spans=people, left_out=left_out
    )
    if isinstance(result, BoundNotMet):
        return result
    remembered = _in_order(schema, _signatures(history, schema, k=guarantee.k).values())
    return replace(result, signatures=known | _new_signatures(result.clusters, attributes, known, remembered))


def returning(history: History, users: UserHashes, schema: Schema, *, k: int) -> dict[int, AttributeSignature | None]:
    """Return the signature of each user of a window who was released in an earlier one, by user number.

    A user who had several, in several cells of a window, has the smallest that contains them all. None if no release
    of the user can keep the promise: an earlier signature is of other attributes than those of the settings, or is
    shared by too few people.

    Args:
        history: Rosters of the earlier windows, oldest first.
        users: Keyed hash of each user of the window, ascending, shape ``(n_users,)``.
        schema: The attributes.
        k: Fewest people who share a signature.
    """
    read = _signatures(history, schema, k=k)
    earlier: dict[int, set[AttributeSignature | None]] = {}
    for roster in history.rosters:
        at = np.searchsorted(users, roster.users)
        at[at == len(users)] = 0
        here = np.flatnonzero(users[at] == roster.users) if len(users) else np.empty(0, np.int64)
        for user, group in zip(at[here].tolist(), roster.groups[here].tolist(), strict=True):
            label = roster.labels[group] if group < len(roster.labels) else ""
            earlier.setdefault(user, set()).add(read.get(label))
    return {user: _smallest_around(schema, earlier[user]) for user in sorted(earlier)}


def _signatures(history: History, schema: Schema, *, k: int) -> dict[str, AttributeSignature]:
    """Return the signatures of earlier windows by their labels."""
    labels = {label for roster in history.rosters for label in roster.labels}
    found = {label: signature_of_label(label, schema, k=k) for label in labels}
    return {label: signature for label, signature in found.items() if signature is not None}


def _smallest_around(schema: Schema, signatures: Iterable[AttributeSignature | None]) -> AttributeSignature | None:
    first, *others = signatures
    if first is None or None in others:
        return None
    if not others:
        return first
    return Spans.of_values(schema, [first, *(one for one in others if one is not None)]).whole().values(0)


def _in_order(schema: Schema, signatures: Iterable[AttributeSignature]) -> Spans:
    """Return the distinct signatures, those that lose least first."""
    found = Spans.of_values(schema, list(set(signatures)))
    return found.part(np.lexsort((*found.ends()[::-1], found.losses)))


def _new_signatures(
    clusters: Iterable[RTCluster],
    attributes: Attributes,
    known: Mapping[int, AttributeSignature],
    remembered: Spans,
) -> dict[int, AttributeSignature]:
    """Return the signatures of the people who have none yet."""
    found: dict[int, AttributeSignature] = {}
    people = Spans.of_people(attributes)
    for cluster in clusters:
        its = Spans.of_values(attributes.schema, [cluster.values])
        smaller = remembered.part(np.flatnonzero(remembered.within(its, 0)))
        for user in cluster.users:
            if user not in known:
                fitting = np.flatnonzero(smaller.around(people, user))
                found[user] = smaller.values(int(fitting[0])) if len(fitting) else cluster.values
    return found
