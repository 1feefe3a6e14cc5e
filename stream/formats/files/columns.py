"""Columns: which of a table's columns a feed reads, and which it needs."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import chain

from core.records.record import Kind, attribute_field
from stream.formats.input.conditions import names_of_condition
from stream.formats.input.mapping import MappingOptions
from stream.formats.input.paths import holders_in, is_elsewhere, names_in, needed_names

__all__ = ["Columns", "columns_of", "in_words", "reads_whole_rows", "top_levels"]

_STEP = re.compile(r"[.\[]")
_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns that a feed reads."""

    used: Sequence[str]
    """Names of all columns that some path may read."""

    needed: Sequence[Sequence[str]] = field(default_factory=tuple)
    """For each field that every record must have the names of the columns that it may be in."""

    nested: Sequence[str] = field(default_factory=tuple)
    """Those of the columns used whose values hold others: a path leads into them, or they are lists of points."""


def columns_of(
    options: MappingOptions, kind: Kind, needed: Collection[str], *, nested: Collection[str] = ()
) -> Columns:
    """Return the columns that records of a kind are read from.

    Args:
        options: Where the fields of a record are.
        kind: What the table holds.
        needed: Fields, by our names, that every record must have, beside ``user`` and ``ts``.
        nested: Columns of the table, if they may hold lists: with a column of points, a row is a whole fragment.
    """
    paths, needed = dict(options.names), {*needed, "user", "ts"}
    has_points = kind is Kind.FRAGMENTS and not set(nested).isdisjoint(top_levels(names_in(paths["points"])))
    for name in ["k", "delta_m"] if kind is Kind.CHECKINS else ["venue", "category"]:
        del paths[name]
    if not has_points:
        del paths["points"]
    if kind is Kind.CHECKINS:
        paths |= {attribute_field(i): path for i, path in enumerate(options.attributes)}
    else:
        needed = {"user", "points"} if has_points else {*needed, "lat", "lon"}
    if not has_points:
        paths |= {f"sign of {name}": path for name, path in options.signs.items()}
        needed |= {f"sign of {name}" for name in needed}
    conditions = [name for text in options.only for name in names_of_condition(text)]
    holders = list(chain.from_iterable(map(holders_in, paths.values())))
    holders += [name for name in top_levels(conditions) if name not in conditions]
    return Columns(
        used=list(dict.fromkeys([*chain.from_iterable(map(names_in, paths.values())), *holders, *conditions])),
        nested=[*holders, *(names_in(paths["points"]) if has_points else [])],
        needed=[
            either
            for name, path in paths.items()
            if name in needed and not is_elsewhere(path)
            for either in needed_names(path)
        ],
    )


def reads_whole_rows(options: MappingOptions) -> bool:
    """Whether paths may lead to any column: to a record inside a row, or from the top of a row."""
    paths = (*options.names.values(), *options.signs.values(), *options.attributes, *options.only)
    return bool(options.records) or any("/" in path for path in paths)


def top_levels(names: Sequence[str]) -> list[str]:
    """Return the columns in which the values of some paths may be: those of their whole names, and their first parts.

    >>> top_levels(["position.lat", "coordinates[1]"])
    ['position.lat', 'position', 'coordinates[1]', 'coordinates']
    """
    return list(dict.fromkeys(chain.from_iterable((name, _STEP.split(name)[0]) for name in names)))


def in_words(names: Sequence[str]) -> str:
    """Return the names of a table's columns for a sentence; those that cannot be printed are only counted.

    >>> in_words(["user", ""]), in_words(["a", "\\x01"]), in_words(["\\x01"])
    ('user, (empty)', 'a, and 1 more', '1 column with a name that cannot be printed')
    """
    shown = [name[:40] or "(empty)" for name in names if name.isprintable()][:_MOST_SHOWN]
    more = len(names) - len(shown)
    if not shown:
        return f"{more} column{'s' * (more > 1)} with a name that cannot be printed"
    return ", ".join([*shown, *([f"and {more} more"] if more else [])])
