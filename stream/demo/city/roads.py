"""The roads of a simulated city: a perturbed grid with arterials, and every shortest path by travel time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from core.places.geo import LocalProjection
from core.records.arrays import BoolArray, FloatArray, IntArray
from stream.demo.city.options import CityOptions

__all__ = ["Roads", "build_roads"]

LOCAL_M_PER_S = 9.0
ARTERIAL_M_PER_S = 16.0

ROAD_MARGIN_M = 30.0
"""Gap between the outermost road and the city's radius, so that venues beside a road and GPS noise stay inside."""

_CLOSED_SHARE = 0.15
_BLOCKS_PER_RADIUS = 12
_ARTERIAL_EVERY = 4


@dataclass(frozen=True, slots=True, eq=False)
class Roads:
    """A connected, undirected road network of ``n`` nodes and ``e`` edges, straight between nodes."""

    xy_m: FloatArray
    """East and north of the centre, metres, shape ``(n, 2)``."""

    lat_deg: FloatArray
    """Latitudes, degrees, shape ``(n,)``."""

    lon_deg: FloatArray
    """Longitudes, degrees, shape ``(n,)``; unwrapped around the centre, so that a mean of two lies between them."""

    edges: IntArray
    """Node ids of both ends, shape ``(e, 2)``."""

    travel_s: FloatArray
    """Seconds of driving from row to column on the fastest path, shape ``(n, n)``."""

    length_m: FloatArray
    """Metres from row to column on that path, shape ``(n, n)``."""

    previous: npt.NDArray[np.int16]
    """The node before the column's node on that path from the row's node, shape ``(n, n)``."""

    def paths(self, origin: IntArray, target: IntArray) -> tuple[IntArray, IntArray]:
        """Return the nodes of many fastest paths, one path after the other, ends included.

        Args:
            origin: Node ids, shape ``(t,)``.
            target: Node ids, shape ``(t,)``; each differs from its origin.

        Returns:
            For each step, its index in ``origin`` and its node id, both of shape ``(steps,)``.
        """
        columns = [target]
        here = target
        while True:
            here = np.where(here == origin, -1, here)
            here = np.where(here < 0, -1, self.previous[origin, here])  # (t,) -1 where the path is complete
            if not (here >= 0).any():
                break
            columns.append(here)
        steps = np.column_stack(columns[::-1])  # (t, longest) each row ends at its target, -1 in front
        trip, column = np.nonzero(steps >= 0)
        return trip, steps[trip, column].astype(np.int64)


def build_roads(options: CityOptions, rng: np.random.Generator) -> Roads:
    """Lay out the roads of a city, at most about 450 nodes."""
    reach_m = options.radius_m - ROAD_MARGIN_M
    block_m = max(reach_m / _BLOCKS_PER_RADIUS, 100.0)
    jitter_m = 0.2 * block_m
    n_blocks = int(reach_m // block_m)
    row, column = (line.ravel() for line in np.mgrid[-n_blocks : n_blocks + 1, -n_blocks : n_blocks + 1])
    inside = np.hypot(row, column) * block_m <= reach_m - np.sqrt(2.0) * jitter_m
    row, column = row[inside], column[inside]  # (n,)
    xy_m = np.column_stack([column, row]) * block_m + rng.uniform(-jitter_m, jitter_m, (len(row), 2))
    edges, arterial = _edges(row.tolist(), column.tolist(), rng)

    lengths = np.hypot(*(xy_m[edges[:, 0]] - xy_m[edges[:, 1]]).T)  # (e,) metres
    seconds = lengths / np.where(arterial, ARTERIAL_M_PER_S, LOCAL_M_PER_S)
    travel_s, length_m, previous = _fastest(len(xy_m), edges, seconds, lengths)

    lat_deg, lon_deg = LocalProjection(options.centre_lat, options.centre_lon).to_degrees(xy_m)
    unwrapped = options.centre_lon + (lon_deg - options.centre_lon + 180.0) % 360.0 - 180.0
    return Roads(xy_m, lat_deg, unwrapped, edges, travel_s, length_m, previous)


def _edges(row: list[int], column: list[int], rng: np.random.Generator) -> tuple[IntArray, BoolArray]:
    """Join grid neighbours, then close some local roads; the network stays connected."""
    node_at = {place: node for node, place in enumerate(zip(row, column, strict=True))}
    candidates: list[tuple[int, int, bool]] = []  # one end, other end, arterial
    for (r, c), node in node_at.items():
        if (east := node_at.get((r, c + 1))) is not None:
            candidates.append((node, east, r % _ARTERIAL_EVERY == 0))
        if (north := node_at.get((r + 1, c))) is not None:
            candidates.append((node, north, c % _ARTERIAL_EVERY == 0))

    # The roads of a random spanning tree (Kruskal) stay open.
    root = list(range(len(node_at)))

    def root_of(node: int) -> int:
        while root[node] != node:
            root[node] = node = root[root[node]]
        return node

    needed = [False] * len(candidates)
    for index in rng.permutation(len(candidates)).tolist():
        one, other = root_of(candidates[index][0]), root_of(candidates[index][1])
        if one != other:
            root[one] = other
            needed[index] = True
    arterial = np.array([is_arterial for _, _, is_arterial in candidates])
    is_open = np.array(needed) | arterial | (rng.random(len(candidates)) >= _CLOSED_SHARE)
    edges = np.array([(one, other) for one, other, _ in candidates], np.int64)
    return edges[is_open], arterial[is_open]


def _fastest(
    n_nodes: int, edges: IntArray, seconds: FloatArray, lengths: FloatArray
) -> tuple[FloatArray, FloatArray, npt.NDArray[np.int16]]:
    """Find the fastest paths of all pairs (Floyd and Warshall), in under a second for 450 nodes."""
    travel_s = np.full((n_nodes, n_nodes), np.inf)
    length_m = np.full((n_nodes, n_nodes), np.inf)
    previous = np.zeros((n_nodes, n_nodes), np.int16)
    np.fill_diagonal(travel_s, 0.0)
    np.fill_diagonal(length_m, 0.0)
    np.fill_diagonal(previous, np.arange(n_nodes))
    for start, end in (edges.T, edges.T[::-1]):
        travel_s[start, end] = seconds
        length_m[start, end] = lengths
        previous[start, end] = start
    for via in range(n_nodes):
        through_s = travel_s[:, via, None] + travel_s[via]
        rows, columns = np.nonzero(through_s < travel_s)
        travel_s[rows, columns] = through_s[rows, columns]
        length_m[rows, columns] = length_m[rows, via] + length_m[via, columns]
        previous[rows, columns] = previous[via, columns]
    return travel_s, length_m, previous
