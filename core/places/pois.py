"""Points of interest: link a position, with what its record says of the place, to the best of the known places.

Semantic enrichment after Baquara² (Fileto et al. 2015), Algorithm 1: the candidates of a check-in, or of a stop, are
the places within a distance. Those whose class or text does not fit are left out; the others are ranked by distance and
by similarity of text. The formulas are Shoal's own:

- closeness ``c = 1 - distance / distance_m``;
- similarity of names ``n``: 1 if the record names the place's own id; else twice the length of the longest common
  subsequence of both names over the sum of their lengths, spelling and order of words aside;
- agreement of categories ``g``: 1 if the place's category is the record's or below it in the tree, else 0.

A record has ``n`` if it names a venue, ``g`` if it names a category that the tree holds. A place fits if the mean of
those that the record has, ``(2 n + g) / (2 + 1)``, is at least ``agreement``; if it has neither, every candidate fits.
Of these the place with the greatest mean of all, ``(c + 2 n + g) / (1 + 2 + 1)``, is the record's; among equal ones the
nearest, then the first by name. If none fits, the record is at its cell of a grid.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from core.places.areas import Areas
from core.places.category_names import CategoryNames
from core.places.locate import Located, MetricGrid, PlaceRejection
from core.places.nearby import NearbyPoints
from core.places.taxonomy import Categories, Path
from core.records.arrays import BoolArray, FloatArray, IntArray
from core.records.identity import Names, canonical
from core.records.record import Reason

__all__ = ["CATEGORY_WEIGHT", "CLOSENESS_WEIGHT", "NAME_WEIGHT", "Places", "PointsOfInterest", "is_cell_name"]

CLOSENESS_WEIGHT, NAME_WEIGHT, CATEGORY_WEIGHT = 1.0, 2.0, 1.0
"""A name tells places of one street apart, where receivers are wrong by tens of metres; a category does so less."""

_PLACE = 1 << 62
"""Added to the number of a place: an id beyond all cells, whose rows and columns fit 58 bits."""

_FEWEST_AT_ONCE, _MOST_AT_ONCE = 16, 4096
"""Positions whose candidates are in memory at once. In a city centre each may have hundreds within 100 m, and their
number grows with the square of the distance."""

_LONGEST_NAME = 256
"""Characters; a longer text is no name of a venue, and comparing it would take long."""

_CELL_NAME = re.compile(r"[0-9]{6,}-[0-9]{6,}")

_ANYWHERE = (-1, -1)
"""Range of no category."""


def is_cell_name(name: str) -> bool:
    """Whether a location has the name of a cell, so that no place can have it."""
    return _CELL_NAME.fullmatch(name) is not None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """Known places, by ascending public name.

    Raises:
        ValueError: Public names are not strictly ascending, one is the name of a cell, or columns differ in length.
    """

    names: Sequence[str]
    """Public names, unique."""

    titles: Sequence[str]
    """What the places are called; many may have one name."""

    ids: Sequence[str]
    """Ids by which records may name them; empty for none."""

    lat_deg: FloatArray = field(repr=False)
    lon_deg: FloatArray = field(repr=False)

    categories: Sequence[str | None]
    """Categories of the tree; None for none."""

    def __post_init__(self) -> None:
        columns = (self.names, self.titles, self.ids, self.lat_deg, self.lon_deg, self.categories)
        if len({len(column) for column in columns}) != 1:
            raise ValueError("places: every column needs one value for each place")
        if any(a >= b for a, b in pairwise(self.names)) or any(map(is_cell_name, self.names)):
            raise ValueError("places: names must be unique, in ascending order, and no names of cells")


class _Said(NamedTuple):
    """What ``n`` records say of their places."""

    titles: list[str]
    """Names in a form to compare; empty for none."""

    ids: IntArray
    """Number of the id that the venue is; -1 for none."""

    begin: IntArray
    """Number of the record's category in the order of the tree; -1 for none."""

    end: IntArray
    """Number behind its last descendant."""


