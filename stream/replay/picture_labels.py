"""Places the names of points in a plot so that they do not overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

__all__ = ["CHAR", "GAP", "HEIGHT", "WIDTH", "Box", "LabelPoint", "places"]

WIDTH, HEIGHT, GAP = 400.0, 250.0, 26.0
"""Width and height of a panel's plot, and the gap between panels, pixels."""

_LINE, CHAR = 15.0, 6.5
"""Height of a line of text and assumed width of a letter, at a font size of 11.5 pixels."""

_ROOM = 6.0
"""Least gap between two names in a line, pixels."""

_R = 5.0
"""Half the size of a point, pixels."""


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, pixels; y goes down."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        """Return whether the boxes overlap, or are too close side by side."""
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide > -_ROOM and high > 0


@dataclass(frozen=True, slots=True)
class LabelPoint:
    """A point of a plot, with its name."""

    x: float
    y: float
    name: str

    @property
    def width(self) -> float:
        """Estimated width of its name, pixels."""
        return len(self.name) * CHAR

    def near(self, other: LabelPoint) -> bool:
        """Return whether two points are close together."""
        return abs(self.x - other.x) < 3 * _R and abs(self.y - other.y) < 3 * _R

    @property
    def dot(self) -> Box:
        """The area of its mark."""
        return Box(self.x - _R, self.y - _R, self.x + _R, self.y + _R)


def places(points: Sequence[LabelPoint]) -> list[Box]:
    """Find a place for each name, without overlaps: beside its point, or in one column for a group of close points.

    Names in a column are in the order of their points, so that the lines to the points do not cross.
    """
    order = sorted(range(len(points)), key=lambda i: (points[i].y, points[i].x, i))
    groups: list[list[int]] = []
    for i in order:
        near = [group for group in groups if any(points[i].near(points[j]) for j in group)]
        groups = [group for group in groups if group not in near] + [sorted([i, *chain(*near)], key=order.index)]
    while True:
        columns: list[Box] = []
        for group in groups:
            dots = [(j, points[i].dot) for j, its in enumerate(groups) if its is not group for i in its]
            taken = [*enumerate(columns), *dots]
            column, hit = min(
                ((box, [j for j, other in taken if box.meets(other)]) for box in _columns(group, points)),
                key=lambda tried: len(tried[1]) > 0,
            )
            if hit:  # no room for this group alone: merge it with the one in its way
                other = groups[hit[0]]
                apart = [one for one in groups if one is not group and one is not other]
                groups = [*apart, sorted(group + other, key=order.index)]
                break
            columns.append(column)
        else:
            return _inside(groups, columns, points)


def _inside(groups: Sequence[Sequence[int]], columns: Sequence[Box], points: Sequence[LabelPoint]) -> list[Box]:
    """Return the place of each name in the column of its group, at the column's edge nearest to the points."""
    found: dict[int, Box] = {}
    for group, column in zip(groups, columns, strict=True):
        is_left = column.right < min(points[i].x for i in group)
        for row, i in enumerate(group):
            top = column.top + row * _LINE
            left = column.right - points[i].width if is_left else column.left
            found[i] = Box(left, top, left + points[i].width, top + _LINE)
    return [found[i] for i in range(len(points))]


def _columns(group: Sequence[int], points: Sequence[LabelPoint]) -> Iterator[Box]:
    """Yield possible columns for the names of a group of points, the best first."""
    its = [points[i] for i in group]
    width, height = max(point.width for point in its), len(its) * _LINE
    first, last = min(point.x for point in its), max(point.x for point in its)
    middle = sum(point.y for point in its) / len(its)
    for away in (0, -1, 1, -2, 2, -3, 3):
        if len(its) == 1 and away in (-1, 1):  # above or below the point
            left, top = first - width / 2, middle - _LINE / 2 + away * (_LINE / 2 + _R + 4)
            if left >= 2 and left + width <= WIDTH + GAP and 2 <= top <= HEIGHT - _LINE - 1:
                yield Box(left, top, left + width, top + _LINE)
        # A name that is not beside its point gets a line to it, which needs room.
        aside = _R + (3 if len(its) == 1 and not away else 20)
        top = max(min(middle - height / 2 + away * _LINE, HEIGHT - height - 1), 2.0)
        for left in (last + aside, first - aside - width):
            if left >= 2 and left + width <= WIDTH + GAP:
                yield Box(left, top, left + width, top + height)
    if last + 20 + _R + width > WIDTH + GAP and first - 20 - _R - width < 2:  # no room on either side
        yield Box(WIDTH + GAP - width, 2.0, WIDTH + GAP, 2.0 + height)
