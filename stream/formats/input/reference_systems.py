"""Reference systems that a feed states: positions are read only if they are longitude and latitude, in degrees."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import takewhile
from typing import Any

from pyproj import CRS
from pyproj.exceptions import CRSError

from core.records.record import Reason
from stream.formats.input.errors import UnreadableError
from stream.formats.input.json_messages import unfolded
from stream.formats.input.paths import Origin, steps_in

__all__ = ["OTHER_SYSTEM", "StatedSystems", "states_other_system"]

OTHER_SYSTEM = (
    "states a reference system (crs or spatialReference) that is not longitude and latitude in degrees: write it in "
    "EPSG:4326"
)
"""The fault of what states another system."""

_NAMED = re.compile(r"(?:EPSG|ESRI|OGC|IGNF):\w+|urn:.*|https?:.*", re.IGNORECASE | re.DOTALL)
"""Names of systems that can be nothing else; ``crs`` alone may also be, say, the code of a railway station."""

_EPSG_IN_LINK = re.compile(r"epsg(?:[/:]|\.xml#)(?:[0-9.]*[/:])?([0-9]{4,6})\b", re.IGNORECASE)
_LONGEST = 10_000
"""Characters of the longest name; well-known text takes thousands."""

_DEGREE = math.radians(1)


class StatedSystems:
    """Looks for the reference system of a record wherever its form has a place for it.

    GeoJSON had ``crs`` before RFC 7946, in a collection, a feature or a geometry; MF-JSON has it; geometries of Esri
    have ``spatialReference``, and those of Debezium ``srid``. So each object counts through which a path leads to a
    list of coordinates, or to x and y.

    Args:
        names: For each of our fields its path in the feed.
        records: Path of the records in a document; empty if the document is the record.
    """

    def __init__(self, names: Mapping[str, str], records: str) -> None:
        found = {way for name in ("lat", "lon") for way in _ways(names[name])}
        if any(names[name].startswith("[") for name in ("lat", "lon")):  # each point is a list of coordinates
            found |= set(_ways(names["points"], is_of_coordinates=True))
        around = {(True, way) for _, way in _ways(records, is_of_coordinates=True)} if found and records else set()
        self._of_record = sorted(way for is_around, way in found if not is_around)
        self._around = sorted(way for is_around, way in found | around if is_around)
        self.are_possible = bool(found)
        """Whether records have a form that can state a reference system."""

    def refuse_others(self, record: Any, origin: Origin) -> None:
        """Refuse a record whose positions are not longitude and latitude: metres near 0,0 could pass for degrees.

        Raises:
            UnreadableError: The record, or what surrounds it, states another system.
        """
        if not self.are_possible:
            return
        for holder, ways in ((record, self._of_record), (origin.document, self._around)):
            for way in ways:
                if states_other_system(_at(holder, way)):
                    raise UnreadableError(Reason.WRONG_TYPE, f"the record {OTHER_SYSTEM}")


def states_other_system(holder: Any) -> bool:
    """Whether an object states a reference system that is not longitude and latitude, or is not known.

    >>> states_other_system({"crs": {"type": "name", "properties": {"name": "EPSG:3857"}}})
    True
    >>> states_other_system({"spatialReference": {"wkid": 4326}})
    False
    """
    if not isinstance(holder, dict):
        return False
    crs, of_esri = holder.get("crs"), holder.get("spatialReference")
    if "wkb" in holder and isinstance(srid := holder.get("srid"), int) and srid != 0:  # Debezium
        crs = srid if crs is None else crs
    return (crs is not None and _is_other_crs(crs)) or (isinstance(of_esri, dict) and _is_other_of_esri(of_esri))


def _is_other_crs(crs: Any) -> bool:
    if isinstance(crs, int) and not isinstance(crs, bool):
        crs = f"EPSG:{crs}"
    if isinstance(crs, str):
        return _NAMED.fullmatch(crs) is not None and not _is_in_degrees(crs)
    properties = crs.get("properties") if isinstance(crs, dict) else None
    if not isinstance(properties, dict):
        return False
    names = [value for key in ("name", "urn") if isinstance(value := properties.get(key), str)]
    names += [f"EPSG:{code}" for code in [properties.get("code")] if isinstance(code, int | str)]
    links = [value for key in ("href", "url") if isinstance(value := properties.get(key), str)]
    names += [link if (match := _EPSG_IN_LINK.search(link)) is None else f"EPSG:{match[1]}" for link in links]
    return not any(_is_in_degrees(name) for name in names[:1])


def _is_other_of_esri(system: Mapping[str, Any]) -> bool:
    codes = [code for name in ("latestWkid", "wkid") if isinstance(code := system.get(name), int)]
    names = [f"{authority}:{codes[0]}" for authority in ("EPSG", "ESRI")] if codes else []
    names += [text for name in ("wkt2", "wkt") if isinstance(text := system.get(name), str)]
    return bool(names) and not any(_is_in_degrees(name) for name in names)


@lru_cache(maxsize=256)
def _is_in_degrees(name: str) -> bool:
    """Whether a system is known, and measures degrees from Greenwich."""
    if len(name) > _LONGEST:
        return False
    try:
        crs = CRS.from_user_input(name)
    except CRSError:
        return False
    units = [axis.unit_conversion_factor for axis in crs.axis_info[:2]]
    meridian = 0.0 if crs.prime_meridian is None else crs.prime_meridian.longitude
    return bool(crs.is_geographic) and meridian == 0 and all(math.isclose(unit, _DEGREE) for unit in units)


def _ways(path: str, *, is_of_coordinates: bool = False) -> Iterator[tuple[bool, tuple[str, ...]]]:
    """Yield the names that lead to each object on the way to coordinates, and whether they begin at the document.

    Args:
        path: The path.
        is_of_coordinates: Whether its value is a list of coordinates, or holds some. Otherwise it must have an index,
            or be that of ``x`` or ``y`` in a geometry.
    """
    for is_around, steps in steps_in(path):
        names = tuple(step for step in takewhile(lambda step: isinstance(step, str), steps) if isinstance(step, str))
        is_list, is_of_esri = len(names) < len(steps), len(names) > 1 and names[-1].lower() in {"x", "y"}
        if is_of_coordinates or is_list or is_of_esri:
            yield from ((is_around, names[:i]) for i in range(max(len(names), 1)))


def _at(holder: Any, names: tuple[str, ...]) -> Any:
    for name in names:
        holder = holder.get(name) if isinstance(holder, dict) else None
        if isinstance(holder, str):
            holder = unfolded(holder)
    return holder
