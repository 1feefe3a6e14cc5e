"""Workloads that people write: NDJSON, one COUNT query on each line.

.. code-block:: json

    {"places": ["892a100d2c3ffff"]}
    {"places": [{"area": [40.70, -74.02, 40.72, -73.98]}, {"h3": "872a100d2ffffff"}], "in_order": false}
    {"places": [{"around": [40.7, -74.0], "radius_m": 500}], "between": ["22:00", "02:00"]}
    {"places": ["mall"], "attributes": {"age": [20, 30], "origin": "Europe"}}
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from core.utility.workload import (
    MOST_PLACES,
    AroundPlace,
    CellPlace,
    CountQuery,
    LocationPlace,
    QueryPlace,
    RectanglePlace,
    TimeOfDay,
    Workload,
)
from stream.formats.files.record_file import FileFormatError

__all__ = ["read_queries", "workload_of"]

_FIELDS = ("places", "in_order", "between", "attributes")
_MOST_DRAWN = 100_000
_DRAWN = re.compile(r"drawn(?::(\d+))?")
_CLOCK = re.compile(r"([01]\d|2[0-3]):([0-5]\d)|24:00")
_PLACE = (
    'a place is a location\'s name, {"area": [south, west, north, east]}, {"h3": "..."} or '
    '{"around": [latitude, longitude], "radius_m": ...}'
)


def workload_of(text: str, *, sanity_percent: float) -> Workload:
    """Return the workload that ``--queries`` names: a file, or ``drawn:100``.

    Raises:
        FileFormatError: The file cannot be read, or a line is no query; the message names file and line.
        ValueError: Too many queries are to be drawn, or none.
    """
    if (drawn := _DRAWN.fullmatch(text)) is None:
        return Workload(queries=read_queries(Path(text)), sanity_percent=sanity_percent)
    n = int(drawn[1]) if drawn[1] else Workload().n_drawn
    if not 1 <= n <= _MOST_DRAWN:
        raise ValueError(f"drawn:{n}: draw 1 to {_MOST_DRAWN:,} queries of each window")
    return Workload(n_drawn=n, sanity_percent=sanity_percent)


def read_queries(path: Path) -> tuple[CountQuery, ...]:
    """Read the queries of a file; blank lines are skipped.

    Raises:
        FileFormatError: The file has no query, or a line is none; the message names file and line.
    """
    queries: list[CountQuery] = []
    try:
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if line.strip():
                queries.append(_query(line, f"{path}, line {number}"))
    except FileNotFoundError:
        raise FileFormatError(
            f"{path} does not exist: --queries takes an NDJSON file of queries, or drawn:100"
        ) from None
    except UnicodeDecodeError:
        raise FileFormatError(f"{path} is not UTF-8: --queries takes an NDJSON file of queries") from None
    if not queries:
        raise FileFormatError(f"{path} has no query: write one JSON object on each line")
    return tuple(queries)


def _query(line: str, where: str) -> CountQuery:
    try:
        found = json.loads(line)
        if not isinstance(found, dict):
            raise ValueError('a query is a JSON object, such as {"places": ["892a100d2c3ffff"]}')
        if unknown := sorted(set(found) - set(_FIELDS)):
            raise ValueError(f"a query has no field {unknown[0]!r}: its fields are {', '.join(_FIELDS)}")
        places = found.get("places")
        if not isinstance(places, list) or not 1 <= len(places) <= MOST_PLACES:
            raise ValueError(f"places is a list of 1 to {MOST_PLACES} places: {_PLACE}")
        in_order = found.get("in_order", True)
        if not isinstance(in_order, bool):
            raise ValueError("in_order is true or false")
        return CountQuery(
            places=tuple(map(_place, places)),
            in_order=in_order,
            during=None if found.get("between") is None else _between(found["between"]),
            attributes=_attributes(found.get("attributes") or {}),
        )
    except json.JSONDecodeError:
        raise FileFormatError(f"{where}: this is not JSON; write one JSON object on each line") from None
    except ValueError as fault:
        raise FileFormatError(f"{where}: {fault}") from None


def _place(value: Any) -> QueryPlace:
    if isinstance(value, str) and value:
        return LocationPlace(value)
    if isinstance(value, dict):
        keys = set(value)
        if keys == {"area"} and (area := _numbers(value["area"], 4)):
            south, west, north, east = area
            return RectanglePlace(south=south, west=west, north=north, east=east)
        if keys == {"h3"} and isinstance(value["h3"], str):
            return CellPlace(value["h3"])
        if keys == {"around", "radius_m"} and (at := _numbers([*_list(value["around"]), value["radius_m"]], 3)):
            return AroundPlace(lat_deg=at[0], lon_deg=at[1], radius_m=at[2])
    raise ValueError(_PLACE)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _numbers(value: Any, n: int) -> list[float] | None:
    """Return so many numbers; None if the value is something else."""
    numbers = [float(one) for one in _list(value) if isinstance(one, int | float) and not isinstance(one, bool)]
    return numbers if len(numbers) == n == len(value) else None


def _between(value: Any) -> TimeOfDay:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError('between is a list of two times of day in UTC, such as ["22:00", "02:00"]')
    from_ms, to_ms = map(_time_ms, value)
    return TimeOfDay(from_ms=from_ms, to_ms=to_ms)


def _time_ms(value: Any) -> int:
    if not isinstance(value, str) or not _CLOCK.fullmatch(value):
        raise ValueError('a time of day is written as "08:30", from 00:00 to 24:00')
    return (int(value[:2]) * 60 + int(value[3:])) * 60_000


def _attributes(value: Any) -> Mapping[str, str | tuple[float, float]]:
    if not isinstance(value, dict):
        raise ValueError('attributes is an object, such as {"age": [20, 30], "origin": "Europe"}')
    return {name: _wanted(name, wanted) for name, wanted in value.items()}


def _wanted(name: str, value: Any) -> str | tuple[float, float]:
    if isinstance(value, str):
        return value
    if (limits := _numbers(value, 2)) and limits[0] <= limits[1]:
        return limits[0], limits[1]
    raise ValueError(f"attribute {name!r} is a value of its hierarchy, or [smallest, largest] number")