class PointsOfInterest:
    """Places of a file, and the cells of a grid around them.

    Args:
        places: The places.
        tree: The categories of which theirs are some.
        cells: The grid for records that no place fits.
        distance_m: Greatest distance of a candidate, metres, up to 5,000.
        agreement: Least agreement of a record's text with its place's, from 0 (text only ranks) to 1.
    """

    needs_position = True
    reads_category = True
    refusal: PlaceRejection = (Reason.MISSING_FIELD, "lat and lon are needed")

    def __init__(
        self, places: Places, tree: Categories, *, cells: MetricGrid, distance_m: float, agreement: float
    ) -> None:
        self.tree, self.cells = tree, cells
        self.names = list(places.names)
        """Public names of the places, ascending."""
        self._number = {name: i for i, name in enumerate(self.names)}
        self._lat_deg, self._lon_deg = places.lat_deg, places.lon_deg
        self._nearby = NearbyPoints(places.lat_deg, places.lon_deg, distance_m)
        self._distance_m, self._agreement = distance_m, agreement
        self._at_once = round(max(_FEWEST_AT_ONCE, _MOST_AT_ONCE * min(1.0, 100.0 / distance_m) ** 2))
        self.category_of = {n: c for n, c in zip(self.names, places.categories, strict=True) if c is not None}
        """Category of each place that has one, by public name."""
        self._titles = np.array([_title(title) for title in places.titles], object)
        own_ids = list(dict.fromkeys(filter(None, places.ids)))
        self._ids = Names(own_ids)
        numbers = {one: i for i, one in enumerate(own_ids)}
        self._id = np.array([numbers.get(one, -2) for one in places.ids], np.int64)
        self._category_names = CategoryNames(tree)
        self._range = _ranges(tree)
        self._begin = np.array([self._range.get(one or "", _ANYWHERE)[0] for one in places.categories], np.int64)

    def locate(
        self,
        lat_deg: FloatArray,
        lon_deg: FloatArray,
        venues: Sequence[str | None] | None,
        categories: Sequence[str | None] | None = None,
    ) -> Located:
        """See :meth:`Locator.locate`; None for ``venues`` if no record names one."""
        ids, found = self.cells.locate(lat_deg, lon_deg, [])
        placed = np.flatnonzero(found)
        for first in range(0, len(placed), self._at_once):
            rows = placed[first : first + self._at_once]
            best = self._best(lat_deg[rows], lon_deg[rows], self._said(rows, venues, categories))
            ids[rows] = np.where(best >= 0, best + _PLACE, ids[rows])
        return ids, found

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        """See :meth:`Locator.describe`."""
        is_place = locations >= _PLACE
        names, lat, lon = self.cells.describe(np.where(is_place, 0, locations))
        places = locations[is_place] - _PLACE
        lat[is_place], lon[is_place] = self._lat_deg[places], self._lon_deg[places]
        for i, place in zip(np.flatnonzero(is_place).tolist(), places.tolist(), strict=True):
            names[i] = self.names[place]
        return names, lat, lon

    def ancestors(self, locations: IntArray) -> list[Path]:
        """See :meth:`Locator.ancestors`: those of the cell around each location."""
        _, lat, lon = self.describe(locations)
        return self.cells.ancestors(self.cells.locate(lat, lon, [])[0])

    def areas(self, paths: Sequence[Path]) -> Areas:
        """See :meth:`Locator.areas`."""
        return self.cells.areas(paths)

    def positions(self, names: Sequence[str]) -> tuple[FloatArray, FloatArray]:
        """Return where places are, by their public names: degrees north and east, shape ``(n,)``."""
        numbers = [self._number[name] for name in names]
        return self._lat_deg[numbers], self._lon_deg[numbers]

    def position(self, name: str) -> tuple[float, float] | None:
        """Return the position of a place by its public name, degrees; None if no place has it."""
        number = self._number.get(name)
        return None if number is None else (float(self._lat_deg[number]), float(self._lon_deg[number]))

    def _said(
        self, rows: IntArray, venues: Sequence[str | None] | None, categories: Sequence[str | None] | None
    ) -> _Said:
        named = [] if venues is None else [venues[i] for i in rows.tolist()]
        ranges: dict[str | None, tuple[int, int]] = {None: _ANYWHERE}
        stated = [None] * len(rows) if categories is None else [categories[i] for i in rows.tolist()]
        for one in {*stated} - {None}:
            ranges[one] = self._range.get(self._category_names.find(one or "") or "", _ANYWHERE)
        begin, end = np.array([ranges[one] for one in stated], np.int64).reshape(-1, 2).T
        return _Said(
            titles=[_title(one or "") for one in named] or [""] * len(rows),
            ids=np.array([self._ids.find(one or "") for one in named] or [-1] * len(rows), np.int64),
            begin=begin,
            end=end,
        )

    def _best(self, lat_deg: FloatArray, lon_deg: FloatArray, said: _Said) -> IntArray:
        """Return the place of each record, shape ``(n,)``; -1 if none fits."""
        record, place, distance_m = self._nearby.pairs(lat_deg, lon_deg)
        weight, text = self._text(record, place, said)
        closeness = 1.0 - distance_m / self._distance_m
        fits = text >= self._agreement * weight
        score = (CLOSENESS_WEIGHT * closeness + text) / (CLOSENESS_WEIGHT + weight)
        highest = np.full(len(lat_deg), -np.inf)
        np.maximum.at(highest, record[fits], score[fits])
        equal = np.flatnonzero(fits & (score == highest[record]))
        # Numbers of places ascend as their names do.
        order = equal[np.lexsort((place[equal], distance_m[equal], record[equal]))]
        records, first = np.unique(record[order], return_index=True)
        best = np.full(len(lat_deg), -1, np.int64)
        best[records] = place[order][first]
        return best

    def _text(self, record: IntArray, place: IntArray, said: _Said) -> tuple[FloatArray, FloatArray]:
        """Return, for ``p`` pairs, the weight of what the record says, and the weighted agreement of the place."""
        has_title: BoolArray = np.array([bool(one) for one in said.titles], np.bool_)[record]
        has_category: BoolArray = said.begin[record] >= 0
        similarity = np.zeros(len(record))
        at = np.flatnonzero(has_title)
        if len(at):
            # Loaded where names are compared: it takes longer than a command that compares none should.
            from rapidfuzz import fuzz  # noqa: PLC0415
            from rapidfuzz.process import cpdist  # noqa: PLC0415

            titles = np.array(said.titles, object)[record[at]]
            similarity[at] = cpdist(titles, self._titles[place[at]], scorer=fuzz.ratio, dtype=np.float64) / 100.0
            similarity[has_title & (said.ids[record] == self._id[place])] = 1.0
        begin = self._begin[place]
        agrees = has_category & (begin >= said.begin[record]) & (begin < said.end[record])
        weight = NAME_WEIGHT * has_title + CATEGORY_WEIGHT * has_category
        return weight, NAME_WEIGHT * similarity + CATEGORY_WEIGHT * agrees


def _title(text: str) -> str:
    """Return a name in the form that is compared: canonical, its words in alphabetical order."""
    return "" if len(text) > _LONGEST_NAME else " ".join(sorted(canonical(text).split()))


def _ranges(tree: Categories) -> dict[str, tuple[int, int]]:
    """Return the number of each category in depth-first order, and the number behind its last descendant."""
    paths = sorted(map(tree.path, tree.parent_of))
    begin = {path[-1]: i for i, path in enumerate(paths)}
    end = dict(begin)
    for i, path in enumerate(paths):
        for category in path:
            end[category] = i + 1
    return {category: (begin[category], end[category]) for category in begin}
