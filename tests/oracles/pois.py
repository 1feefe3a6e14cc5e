"""Linking to places, slowly: each record beside each place, as the formulas say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyproj import Geod

__all__ = ["OraclePlace", "best_place"]

_WGS84 = Geod(ellps="WGS84")


@dataclass(frozen=True)
class OraclePlace:
    """A place with the path of its category, empty for none."""

    name: str
    title: str
    own_id: str
    lat: float
    lon: float
    path: tuple[str, ...]


def best_place(
    lat: float,
    lon: float,
    venue: str | None,
    path: tuple[str, ...] | None,
    places: Sequence[OraclePlace],
    *,
    distance_m: float,
    agreement: float,
) -> str | None:
    """Return the name of the place of one record; None if it is a cell."""
    ranked = []
    for place in places:
        far_m = round(_WGS84.inv(lon, lat, place.lon, place.lat)[2], 3)
        if far_m > distance_m:
            continue
        parts = [(1.0, 1 - far_m / distance_m)]
        text = []
        if venue:
            is_own = venue == place.own_id
            text.append((2.0, 1.0 if is_own else similarity(venue, place.title)))
        if path:
            text.append((1.0, float(place.path[: len(path)] == path)))
        if not text or mean(text) >= agreement:
            ranked.append((-mean(parts + text), far_m, place.name))
    return min(ranked)[2] if ranked else None


def mean(parts: Sequence[tuple[float, float]]) -> float:
    """The weighted mean."""
    return sum(weight * value for weight, value in parts) / sum(weight for weight, _ in parts)


def similarity(a: str, b: str) -> float:
    """Twice the longest common subsequence over both lengths; case and order of words do not count."""
    first, second = (" ".join(sorted(one.lower().split())) for one in (a, b))
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, x in enumerate(first, 1):
        for j, y in enumerate(second, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if x == y else max(table[i - 1][j], table[i][j - 1])
    return 2 * table[-1][-1] / (len(first) + len(second))
