"""A guess of where records and their fields are, from the names and the types of what documents hold."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.records.record import Kind
from stream.feeds.trial.names import POINTS, TIMES, USERS, normal, rank
from stream.feeds.trial.positions import columns_of, named_pair, standard_pair, text_pair
from stream.feeds.trial.sample import Sample
from stream.feeds.trial.shape import Leaf, Shape, escaped, shape_of
from stream.feeds.trial.values import are_times, degrees_unit, number_of, time_form

__all__ = ["Guess", "guess_documents", "guess_fields"]

_ORDER_UNKNOWN = (
    "{path} has two numbers that may be a position, but nothing says which of them is the latitude: set fields.lat and "
    "fields.lon to {path}[0] and {path}[1], or the other way round"
)


@dataclass(slots=True)
class Guess:
    """Settings that may read a source, by dotted name below the kind of feed."""

    settings: dict[str, Any] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    needs: dict[str, str] = field(default_factory=dict)
    """Settings that only the owner of the data can choose, and why."""

    n_found: int = 0
    """How many of position, time and person were found."""

    @property
    def has_position(self) -> bool:
        """Whether a position was found."""
        return "fields.lat" in self.settings


def guess_documents(sample: Sample, kind: Kind) -> Guess | None:
    """Return the best guess for documents; None if nothing in them looks like a position."""
    roots = [record for document in sample.documents for record in _records(document)]
    whole = shape_of(roots)
    guesses = [guess_fields(whole, is_text=False)]
    for parts, lists in whole.lists.items():
        inner = shape_of([one for elements in lists for one in elements])
        if inner.n:
            guesses.append(_of_list(parts, inner, whole, kind))
        elif kind is Kind.FRAGMENTS and normal(parts[-1]) in POINTS:
            guesses.append(_of_triples(parts, whole))
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
    if lat_lon is not None:
        lat, lon = lat_lon
        guess.n_found += 1
        guess.settings |= {"fields.lat": lat.path, "fields.lon": lon.path}
        _degrees(guess, lat, lon, decimal)
        _text_numbers(guess, (lat, lon), is_text=is_text)
    else:
        guess.remarks += [
            _ORDER_UNKNOWN.format(path=".".join(map(escaped, leaf.parts)))
            for leaf in leaves
            if leaf.index == 1 and degrees_unit(*columns_of([leaf, leaf], decimal)) == 1.0
        ][:1]
    if (time := _time(leaves)) is not None:
        guess.n_found += 1
        guess.settings["fields.ts"] = time.path
        _time_form(guess, time, is_text=is_text)
    if (user := _best(leaves, USERS, _is_id)) is not None:
        guess.n_found += 1
        guess.settings["fields.user"] = user.path
    return guess


# ---------------------------------------------------------------------- lists of records


def _of_list(parts: tuple[str, ...], inner: Shape, whole: Shape, kind: Kind) -> Guess:
    guess = guess_fields(inner, is_text=False)
    path = ".".join(map(escaped, parts))
    around = guess_fields(Shape(whole.n, whole.leaves, {}), is_text=False)
    if kind is Kind.FRAGMENTS and "fields.user" not in guess.settings and "fields.user" in around.settings:
        guess.settings |= {"fields.points": path, "fields.user": around.settings["fields.user"]}
        guess.n_found += 1
        return guess
    guess.settings["input.records"] = path
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
    guess = Guess()
    columns = list(zip(*(triple[:3] for triple in triples), strict=True))
    if len(columns) < 3 or (form := time_form(columns[0])) is None:
        return guess
    lat, lon = ([number for value in column if (number := number_of(value)) is not None] for column in columns[1:])
    if degrees_unit(lat, lon) != 1.0:
        return guess
    guess.settings = {"fields.points": ".".join(map(escaped, parts)), "fields.lat": "lat", "fields.lon": "lon"}
    guess.settings |= {f"time.{name}": value for name, value in form[0].items()}
    guess.remarks.append("points are read as lists of time, latitude and longitude: check the order of the last two")
    guess.n_found = 2
    if (user := _best(whole.often(), USERS, _is_id)) is not None:
        guess.settings["fields.user"] = user.path
        guess.n_found += 1
    return guess


def _records(document: Any) -> list[Any]:
    return document if isinstance(document, list) else [document]


# ---------------------------------------------------------------------- position


def _degrees(guess: Guess, lat: Leaf, lon: Leaf, decimal: str) -> None:
    unit = degrees_unit(*columns_of([lat, lon], decimal))
    if unit != 1.0 and (named := re.search("e([5-7])$", normal(lat.parts[-1]))) is not None:
        unit = float(f"1e-{named[1]}")
    if unit is not None and unit != 1.0:
        guess.settings["input.degrees_per_unit"] = unit
        guess.remarks.append(
            f"positions are whole numbers, and {unit:g} degrees in one unit would make positions of them: check on a "
            "map that this is what the source means, because another power of ten may be accepted as well"
        )


def _text_numbers(guess: Guess, leaves: Sequence[Leaf], *, is_text: bool) -> None:
    if not is_text and any(isinstance(value, str) for leaf in leaves if leaf.index is None for value in leaf.values):
        guess.settings["input.numbers_as_text"] = True


# ---------------------------------------------------------------------- time and person


def _time(leaves: Sequence[Leaf]) -> Leaf | None:
    named = _best(leaves, TIMES, lambda values: time_form(values) is not None)
    return named or next((leaf for leaf in leaves if leaf.index is None and are_times(leaf.values)), None)


def _time_form(guess: Guess, time: Leaf, *, is_text: bool) -> None:
    form = time_form(time.values)
    if form is None:
        return
    settings, lacks_offset, others = form
    guess.settings |= {f"time.{name}": value for name, value in settings.items()}
    if "unit" in settings and not is_text and any(isinstance(value, str) for value in time.values):
        guess.settings["input.numbers_as_text"] = True
    if lacks_offset:
        guess.needs["time.zone"] = (
            f"the times in {time.path} have no offset: set time.zone to the zone in which they were written, such as "
            "UTC or Europe/Vienna"
        )
    if others:
        guess.needs["time.format"] = (
            f"the times in {time.path} also fit {' and '.join(others)}: set time.format to the one that is meant"
        )


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
    elif keys and 2 * len(keys) >= len(sample.origins):
        guess.settings["fields.user"] = "kafka:key"
        guess.remarks.append(
            "no field looks like a person's id, so the key of the message is taken: check that it is one"
        )
        guess.n_found += 1


def _best(leaves: Sequence[Leaf], names: tuple[str, ...], fits: Any) -> Leaf | None:
    found = [
        (place, len(leaf.parts), i, leaf)
        for i, leaf in enumerate(leaves)
        if leaf.index is None and (place := rank(leaf.parts, names)) is not None and fits(leaf.values)
    ]
    return min(found, key=lambda one: one[:3])[3] if found else None


def _is_id(values: Sequence[Any]) -> bool:
    return all(isinstance(value, str | int) and not isinstance(value, bool) for value in values)
