"""Plane: points told in metres of a map projection, and in times since something began, as point data sets do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import IO, TYPE_CHECKING, NamedTuple

from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError

from core.records import Fragment, Point, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Plane", "projection_in_metres"]

_BATCH = 5_000
"""Lines that are projected at once: one by one takes ten times as long."""


def projection_in_metres(code: str) -> str:
    """Return the code of a map projection whose axes are east and north in metres.

    Raises:
        ValueError: It is not one.
    """
    try:
        crs = CRS.from_user_input(code)
    except CRSError:
        crs = None
    if crs is None or not crs.is_projected or {axis.unit_name for axis in crs.axis_info} != {"metre"}:
        raise ValueError("it must be a projection in metres such as EPSG:2100")
    return code


@dataclass(frozen=True)
class Plane:
    """Where on the earth some metres are, and when some times.

    Lines are ``user, time, x, y``, separated by tabs and without a header; ``x`` is east, ``y`` north.
    """

    projection: str
    """Code of the map projection, such as ``EPSG:2100``; its axes are metres."""

    start: float = 0.0
    """What is added to times, in their unit."""

    @cached_property
    def _to_degrees(self) -> Transformer:
        return Transformer.from_crs(self.projection, "EPSG:4326", always_xy=True)

    def read(self, lines: IO[bytes]) -> Iterator[Fragment | tuple[Reason, str]]:
        """Yield one entry per line that is not blank: a fragment of one point, or why it cannot be read.

        A position that the projection cannot have made is infinite, which no validation lets pass.
        """
        filled = (line for line in lines if line.strip())
        while batch := [_parse(line) for line in islice(filled, _BATCH)]:
            read = [one for one in batch if isinstance(one, _Line)]
            lon, lat = self._to_degrees.transform([one.x_m for one in read], [one.y_m for one in read])
            positions = zip(lat, lon, strict=True)
            for one in batch:
                if isinstance(one, _Line):
                    yield Fragment(user=one.user, points=[Point(self.start + one.time, *next(positions))])
                else:
                    yield one


class _Line(NamedTuple):
    user: str
    time: float
    x_m: float
    y_m: float


def _parse(line: bytes) -> _Line | tuple[Reason, str]:
    user, *numbers = (column.strip() for column in line.decode("utf-8", "surrogateescape").split("\t"))
    if len(numbers) != len(_Line._fields) - 1:
        return Reason.MISSING_FIELD, "a line is user, time, x and y, separated by tabs"
    try:
        return _Line(user, *map(float, numbers))
    except ValueError:
        return Reason.WRONG_TYPE, "time, x or y is not a number"
