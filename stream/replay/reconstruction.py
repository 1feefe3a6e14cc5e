"""Reconstruction, for analysts: draws a possible raw window from the messages of each disassociated release."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from operator import attrgetter

import msgspec
import numpy as np

from core.models.disassociation.disassociated import Cluster, Disassociated, JointCluster, RecordChunk
from core.models.disassociation.reconstruct import reconstruct

__all__ = ["ReconstructionError", "reconstructed"]


class ReconstructionError(Exception):
    """The input is not a disassociated release; the message names the line or release and the reason."""


class _Cluster(msgspec.Struct):
    size: int
    record_chunks: list[list[list[str]]]
    term_chunk: list[str]


class _Joint(msgspec.Struct):
    first: int
    end: int
    shared_chunks: list[list[list[str]]]


class _Group(msgspec.Struct):
    release: str
    window: tuple[str, str]
    shard: str
    clusters: list[_Cluster]
    joint_clusters: list[_Joint]


_decoder = msgspec.json.Decoder(_Group)


def reconstructed(lines: Iterable[bytes], *, seed: int) -> Iterator[bytes]:
    """Draw one possible window for each release.

    Args:
        lines: Messages of the anonymized topic; the messages of a release are adjacent. Blank lines are skipped.
        seed: The same seed and messages give the same windows; another seed gives other windows.

    Yields:
        One JSON object for each person: release, window, shard, and the locations visited, in no order.

    Raises:
        ReconstructionError: A line is not a message of a disassociated release, or a release is incomplete.
    """
    for release, messages in groupby(_read(lines), key=attrgetter("release")):
        groups = list(messages)
        names = sorted({name for group in groups for name in _names(group)})
        number = {name: i for i, name in enumerate(names)}
        digest = hashlib.blake2b(release.encode(), digest_size=8).digest()
        generator = np.random.default_rng([seed, int.from_bytes(digest, "little")])
        try:
            window = reconstruct(_disassociated(groups, number), generator)
        except ValueError:
            raise ReconstructionError(
                f"release {release} cannot be reconstructed: check that the file has all of its messages"
            ) from None
        for start, end in pairwise(window.starts.tolist()):
            visited = [names[location] for location in window.locations[start:end].tolist()]
            head = {"release": release, "window": groups[0].window, "shard": groups[0].shard}
            yield msgspec.json.encode(head | {"locations": visited})


def _read(lines: Iterable[bytes]) -> Iterator[_Group]:
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise ReconstructionError(
                f"line {number} is not a message of a disassociated release: give the anonymized.ndjson of a feed with "
                "privacy.model=disassociation"
            ) from None


def _names(group: _Group) -> Iterator[str]:
    chunks = [chunk for cluster in group.clusters for chunk in cluster.record_chunks]
    chunks += [chunk for joint in group.joint_clusters for chunk in joint.shared_chunks]
    yield from (name for chunk in chunks for subrecord in chunk for name in subrecord)
    yield from (name for cluster in group.clusters for name in cluster.term_chunk)


def _disassociated(groups: list[_Group], number: dict[str, int]) -> Disassociated:
    def chunk(subrecords: list[list[str]]) -> RecordChunk:
        return RecordChunk(tuple(tuple(sorted(number[name] for name in subrecord)) for subrecord in subrecords))

    clusters: list[Cluster] = []
    joints: list[JointCluster] = []
    for group in groups:
        joints += [
            JointCluster(
                first=joint.first + len(clusters),
                end=joint.end + len(clusters),
                shared_chunks=tuple(chunk(one) for one in joint.shared_chunks),
            )
            for joint in group.joint_clusters
        ]
        clusters += [
            Cluster(
                size=cluster.size,
                record_chunks=tuple(chunk(one) for one in cluster.record_chunks),
                term_chunk=tuple(sorted(number[name] for name in cluster.term_chunk)),
            )
            for cluster in group.clusters
        ]
    return Disassociated(clusters=tuple(clusters), joint_clusters=tuple(joints))
