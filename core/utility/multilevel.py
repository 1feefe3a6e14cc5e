"""How well frequent sets of generalized locations are found in a release: tKd-ML2 (Terrovitis et al. 2012, Section 6).

Sets are mined at all levels of a hierarchy at once. An item is a node: a location, or a node above it but below the
root. A person has all nodes above the locations that the person visited; of a generalized location, the nodes that are
above all of its members. No set contains a node and another one above it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["multilevel_deviation", "multilevel_itemsets"]

_Set = tuple[int, ...]


def multilevel_deviation(
    original: Sequence[Iterable[int]],
    other: Sequence[Iterable[int]],
    above: Sequence[Sequence[int]],
    *,
    n: int = 1000,
    largest: int = 3,
) -> float:
    """Share of the ``n`` most frequent sets of nodes of the original that are not among those of another.

    Args:
        original: The nodes of each person, without those above them.
        other: Likewise, of a release; the number of people may be another one.
        above: For each node itself, then the nodes above it up to the root.
        n: Most sets to compare.
        largest: Most nodes of a set. The paper has no such bound.

    Returns:
        In 0..1; NaN if the original has no sets.
    """
    before = set(multilevel_itemsets(original, above, n=n, largest=largest))
    after = set(multilevel_itemsets(other, above, n=n, largest=largest))
    return 1 - len(before & after) / len(before) if before else float("nan")


def multilevel_itemsets(
    people: Sequence[Iterable[int]], above: Sequence[Sequence[int]], *, n: int, largest: int
) -> list[_Set]:
    """Return the most frequent sets of nodes, by (support descending, size, numbers). See the module."""
    who: dict[int, int] = {}  # the people of each node, as bits
    for person, nodes in enumerate(people):
        for item in {one for node in nodes for one in above[node][:-1]}:  # without the root, which everybody has
            who[item] = who.get(item, 0) | 1 << person
    upper = [set(nodes) for nodes in above]
    threshold = max(1, len(people))
    # Halved until enough sets are found, so that less frequent sets are not enumerated.
    while True:
        frequent = sorted(node for node, bits in who.items() if bits.bit_count() >= threshold)
        found: list[tuple[int, int, _Set]] = []
        _grow((), -1, frequent, who, upper, threshold, largest, found)
        if len(found) >= n or threshold == 1:
            return [one for _, _, one in sorted(found)[:n]]
        threshold //= 2


def _grow(
    prefix: _Set,
    bits: int,
    candidates: list[int],
    who: dict[int, int],
    upper: list[set[int]],
    threshold: int,
    largest: int,
    found: list[tuple[int, int, _Set]],
) -> None:
    """Add all frequent sets that begin with ``prefix``; ``candidates`` are related to none of its nodes."""
    for at, node in enumerate(candidates, start=1):
        both = bits & who[node]
        support = both.bit_count()
        if support < threshold:
            continue
        one = (*prefix, node)
        found.append((-support, len(one), one))
        if len(one) < largest:
            rest = [x for x in candidates[at:] if node not in upper[x] and x not in upper[node]]
            _grow(one, both, rest, who, upper, threshold, largest, found)
