"""What the values of a field are: the unit of times, the form of texts, the unit of degrees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from core.records.instants import UNIT_MS
from stream.formats.input.errors import UnreadableError
from stream.formats.input.numbers import to_number
from stream.formats.input.times.texts import TextTimes

__all__ = [
    "DECIMAL_COMMA",
    "FORMATS",
    "TimeForm",
    "are_times",
    "degrees_unit",
    "degrees_units",
    "most",
    "number_of",
    "numbers_of",
    "time_form",
]

_EARLIEST_S, _LATEST_S = 3e8, 4.2e9
"""Years 1979 to 2103: the units do not overlap."""

_YEARS = range(1979, 2104)

FORMATS = (
    "%a %b %d %H:%M:%S %z %Y",
    "%a, %d %b %Y %H:%M:%S %z",
    "%d/%m/%Y %H:%M:%S",
    "%m/%d/%Y %H:%M:%S",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
    "%m/%d/%Y %I:%M:%S %p",
    "%d.%m.%Y %H:%M:%S",
    "%d.%m.%Y %H:%M",
    "%d-%m-%Y %H:%M:%S",
    "%Y/%m/%d %H:%M:%S",
    "%Y/%m/%d %H:%M",
    "%Y%m%d%H%M%S",
    "%Y%m%dT%H%M%S%z",
    "%Y%m%dT%H%M%S",
    "%Y%m%d %H%M%S",
    "%Y-%m-%d_%H:%M:%S",
    "%Y-%m-%d %H.%M.%S",
    "%d/%m/%Y %I:%M:%S %p",
    "%d/%m/%Y %I:%M %p",
    "%m/%d/%Y %I:%M %p",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%a, %d %b %Y %H:%M:%S UTC",
    "%a %b %d %H:%M:%S GMT %Y",
    "%a %b %d %H:%M:%S UTC %Y",
    "%Y-%m-%d %H:%M:%S,%f",
    "%Y-%m-%dT%H:%M:%S,%f",
    "%d.%m.%Y %H:%M:%S,%f",
    "%d.%m.%Y %H:%M:%S.%f",
    "%d %b %Y %H:%M:%S",
    "%b %d, %Y %H:%M:%S",
)
"""Forms of times that are tried, of those that are not read without ``time.format``."""

_UTC = re.compile("GMT|UTC")
"""Names of zones in a form that are no offset, but mean one. Others, such as CEST, differ with the season."""

_LEAST_DEGREES = 0.1

_SHARE = 0.8
"""Share of the values that must be of a form: some records of every feed are broken."""

DECIMAL_COMMA = re.compile(r"[-+]?\d{1,3},\d+")
"""A position with a decimal comma."""

TimeForm = tuple[dict[str, str], bool, tuple[str, ...]]
"""Settings ``unit`` or ``format``, and ``zone`` if the form says it; whether an offset is missing; other formats that
fit as well."""


def number_of(value: Any, decimal: str = ".") -> float | None:
    """Return a number, also one that is given as text; None if it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value) if abs(value) < 1e300 else None
    if not isinstance(value, str):
        return None
    try:
        return to_number(value.strip(), decimal)
    except (ValueError, OverflowError):
        return None


def numbers_of(values: Iterable[Any], decimal: str = ".") -> list[float]:
    """Return the numbers among values."""
    return [number for value in values if (number := number_of(value, decimal)) is not None]


def most(found: Iterable[bool]) -> bool:
    """Whether so many values are of a form that the others are broken; False if there are none."""
    each = list(found)
    return bool(each) and sum(each) >= _SHARE * len(each)


def time_form(values: Sequence[Any]) -> TimeForm | None:
    """Return how times are written; None if the values are no times."""
    some = list(values[:200])
    if not some:
        return None
    if most(isinstance(value, datetime) for value in some):
        return {}, False, ()
    texts = [value for value in some if isinstance(value, str)]
    if texts and (form := _text_form(texts, len(some))) is not None:
        return form
    numbers = numbers_of(some)
    for unit, unit_ms in UNIT_MS.items():
        per_s = 1000 / unit_ms
        fitting = sum(_EARLIEST_S * per_s <= number <= _LATEST_S * per_s for number in numbers)
        if fitting >= _SHARE * len(some):
            return {"unit": unit}, False, ()
    return None


def are_times(values: Sequence[Any]) -> bool:
    """Whether values are times beyond doubt: texts with a date, or datetimes, but no numbers."""
    form = time_form(values)
    return form is not None and "unit" not in form[0]


def degrees_unit(lat: Sequence[float], lon: Sequence[float]) -> float | None:
    """Return a unit of latitudes and longitudes, in degrees; None if they are no positions in any that is known."""
    return next(iter(degrees_units(lat, lon)), None)


def degrees_units(lat: Sequence[float], lon: Sequence[float]) -> list[float]:
    """Return all units, in degrees, that make positions of latitudes and longitudes; numbers that may be degrees are.

    >>> degrees_units([482_082_000], [163_738_000]), degrees_units([48_208_200], [16_373_800])
    ([1e-07], [1e-07, 1e-06])
    """
    if not lat or not lon:
        return []
    if most(abs(value) <= 90 for value in lat) and most(abs(value) <= 180 for value in lon):
        return [1.0]
    if not most(float(value).is_integer() for value in (*lat, *lon)):
        return []
    return [
        unit
        for unit in (1e-7, 1e-6, 1e-5)
        if most(abs(value) * unit <= 90 for value in lat)
        and most(abs(value) * unit <= 180 for value in lon)
        # Close to 0,0 are no people: every unit would fit there.
        and max(map(abs, (*lat, *lon))) * unit >= _LEAST_DEGREES
    ]


def _text_form(texts: Sequence[str], n: int) -> TimeForm | None:
    with_offset = sum(_reads(TextTimes(), text) for text in texts)
    if with_offset >= _SHARE * n:
        return {}, False, ()
    is_local = sum(
        re.fullmatch(r"\s*\d{4}-\d\d-\d\d[Tt ]+\d\d:\d\d(:\d\d)?(\.\d+)?\s*", text) is not None for text in texts
    )
    if with_offset + is_local >= _SHARE * n:
        return {}, True, ()
    counts = {one: sum(_parses(text, one) for text in texts) for one in FORMATS}
    best = max(counts.values())
    if best < _SHARE * n:
        return None
    form, *others = [one for one, count in counts.items() if count == best]
    if "%z" not in form and _UTC.search(form):
        return {"format": form, "zone": "UTC"}, False, tuple(others)
    return {"format": form}, "%z" not in form, tuple(others)


def _reads(times: TextTimes, text: str) -> bool:
    try:
        times.read(text, "")
    except UnreadableError:
        return False
    return True


def _parses(text: str, form: str) -> bool:
    try:
        found = datetime.strptime(text.strip(), form)  # noqa: DTZ007 - only whether it fits
    except ValueError:
        return False
    return found.year in _YEARS  # 1712123456, a Unix time, also fits %Y%m%d%H%M%S: in the year 1712
