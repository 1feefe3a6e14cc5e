"""A guess of what the columns of a table are, from their values alone: there is no header, or its names are unknown."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from stream.feeds.trial.guessing.guess import best_user, time_in, values_together
from stream.feeds.trial.guessing.positions import signs_beside
from stream.feeds.trial.guessing.shape import ShapeLeaf
from stream.feeds.trial.guessing.split_time import is_clock, is_date
from stream.feeds.trial.guessing.values import DECIMAL_COMMA, most, number_of, numbers_of, time_form
from stream.feeds.trial.guessing.written import NEEDS_USER, Guess
from stream.formats.files.csv_files.headers import are_names

__all__ = ["guess_columns", "guess_unknown_names"]

_METRES = (
    "two columns may be metres of a map projection: as fragments, a .tsv of person, time, x and y is read if "
    "files.metres names the projection, such as EPSG:2100"
)

GuessedColumn = Sequence[str]


def guess_columns(rows: Sequence[Sequence[str]], delimiter: str) -> Guess | None:
    """Return a guess for columns without names.

    Args:
        rows: All lines.
        delimiter: The name of what separates their values.
    """
    columns = _columns(rows, max(map(len, rows)))
    decimal = _decimal(columns)
    times = _times(columns)
    places = [i for i, column in enumerate(columns) if _are_degrees(column, decimal) and i not in times]
    if len([column for column in columns if _are_metres(column)]) == 2 and delimiter == "tab":
        return Guess(remarks=[_METRES])
    if not times or len(places) != 2:
        return None
    guess = Guess(n_found=2)
    (lat, lon), is_sure = _ordered(columns, places, decimal)
    unnamed = [ShapeLeaf((f"column{i + 1}",), values=list(column)) for i, column in enumerate(columns)]
    signs = _signs(unnamed, (lat, lon), decimal)
    if not is_sure:
        guess.needs["input.columns"] = (
            "there is no header, and nothing says which of two columns is the latitude: check lat and lon in "
            "input.columns"
        )
    names = {lat: "lat", lon: "lon"} | dict(zip(times, ("date", "time") if len(times) == 2 else ("ts",), strict=True))
    names |= dict(zip(signs, ("lat_sign", "lon_sign"), strict=False))
    others = [
        i
        for i, column in enumerate(columns)
        if i not in names and not any(map(_is_fraction, column)) and not _counts_up(column)
    ]
    if others:
        names[others[0]] = "user"
        guess.n_found += 1
        guess.settings["fields.user"] = "user"
        is_same = len(rows) > 1 and len(set(columns[others[0]])) == 1
        guess.remarks.append(
            "there is no header: the first column that is no time and no position is taken for the person"
            + "; all its values are the same: if every file is one person, set fields.user to file:name" * is_same
        )
    guess.settings |= {
        "input.delimiter": delimiter,
        "input.columns": [names.get(i, f"column{i + 1}") for i in range(len(columns))],
        "fields.ts": "date + time" if len(times) == 2 else "ts",
        "fields.lat": "lat",
        "fields.lon": "lon",
    }
    if signs:
        guess.settings |= {"input.latitude_sign": "lat_sign", "input.longitude_sign": "lon_sign"}
        guess.remarks.append(f"{_in_words(signs)} hold the signs of the positions, which are missing from the numbers")
    if decimal == ",":
        guess.settings["input.decimal"] = ","
    leaves = [ShapeLeaf((names[i],), values=list(columns[i])) for i in times]
    guess.add_time(_in_words(times), values_together(leaves), is_text=True)
    return guess


def guess_unknown_names(header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str) -> Guess | None:
    """Return a guess for columns whose names say nothing, such as those of another language.

    Names are proposed only if the first line is a header beyond doubt. Otherwise it may be the record of a person, and
    columns have numbers.

    Args:
        header: The first line.
        rows: The lines below it.
        delimiter: The name of what separates their values.
    """
    columns = _columns(rows, len(header))
    decimal = _decimal(columns)
    leaves = [ShapeLeaf((name,), values=list(column)) for name, column in zip(header, columns, strict=True)]
    times = time_in([leaf for leaf in leaves if leaf.values])
    places = [
        i
        for i, column in enumerate(columns)
        if _are_degrees(column, decimal) and not any(leaves[i] is one for one in times)
    ]
    if len(places) < 2 or not times:
        return None
    guess = Guess(settings={"input.delimiter": delimiter}, n_found=1)
    if decimal == ",":
        guess.settings["input.decimal"] = ","
    shown = are_names(header)
    words = [f"{i + 1} ({name})" if shown else str(i + 1) for i, name in enumerate(header)]
    (lat, lon), is_sure = _ordered(columns, places, decimal)
    found = {"fields.lat": leaves[lat].path, "fields.lon": leaves[lon].path}
    if is_sure:
        _give(guess, found, f"column {lat + 1} holds latitudes and column {lon + 1} longitudes", shown=shown)
    else:
        guess.to_try |= found
        guess.needs["fields.lat"] = (
            f"columns {_listed([words[i] for i in places])} may be latitude and longitude, but no name says which is "
            "which: set fields.lat and fields.lon to their names in the header"
        )
    if signs := _signs(leaves, (lat, lon), decimal):
        _give(
            guess,
            {f"input.{name}_sign": leaves[i].path for name, i in zip(("latitude", "longitude"), signs, strict=True)},
            f"{_in_words(signs)} hold the signs of the positions, which are missing from the numbers",
            shown=shown,
        )
    at = [_index(leaves, leaf) for leaf in times]
    where = _in_words(at)
    guess.add_time(where, values_together(times), is_text=True)
    _give(
        guess,
        {"fields.ts": " + ".join(leaf.path for leaf in times)},
        f"{where}{' hold a date and a time of day' if len(at) == 2 else ' holds times'}",
        shown=shown,
    )
    if (user := best_user(leaves)) is not None:
        _give(guess, {"fields.user": user.path}, f"column {_index(leaves, user) + 1} may be the person", shown=shown)
    else:
        guess.needs["fields.user"] = NEEDS_USER
    return guess


def _signs(leaves: Sequence[ShapeLeaf], pair: tuple[int, int], decimal: str) -> list[int]:
    """Return the columns with the hemispheres of latitude and longitude, if both have one; else none."""
    lat, lon = pair
    found = signs_beside(leaves, (leaves[lat], leaves[lon]), decimal)
    return [_index(leaves, sign) for sign in found if sign is not None] if None not in found else []


def _give(guess: Guess, found: dict[str, str], words: str, *, shown: bool) -> None:
    """Add settings, or say which columns are meant, if their names must not be shown."""
    if shown:
        guess.settings |= found
        return
    guess.to_try |= found
    joined = ", with + between them" if any(" + " in path for path in found.values()) else ""
    names = "their names" if len(found) > 1 or joined else "its name"
    guess.needs[next(iter(found))] = f"{words}: set {' and '.join(found)} to {names} in the header{joined}"


def _in_words(at: Sequence[int]) -> str:
    return f"column{'s' * (len(at) > 1)} {' and '.join(str(i + 1) for i in at)}"


def _listed(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _index(leaves: Sequence[ShapeLeaf], leaf: ShapeLeaf) -> int:
    return next(i for i, one in enumerate(leaves) if one is leaf)


def _columns(rows: Sequence[Sequence[str]], width: int) -> list[GuessedColumn]:
    return [[row[i] for row in rows if i < len(row) and row[i]] for i in range(width)]


def _times(columns: Sequence[GuessedColumn]) -> list[int]:
    """Return the column with the time; or two, with the date and the time of day."""
    whole = [i for i, column in enumerate(columns) if time_form(column) is not None]
    dates, clocks = ([i for i, column in enumerate(columns) if holds(column)] for holds in (is_date, is_clock))
    return whole[:1] or ([dates[0], clocks[0]] if dates and clocks else [])


def _ordered(columns: Sequence[GuessedColumn], places: Sequence[int], decimal: str) -> tuple[tuple[int, int], bool]:
    """Return latitude and longitude, and whether that is sure: only a longitude is beyond 90 degrees."""
    first, second = places[:2]
    beyond = [_beyond_90(columns[i], decimal) for i in (first, second)]
    order = (second, first) if beyond[0] else (first, second)
    return order, len(places) == 2 and beyond[0] != beyond[1]


def _decimal(columns: Sequence[GuessedColumn]) -> str:
    return "," if any(column and all(map(DECIMAL_COMMA.fullmatch, column)) for column in columns) else "."


def _are_degrees(column: GuessedColumn, decimal: str) -> bool:
    return (
        most(number_of(cell, decimal) is not None for cell in column)
        and all(abs(number) <= 180 for number in numbers_of(column, decimal))
        and any(decimal in cell for cell in column)
    )


def _are_metres(column: GuessedColumn) -> bool:
    numbers = numbers_of(column)
    return (
        len(numbers) == len(column) > 0
        and all(abs(one) > 1_000 for one in numbers)
        and any("." in one for one in column)
    )


def _counts_up(column: GuessedColumn) -> bool:
    """Whether a column numbers the rows."""
    numbers = numbers_of(column)
    return len(numbers) == len(column) > 2 and all(after == before + 1 for before, after in pairwise(numbers))


def _is_fraction(cell: str) -> bool:
    number = number_of(cell)
    return number is not None and "." in cell


def _beyond_90(column: GuessedColumn, decimal: str) -> bool:
    return any(abs(number) > 90 for number in numbers_of(column, decimal))
