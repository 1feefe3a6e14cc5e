"""Chunks: parts of a data set that are clustered separately, in chunked Wait for Me and Never Walk Alone.

Abul, Bonchi, Nanni 2010, as described by Theodosopoulos 2013, section 4.1: the data set is divided into chunks of
similar trajectories, and each is treated as a data set of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from core.models.kdelta.anonymize.cluster.tracks import Tracks
from core.models.kdelta.anonymize.distance.distances import Distances
from core.records.arrays import FloatArray, IntArray
from core.trajectories.trajectory import PointTrajectories

__all__ = ["Block", "Measure", "chunk_of", "similar_chunks"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Block:
    """``n`` trajectories of a data set, numbered anew from 0."""

    members: IntArray
    """Their numbers in the data set, ascending, shape ``(n,)``."""

    trajectories: PointTrajectories
    """These trajectories, with users numbered densely."""

    distances: Distances
    """Distances between them."""

    @cached_property
    def tracks(self) -> Tracks:
        """These trajectories as local search sees them, kept from one search to the next."""
        return Tracks(self.trajectories)

    def forget_tracks(self) -> None:
        """Give back the memory of the tracks: 18 MB for a thousand trajectories."""
        self.__dict__.pop("tracks", None)


Measure = Callable[[PointTrajectories], Distances]
"""Makes the distances of a data set."""


def chunk_of(trajectories: PointTrajectories, members: IntArray, measure: Measure) -> Block:
    """Take some trajectories, by their numbers in ascending order, out of a data set."""
    points = trajectories.points_of(members)
    chunk = PointTrajectories(
        users=np.unique(trajectories.users[members], return_inverse=True)[1].astype(np.int64),
        starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(np.diff(trajectories.starts)[members])]),
        t_ms=trajectories.t_ms[points],
        xy_m=trajectories.xy_m[points],
    )
    return Block(members=members, trajectories=chunk, distances=measure(chunk))


def similar_chunks(
    trajectories: PointTrajectories, measure: Measure, *, largest: int, apart: Sequence[IntArray] | None = None
) -> list[Block]:
    """Divide a data set into chunks of similar trajectories.

    The papers do not say how. Here trajectories are compared by their first, mean and last positions. A set that is too
    large is halved at the median of the coordinate in which these positions spread most, until none is too large.

    Args:
        trajectories: The data set, ``n`` trajectories, none of them empty.
        measure: Makes the distances of each chunk.
        largest: Most trajectories of a chunk, at least 1. Halves have at least half of that.
        apart: Parts of the data set that are never in one chunk, ascending numbers; each trajectory is in one part.
            None if there is one part.
    """
    n, xy_m, starts = len(trajectories.users), trajectories.xy_m, trajectories.starts
    parts = [np.arange(n)] if apart is None else list(apart)
    if max(map(len, parts), default=0) <= largest:
        return [chunk_of(trajectories, part, measure) for part in parts]
    places_m = np.concatenate(
        [xy_m[starts[:-1]], trajectories.mean_positions_m(), xy_m[starts[1:] - 1]], axis=1
    )  # (n, 6)
    halves = _halves(np.rint(places_m * 1000), parts, largest)
    return [chunk_of(trajectories, np.sort(part), measure) for part in halves]


def _halves(places_mm: FloatArray, parts: Sequence[IntArray], largest: int) -> Iterator[IntArray]:
    parts = [*reversed(parts)]
    while parts:
        part = parts.pop()
        if len(part) <= largest:
            yield part
            continue
        of_part_mm = places_mm[part]
        widest = int((of_part_mm.max(axis=0) - of_part_mm.min(axis=0)).argmax())
        order = part[np.argsort(of_part_mm[:, widest], kind="stable")]
        parts += [order[len(order) // 2 :], order[: len(order) // 2]]
