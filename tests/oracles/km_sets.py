"""k^m-anonymity of sets by its definitions, slow and obvious."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import chain, combinations, product

from core.models.common.location_nodes import LocationNodes

Label = tuple[int, ...]


def is_km(sets: Sequence[frozenset[Hashable]], *, k: int, m: int) -> bool:
    """Whether every combination of up to m items that somebody has is that of k people."""
    for own in sets:
        for size in range(1, m + 1):
            for known in combinations(own, size):
                if sum(other.issuperset(known) for other in sets) < k:
                    return False
    return True


def cuts(nodes: LocationNodes) -> Iterator[dict[int, Label]]:
    """Every way to let nodes of a hierarchy stand for the locations below them, each location below one."""
    yield from _cuts(nodes, nodes.above[0][-1])


def _cuts(nodes: LocationNodes, node: int) -> Iterator[dict[int, Label]]:
    members = nodes.members[node]
    yield dict.fromkeys(members, tuple(members))
    if len(members) > 1:
        below = sorted({nodes.above[x][nodes.above[x].index(node) - 1] for x in members})
        for parts in product(*(list(_cuts(nodes, child)) for child in below)):
            yield dict(chain.from_iterable(part.items() for part in parts))


def partitions(locations: Sequence[int]) -> Iterator[list[list[int]]]:
    """Every division of locations into groups."""
    if not locations:
        yield []
        return
    first, *rest = locations
    for groups in partitions(rest):
        yield [[first], *groups]
        for at, group in enumerate(groups):
            yield [*groups[:at], [first, *group], *groups[at + 1 :]]


def released(visited: Sequence[Sequence[int]], labels: Mapping[int, Label]) -> list[frozenset[Hashable]]:
    """What is shown of each person."""
    return [frozenset(labels[location] for location in own if location in labels) for own in visited]


def certainty_loss(visited: Sequence[Sequence[int]], labels: Mapping[int, Label]) -> int:
    """NCP of the 2008 paper without its divisor: members of the label, for each person and visited location."""
    return sum(len(labels[x]) for own in visited for x in own if len(labels[x]) > 1)


def matching(known: Sequence[str], sets: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    """The messages that an adversary who knows these locations of a person cannot tell apart from that person's."""
    return [i for i, places in enumerate(sets) if all(any(name in place for place in places) for name in known)]
