"""Which generalized locations a released message names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from stream.formats.release.encoding import Content

__all__ = ["PlacedSubrecord", "places_of", "subrecords_of"]


def places_of(content: Content) -> list[tuple[str, ...]]:
    """Return the generalized locations of a message by the names of their members; none if it holds points.

    Of sequences they are in the order of the visits, with repetitions; of a flow they are origin and destination. Of
    sets and groups each is there once.
    """
    if "origin" in content:
        return [(content["origin"],), (content["destination"],)]
    if "visits" in content:
        return [(name,) for _, name in content["visits"]]
    if "clusters" in content:
        return list(dict.fromkeys((name,) for one in subrecords_of(content) for name in one.names))
    places = [tuple(members) for members in content.get("locations", ())]
    if "attributes" in content:  # the sensitive ones are locations, too
        places += [(name,) for name in content.get("sensitive", ())]
    return places


class PlacedSubrecord(NamedTuple):
    """Locations of a group of clusters that one person visited, or the term chunk of one cluster."""

    chunk_kind: str
    """``record``, ``term`` or ``shared``."""

    cluster: int
    """The first cluster that it is of."""

    cluster_end: int
    """One after the last."""

    people: int | None
    """People in the cluster; None for a shared chunk."""

    chunk: int
    """Which of the chunks of that kind."""

    subrecord: int
    """Which of the subrecords of the chunk; their order means nothing."""

    names: list[str]


def subrecords_of(content: Content) -> Iterator[PlacedSubrecord]:
    """Yield every subrecord and term chunk of a group of clusters."""
    for i, cluster in enumerate(content["clusters"]):
        people = cluster["size"]
        for j, number, names in _numbered(cluster["record_chunks"]):
            yield PlacedSubrecord("record", i, i + 1, people, j, number, names)
        if cluster["term_chunk"]:
            yield PlacedSubrecord("term", i, i + 1, people, 0, 0, list(cluster["term_chunk"]))
    for joint in content["joint_clusters"]:
        for j, number, names in _numbered(joint["shared_chunks"]):
            yield PlacedSubrecord("shared", joint["first"], joint["end"], None, j, number, names)


def _numbered(chunks: Sequence[Sequence[Sequence[str]]]) -> Iterator[tuple[int, int, list[str]]]:
    for j, chunk in enumerate(chunks):
        for number, names in enumerate(chunk):
            yield j, number, list(names)
