"""Flows by their definitions, slow and obvious: trips, all divisions of a hierarchy, and the loss of one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import pairwise, product

Path = tuple[Hashable, ...]
Ends = tuple[int, int]
Division = Mapping[int, tuple[int, ...]]
"""For each location those that it is released as one place with, itself included, ascending."""


def trips_of(visits: Sequence[int], *, first_last: bool = False) -> list[Ends]:
    """The trips of one person, from the locations in the order of the visits."""
    stays = [place for at, place in enumerate(visits) if at == 0 or visits[at - 1] != place]
    if first_last:
        return [(stays[0], stays[-1])] if stays and stays[0] != stays[-1] else []
    return list(pairwise(stays))


def divisions(paths: Sequence[Path], locations: Sequence[int] | None = None, depth: int = 0) -> Iterator[Division]:
    """Every division of locations into nodes of their hierarchy and single locations."""
    locations = range(len(paths)) if locations is None else locations
    whole = tuple(locations)
    yield dict.fromkeys(whole, whole)
    if len(whole) == 1:
        return
    branches: dict[Hashable, list[int]] = defaultdict(list)
    for location in whole:
        path = paths[location]
        branches[("node", path[depth]) if depth < len(path) else location].append(location)
    if len(branches) == 1 and depth < max(len(paths[location]) for location in whole):
        yield from list(divisions(paths, whole, depth + 1))[1:]
        return
    for parts in product(*(list(divisions(paths, branch, depth + 1)) for branch in branches.values())):
        yield {location: place for part in parts for location, place in part.items()}


def flows_of(trips: Mapping[int, Sequence[Ends]], division: Division) -> dict[tuple[Path, Path], set[int]]:
    """The people of each flow, from the trips of each person."""
    people: defaultdict[tuple[Path, Path], set[int]] = defaultdict(set)
    for user, made in trips.items():
        for origin, destination in made:
            people[division[origin], division[destination]].add(user)
    return dict(people)
