"""Places: what a release tells of the locations that it holds."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise

from core.geo import mean_position
from core.release import GeneralizedLocation
from core.trajectory import Sequences, Vocabulary

__all__ = ["Published", "generalized_locations", "published_sequences"]

Published = tuple[tuple[str, ...], ...]
"""One sequence as it would leave: the members of each generalized location, in order of visit."""


def published_sequences(
    sequences: Sequences, names: Mapping[int, tuple[str, ...]] | Sequence[tuple[str, ...]]
) -> tuple[list[int], list[Published]]:
    """Return the user and the members of every sequence that is not empty.

    Args:
        sequences: What is released, over generalized locations of any numbers.
        names: Names of the members of each.
    """
    places = [names[number] for number in sequences.locations.tolist()]
    users: list[int] = []
    published: list[Published] = []
    for user, (start, end) in zip(sequences.users.tolist(), pairwise(sequences.starts.tolist()), strict=True):
        if end > start:
            users.append(user)
            published.append(tuple(places[start:end]))
    return users, published


def generalized_locations(
    vocabulary: Vocabulary, labels: Iterable[Iterable[int]], sensitive: Collection[str] = ()
) -> tuple[GeneralizedLocation, ...]:
    """Describe generalized locations, in the order in which they are given.

    Args:
        vocabulary: The window's locations.
        labels: The ids of the members of each.
        sensitive: Names of sensitive locations; one that is released is a generalized location of its own.
    """
    return tuple(_described(vocabulary, list(ids), sensitive) for ids in labels)


def _described(vocabulary: Vocabulary, ids: list[int], sensitive: Collection[str]) -> GeneralizedLocation:
    lat, lon = mean_position(vocabulary.lat_deg[ids], vocabulary.lon_deg[ids], digits=6)
    names = tuple(vocabulary.names[i] for i in ids)
    return GeneralizedLocation(members=names, lat_deg=lat, lon_deg=lon, sensitive=names[0] in sensitive)
