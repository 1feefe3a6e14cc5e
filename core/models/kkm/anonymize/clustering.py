"""CLUSTER: at least k people with similar attributes in each cluster (Poulis et al. 2013, section 5, CLUSTER).

As printed, but for the seed: it is the first who is left in the order of attributes, locations and user number, where
the paper draws one at random. So the clusters grow from the edge of what is left, and are the same on every run.
"""

from __future__ import annotations

import numpy as np

from core.models.kkm.anonymize.spans import Spans
from core.models.kkm.attributes import Value
from core.records.arrays import IntArray

__all__ = ["cluster"]


def cluster(people: Spans, k: int) -> tuple[Spans, list[IntArray]]:
    """Form clusters, all with different generalized attributes.

    Steps 2 to 5 take one seed after the other and the k - 1 people that are cheapest to generalize together with it,
    pair by pair; ties by order. Steps 6 and 7 let everybody who remains join the cluster of least NCP with him; ties by
    fewer members, then by the cluster's age. Steps 9 to 11 unite clusters that are generalized to the same values.

    Each seed looks at everybody who is left, at most ``n^2 / k`` pairs, unless k people are alike.

    Args:
        people: Everybody alone, ``n`` people, in the order of their attributes first.
        k: Fewest members.

    Returns:
        The generalized attributes of the ``c`` clusters, and the numbers of each one's members, ascending. There is
        no cluster where there are fewer than k people.
    """
    n = len(people.losses)
    alike_until = _ends_of_runs(people)
    left = np.arange(n)
    members: list[IntArray] = []
    while len(left) >= k:
        if alike_until[left[0]] >= left[k - 1]:
            chosen = np.arange(k)  # they cost nothing, and come first
        else:
            losses = people.part(left[1:]).joined(people, int(left[0])).losses
            # Nobody has the same loss and place: the k - 1 smallest are the same ones however they are found.
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
    """Return the last of the run of people alike that each one stands in, shape ``(n,)``."""
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
