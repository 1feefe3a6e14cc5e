"""Which generalized locations a released message names."""

from __future__ import annotations

from collections.abc import Iterator

from stream.formats.release.encoding import Content

__all__ = ["chunks_of", "places_of"]


def places_of(content: Content) -> list[tuple[str, ...]]:
    """Return the generalized locations of a message by the names of their members; none if it holds points.

    Of sequences they are in the order of the visits, with repetitions. Of sets and groups each is there once.
    """
    if "visits" in content:
        return [(name,) for _, name in content["visits"]]
    if "clusters" in content:
        return list(dict.fromkeys((name,) for _, _, names in chunks_of(content) for name in names))
    places = [tuple(members) for members in content.get("locations", ())]
    if "attributes" in content:  # the sensitive ones are locations, too
        places += [(name,) for name in content.get("sensitive", ())]
    return places


def chunks_of(content: Content) -> Iterator[tuple[str, int, list[str]]]:
    """Yield every subrecord and term chunk of a group of clusters: where it stands, its number there, its locations.

    Where it stands is ``record 0.1``, ``term 0`` or ``shared 0.1``: the kind of chunk, its cluster or joint cluster,
    and which of its chunks.
    """
    for i, cluster in enumerate(content["clusters"]):
        yield from _subrecords(f"record {i}", cluster["record_chunks"])
        if cluster["term_chunk"]:
            yield f"term {i}", 0, list(cluster["term_chunk"])
    for i, joint in enumerate(content["joint_clusters"]):
        yield from _subrecords(f"shared {i}", joint["shared_chunks"])


def _subrecords(where: str, chunks: list[list[list[str]]]) -> Iterator[tuple[str, int, list[str]]]:
    for j, chunk in enumerate(chunks):
        for number, names in enumerate(chunk):
            yield f"{where}.{j}", number, list(names)
