"""A guess of where records and their fields are, from the names and the types of what documents hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from core.records.record import Kind
from stream.feeds.trial.guessing.names import POINTS, TIMES, USERS, WEAK_USERS, normal, rank
from stream.feeds.trial.guessing.positions import (
    IN_METRES_TOO,
    named_pair,
    positive_west_or_south,
    signs_beside,
    standard_pair,
    text_pair,
    unordered_pair,
)
from stream.feeds.trial.guessing.shape import Shape, ShapeLeaf, escaped, shape_of
from stream.feeds.trial.guessing.split_time import split_time
from stream.feeds.trial.guessing.values import are_times, degrees_unit, numbers_of, time_form
from stream.feeds.trial.guessing.written import Guess
from stream.feeds.trial.sample import Sample
from stream.formats.input.paths import NO_TEXT, Origin, path_from

__all__ = ["Guess", "best_user", "guess_documents", "guess_fields", "time_in", "values_together"]

_ORDER_UNKNOWN = (
    "{path} has two numbers that may be a position, but nothing says which of them is the latitude: set fields.lat and "
    "fields.lon to {path}[0] and {path}[1], or the other way round"
)


_KEYS = ("kafka:key", "kafka:key:integer")

_WEAK = ("id", "identifier", "uuid", "guid", "key", "name", *WEAK_USERS)
"""Names of what may identify a person beside a list, but a record, a trip or a message as well."""

_TIME_ELSEWHERE = (
    "{path} has lists of numbers whose time is [{time}]: set fields.points to {path}, fields.ts to [{time}], and "
    "fields.lat and fields.lon to [{first}] and [{second}], or the other way round; nothing says which is the latitude"
)

_NO_TIMES = (
    "{path} has lists of positions without times: if the times are in a list beside it, set fields.ts to that, and "
    "fields.lat and fields.lon to {path}[][0] and {path}[][1], or the other way round; if nothing has them, write each "
    "position with its time"
)


def guess_documents(sample: Sample, kind: Kind) -> Guess | None:
    """Return the best guess for documents; None if nothing in them looks like a position."""
    roots = [record for document in sample.documents for record in _records(document)]
    whole = shape_of(roots)
    guesses = [guess_fields(whole, is_text=False)]
    for parts, lists in whole.lists.items():
        inner = shape_of([one for elements in lists for one in elements])
        if inner.n:
            guesses.append(_of_list(parts, inner, whole, guesses[0], kind))
        elif kind is Kind.FRAGMENTS and normal(parts[-1]) in POINTS:
            guesses.append(_of_triples(parts, whole))
        else:
            guesses.append(_of_pairs(parts, lists))
    found = max(guesses, key=lambda one: (one.has_position, one.n_found))
    if not found.has_position:
        return next((one for one in guesses if one.remarks), None)
    _person(found, sample)
    return found


def guess_fields(shape: Shape, *, is_text: bool, decimal: str = ".") -> Guess:
    """Return where position, time and person are in some records, and how their values are written.

    Args:
        shape: The shape of the records.
        is_text: Whether all values are text anyway, as in a table.
        decimal: The decimal sign of numbers that are text.
    """
    guess, leaves = Guess(), shape.often()
    lat_lon = next(filter(None, (named_pair(leaves, decimal), standard_pair(leaves), text_pair(leaves))), None)
    if lat_lon is None and not is_text and (lat_lon := named_pair(leaves, ",")) is not None:
        decimal = guess.settings["input.decimal"] = ","
    if lat_lon is not None:
        lat, lon = lat_lon
        guess.n_found += 1
        guess.settings |= {"fields.lat": lat.path, "fields.lon": lon.path}
        guess.add_degrees(lat.parts[-1], lat.values, lon.values, decimal)
        _add_signs(guess, leaves, lat_lon, decimal)
        if {normal(one.parts[-1]) for one in lat_lon} <= IN_METRES_TOO:
            guess.remarks.append(
                f"positions are {lat.path} and {lon.path}: check that they are degrees of latitude and longitude, and "
                "not metres of a plan or a map projection"
            )
        guess.add_text_numbers(
            [value for leaf in lat_lon if leaf.index is None for value in leaf.values], is_text=is_text
        )
    elif (leaf := unordered_pair(leaves)) is not None:
        guess.remarks.append(_ORDER_UNKNOWN.format(path=".".join(map(escaped, leaf.parts))))
    if times := (None if lat_lon is None else _time_near(lat_lon[0], leaves)) or time_in(leaves):
        guess.n_found += 1
        guess.settings["fields.ts"] = path = " + ".join(leaf.path for leaf in times)
        guess.add_time(path, values_together(times), is_text=is_text)
    if (user := best_user(leaves)) is not None:
        guess.n_found += 1
        guess.settings["fields.user"] = user.path
    elif (weak := _best(leaves, WEAK_USERS, _is_id)) is not None:
        guess.weak_user = weak.path
    return guess


def _add_signs(guess: Guess, leaves: Sequence[ShapeLeaf], lat_lon: tuple[ShapeLeaf, ShapeLeaf], decimal: str) -> None:
    """Say where the signs of positions are, if they are not in the numbers."""
    signs = signs_beside(leaves, lat_lon, decimal)
    for name, one, sign in zip(("latitude", "longitude"), lat_lon, signs, strict=True):
        if sign is not None:
            guess.settings[f"input.{name}_sign"] = sign.path
            guess.remarks.append(
                f"the sign of {one.path} is in {sign.path}, and missing from the number: without "
                f"input.{name}_sign, {'south would be north' if name == 'latitude' else 'west would be east'}"
            )
        elif (word := positive_west_or_south(one, decimal)) is not None:
            other = "N" if word == "S" else "E"
            guess.needs[f"input.{name}_sign"] = (
                f"the name {one.path} may say that positive numbers are {'south' if word == 'S' else 'west'}: set "
                f"input.{name}_sign to ={word} if it does, and to ={other} if it does not"
            )


# ---------------------------------------------------------------------- lists of records


def _of_list(parts: tuple[str, ...], inner: Shape, whole: Shape, around: Guess, kind: Kind) -> Guess:
    """Return a guess for a list of records; ``around`` is that for what surrounds it."""
    guess = guess_fields(inner, is_text=False)
    path = ".".join(map(escaped, parts))
    weak = "" if "fields.user" in guess.settings else _id_beside(parts, whole)
    # Elements that name nobody are all of one person.
    names_nobody = "fields.user" not in guess.settings and not guess.weak_user
    is_of_one = kind is Kind.FRAGMENTS and names_nobody and "fields.ts" in guess.settings
    if is_of_one and ("fields.user" in around.settings or weak or whole.n > 1):
        guess.settings["fields.points"] = path
        guess.weak_user = weak
        if "fields.user" in around.settings:
            guess.settings["fields.user"] = around.settings["fields.user"]
            guess.n_found += 1
        return guess
    guess.settings["input.records"] = path
    guess.weak_user = f"/{weak}" if weak else guess.weak_user
    for name in ("fields.user", "fields.ts"):
        if name not in guess.settings and name in around.settings:
            guess.settings[name] = f"/{around.settings[name]}"
            guess.n_found += 1
            if name == "fields.ts":
                guess.settings |= {key: value for key, value in around.settings.items() if key.startswith("time.")}
                guess.needs |= around.needs
    return guess


def _of_triples(parts: tuple[str, ...], whole: Shape) -> Guess:
    """Return a guess for points that are lists, which begin with time, latitude and longitude."""
    triples = [point for points in whole.lists[parts] for point in points if isinstance(point, list) and len(point) > 2]
    guess, path = Guess(), ".".join(map(escaped, parts))
    columns = list(zip(*(triple[:3] for triple in triples), strict=True))
    if len(columns) < 3 or (form := time_form(columns[0])) is None:
        if (time := next((i for i, column in enumerate(columns) if time_form(column) is not None), None)) is not None:
            first, second = (i for i in range(3) if i != time)
            guess.remarks.append(_TIME_ELSEWHERE.format(path=path, time=time, first=first, second=second))
        return guess
    lat, lon = map(numbers_of, columns[1:])
    if degrees_unit(lat, lon) != 1.0:
        return guess
    guess.settings = {"fields.points": path, "fields.lat": "lat", "fields.lon": "lon"}
    guess.settings |= {f"time.{name}": value for name, value in form[0].items()}
    guess.remarks.append("points are read as lists of time, latitude and longitude: check the order of the last two")
    guess.n_found = 2
    if (user := best_user(whole.often())) is not None:
        guess.settings["fields.user"] = user.path
        guess.n_found += 1
    guess.weak_user = _id_beside(parts, whole)
    return guess


def _of_pairs(parts: tuple[str, ...], lists: Sequence[Sequence[Any]]) -> Guess:
    """Return a remark on lists of positions without times; they may have them elsewhere."""
    pairs = [pair for points in lists for pair in points if isinstance(pair, list) and len(pair) == 2]
    is_of_positions = bool(pairs) and degrees_unit(*(numbers_of(column) for column in zip(*pairs, strict=True))) == 1.0
    path = ".".join(map(escaped, parts))
    return Guess(remarks=[_NO_TIMES.format(path=path)] if is_of_positions else [])


def _id_beside(parts: tuple[str, ...], whole: Shape) -> str:
    """Return the path of an id that stands beside a list, or around it; empty if there is none."""
    found = [
        (-len(leaf.parts), _WEAK.index(normal(leaf.parts[-1])), leaf.path)
        for leaf in whole.often()
        if leaf.index is None
        and normal(leaf.parts[-1]) in _WEAK
        and leaf.parts[:-1] == parts[: len(leaf.parts) - 1]
        and _is_id(leaf.values)
    ]
    return min(found, default=(0, 0, ""))[2]


def _records(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


# ---------------------------------------------------------------------- time and person


def time_in(leaves: Sequence[ShapeLeaf]) -> tuple[ShapeLeaf, ...]:
    """Return the field with the time; or two, with the date and the time of day; or none."""
    if (named := _best(leaves, TIMES, lambda values: time_form(values) is not None)) is not None:
        return (named,)
    if (other := next((leaf for leaf in leaves if leaf.index is None and are_times(leaf.values)), None)) is not None:
        return (other,)
    return split_time(leaves) or ()


def _time_near(lat: ShapeLeaf, leaves: Sequence[ShapeLeaf]) -> tuple[ShapeLeaf, ...] | None:
    """Return a time in the innermost object around a position that has one: those outside are when it was sent."""
    for depth in range(len(lat.parts) - 1, 0, -1):
        beside = [leaf for leaf in leaves if leaf.parts[:depth] == lat.parts[:depth]]
        if (named := _best(beside, TIMES, lambda values: time_form(values) is not None)) is not None:
            return (named,)
    return None


def values_together(leaves: Sequence[ShapeLeaf]) -> list[Any]:
    """Return the values of one field, or the texts of several, joined."""
    if len(leaves) == 1:
        return leaves[0].values
    return [" ".join(map(str, row)) for row in zip(*(leaf.values for leaf in leaves), strict=False)]


def best_user(leaves: Sequence[ShapeLeaf]) -> ShapeLeaf | None:
    """Return the field with the id of the person, by its name."""
    return _best(leaves, USERS, _is_id)


def _person(guess: Guess, sample: Sample) -> None:
    """Look for the person around the record, if no field is one."""
    if "fields.user" in guess.settings:
        return
    keys = [origin.key for origin in sample.origins if origin.key]
    headers = Counter(name for origin in sample.origins for name, value in origin.headers if value)
    named = [name for name, n in headers.items() if 2 * n >= len(sample.origins) and rank((name,), USERS) is not None]
    if named:
        guess.settings["fields.user"] = f"kafka:header:{named[0]}"
        guess.n_found += 1
    elif 2 * len(keys) >= len(sample.origins) and (paths := [path for path in _KEYS if _reads_all(path, keys)]):
        guess.settings["fields.user"] = paths[0]
        guess.remarks.append(
            "no field looks like a person's id, so the key of the message is taken: check that it is one"
        )
        guess.n_found += 1
    else:
        guess.take_weak_user()


def _reads_all(path: str, keys: Sequence[bytes]) -> bool:
    read = path_from(path)
    return bool(keys) and all(read({}, Origin(key=key)) is not NO_TEXT for key in keys)


def _best(leaves: Sequence[ShapeLeaf], names: tuple[str, ...], fits: Any) -> ShapeLeaf | None:
    found = [
        (place, len(leaf.parts), i, leaf)
        for i, leaf in enumerate(leaves)
        if leaf.index is None and (place := rank(leaf.parts, names)) is not None and fits(leaf.values)
    ]
    return min(found, key=lambda one: one[:3])[3] if found else None


def _is_id(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
