"""Points in metres of a map projection, with times since a start: the form of point data sets in the literature."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from core.records.record import Fragment, Point, Reason
from stream.formats.input.mapping import Unreadable
from stream.formats.input.rejection_reasons import NOT_UTF8

if TYPE_CHECKING:
    from collections.abc import Iterator

    from stream.formats.files.csv_files.lines import NumberedLines

__all__ = ["MetricProjection", "projection_in_metres"]

_BATCH = 5_000
"""Number of lines that are projected at once: one by one takes ten times as long."""


def projection_in_metres(code: str) -> str:
    """Return the code of a map projection whose axes are east and north in metres.

    Raises:
        ValueError: The code is not that of such a projection.
    """
    try:
        crs = CRS.from_user_input(code)
    except CRSError:
        crs = None
    if crs is None or not crs.is_projected or {axis.unit_name for axis in crs.axis_info} != {"metre"}:
        raise ValueError("it must be a projection in metres such as EPSG:2100")
    return code


@dataclass(frozen=True)
class MetricProjection:
    """A map projection in metres, and a start of time: converts lines of a file to points.

    Lines are ``user, time, x, y``, separated by tabs and without a header; ``x`` is east, ``y`` north.
    """

    code: str
    """Code of the map projection, such as ``EPSG:2100``; its axes are metres."""

    start: float = 0.0
    """Added to all times, in their unit."""

    @cached_property
    def _to_degrees(self) -> Transformer:
        return Transformer.from_crs(self.code, "EPSG:4326", always_xy=True)

    def read(self, lines: NumberedLines, max_bytes: int) -> Iterator[tuple[int, Fragment | Unreadable]]:
        """Yield one entry per line that is not blank, with its number: a fragment of one point, or why there is none.

        A position that is impossible in the projection becomes infinite or NaN, which validation rejects.

        Args:
            lines: The lines with their numbers.
            max_bytes: Longest line.
        """
        filled = ((number, line) for number, line in lines if line.strip())
        while batch := [(number, _parse(line, max_bytes)) for number, line in islice(filled, _BATCH)]:
            read = [one for _, one in batch if isinstance(one, _Line)]
            lon, lat = self._to_degrees.transform([one.x_m for one in read], [one.y_m for one in read])
            positions = zip(lat, lon, strict=True)
            for number, one in batch:
                if isinstance(one, _Line):
                    yield number, Fragment(user=one.user, points=[Point(self.start + one.time, *next(positions))])
                else:
                    yield number, one


class _Line(NamedTuple):
    user: str
    time: float
    x_m: float
    y_m: float

    def __repr__(self) -> str:
        """Show the type alone: the values are the whereabouts of a person."""
        return "_Line(...)"


def _parse(line: bytes, max_bytes: int) -> _Line | Unreadable:
    if len(line) > max_bytes:
        return Unreadable(Reason.MESSAGE_TOO_LARGE, f"the line is longer than {max_bytes} bytes")
    try:
        user, *numbers = (column.strip() for column in line.decode().split("\t"))
    except UnicodeDecodeError:
        return Unreadable(Reason.NOT_UTF8, f"the line {NOT_UTF8}")
    if "\0" in user:
        return Unreadable(Reason.NOT_CSV, "the line has a NUL character")
    if len(numbers) != len(_Line._fields) - 1:
        return Unreadable(
            Reason.MISSING_FIELD,
            "a line must be user, time, x and y, separated by tabs; another number of columns was found",
        )
    try:
        return _Line(user, *map(float, numbers))
    except ValueError:
        return Unreadable(Reason.WRONG_TYPE, "time, x and y must be numbers; a text was found")
