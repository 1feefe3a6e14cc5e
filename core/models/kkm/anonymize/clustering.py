"""CLUSTER: at least k people with similar attributes in each cluster (Poulis et al. 2013, section 5, CLUSTER).

As printed, except for the seed: the paper draws it at random; here it is the first remaining person in the order of
attributes, locations and user number. So clusters grow from the edge of the remaining people, and are the same on every
run.
"""

from __future__ import annotations

import numpy as np

from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.attributes import Value
from core.records.arrays import IntArray

__all__ = ["cluster"]


def cluster(people: Spans, k: int) -> tuple[Spans, list[IntArray]]:
    """Form clusters, all with different generalized attributes.

    Steps 2 to 5 take one seed after the other, and the k - 1 people with the least NCP together with it, each compared
    as a pair; ties by order. Steps 6 and 7 add each remaining person to the cluster with the least NCP after the
    addition; ties by fewer members, then by the older cluster. Steps 9 to 11 unite clusters that are generalized to the
    same values.

    Each seed is compared with all remaining people, at most ``n^2 / k`` pairs in all, unless k people are alike.

    Args:
        people: ``n`` people, each a set alone, sorted by attributes first; a set may begin with more than one value.
        k: Fewest members.

    Returns:
        The generalized attributes of the ``c`` clusters, and the numbers of each one's members, ascending. There is
        no cluster with fewer than k people in all.
    """
    n = len(people.losses)
    alike_until = _ends_of_runs(people)
    left = np.arange(n)
    members: list[IntArray] = []
    while len(left) >= k:
        if alike_until[left[0]] >= left[k - 1]:
            chosen = np.arange(k)  # they cost no more than the seed alone, and come first
        else:
            losses = people.part(left[1:]).joined(people, int(left[0])).losses
            # No two have the same loss and place: the k - 1 smallest do not depend on how they are found.
            chosen = np.append(0, 1 + np.argpartition(losses * n + left[1:], k - 2)[: k - 1])
        members.append(left[chosen])
        left = np.delete(left, chosen)
    if not members:
        return people.part(left[:0]), []

    clusters = Spans.united([people.part(cluster).whole() for cluster in members])
    sizes = np.array([len(cluster) for cluster in members])
    for person in left.tolist():
        joined = clusters.joined(people, person)
        best = int(np.lexsort((sizes, joined.losses))[0])
        clusters.replace(best, joined, best)
        members[best] = np.append(members[best], person)
        sizes[best] += 1
    return _extended(clusters, members)


def _ends_of_runs(people: Spans) -> IntArray:
    """Return the last index of each person's run of people with equal attributes, shape ``(n,)``."""
    run = np.cumsum(people.changes()) - 1
    last = np.cumsum(np.bincount(run)) - 1
    ends: IntArray = last[run]
    return ends


def _extended(clusters: Spans, members: list[IntArray]) -> tuple[Spans, list[IntArray]]:
    """Unite the clusters that are generalized to the same values; the first of them stays."""
    of_values: dict[tuple[Value, ...], list[int]] = {}
    for number in range(len(members)):
        of_values.setdefault(clusters.values(number), []).append(number)
    united = [np.sort(np.concatenate([members[number] for number in alike])) for alike in of_values.values()]
    return clusters.part(np.array([alike[0] for alike in of_values.values()])), united
