"""Headers: which values of a table's first line may be shown.

The first line of a table that lacks a column may be the record of a person, even if one of its values is a name of the
settings. So only values that are made of the words of headers are shown: no id, place or time is.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from stream.formats.files.csv_files.dialect import delimiter_of

__all__ = ["are_names", "hold_values", "is_comment", "separator_in", "shown_names"]

_NUMBER_OR_TIME = re.compile(
    r"[-+]?(?:nan|inf(?:inity)?|\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}.*", re.IGNORECASE
)
_NUMBER_INSIDE = re.compile(r"(?:^|[^\w])[-+]?\d|\d{4}")
_HEADER_WORD = re.compile(
    "(?<![a-z])(?:users?|uid|userid|username|id|person|device|driver|vehicle|lat|latitude|lon|lng|long|longitude|geom|"
    "geometry|ts|time|timestamp|date|datetime|venue|place|poi|location|category|points)(?![a-z])",
    re.IGNORECASE,
)
"""Words of headers: a first line without any of them may be the record of a person."""

_WORDS = (
    "account|accuracy|address|age|altitude|angle|animal|base|battery|bearing|begin|bike|born|category|checkin|"
    "city|code|coord|coordinate|coordinates|country|course|created|customer|date|day|degrees|device|direction|"
    "distance|driver|elevation|end|entity|epoch|event|fid|first|fix|geom|geometry|gid|gps|group|header|heading|"
    "height|hemisphere|hour|imei|index|journey|kind|last|lat|latitude|line|lng|location|lon|long|longitude|"
    "member|message|minute|mmsi|mobile|mode|month|name|number|object|order|participant|path|person|phone|place|"
    "poi|point|points|polyline|position|received|record|recorded|ref|ride|rider|route|row|second|segment|sent|"
    "sequence|server|session|source|speed|start|state|status|street|subscriber|tag|taxi|time|timestamp|tour|"
    "trace|track|tracked|tracker|traj|trajectory|transport|trip|type|uid|unix|updated|user|users|utc|uuid|valid|"
    "value|vehicle|velocity|venue|visit|weekday|when|where|who|year|zip|zone"
)
_OF_WORDS = re.compile(
    rf"(?:{_WORDS}){{1,6}}(?:ids?|ts|at|ms|deg|e[5-7])?|acc|alt|at|deg|e[5-7]|ids?|in|k|km|m|ms|no|nr|of|t|ts|x|y|z",
    re.IGNORECASE,
)
"""A word of headers, or several as one."""

_BETWEEN = re.compile(r"[ _.:/#()\-]+|(?<=[a-z])(?=[A-Z])")
_LONGEST_SHOWN = 40
_MOST_SHOWN = 20

_SEPARATOR = re.compile(rb'\s*"?sep=([\t!-~])"?[\s,;]*', re.IGNORECASE)


def separator_in(line: bytes) -> str | None:
    """Return what separates values, if the first line of a file says it for spreadsheets; else None.

    >>> separator_in(b"sep=;"), separator_in(b"SEP=\\t"), separator_in(b"user;ts")
    (';', '\\t', None)
    """
    match = _SEPARATOR.fullmatch(line)
    return match[1].decode() if match is not None and delimiter_of(match[1].decode()) is not None else None


def is_comment(line: bytes | str) -> bool:
    """Whether a line before the header may be a comment; it may be the header as well."""
    return line.lstrip()[:1] in (b"#", "#")


def are_names(first: Sequence[str]) -> bool:
    """Whether the first line of a table has a word of headers, and nothing that looks like a value."""
    return any(_HEADER_WORD.search(name) for name in first) and not hold_values(first)


def hold_values(first: Sequence[str], *, is_known: bool = False) -> bool:
    """Whether some values of a table's first line are numbers or times, so that it is no header.

    Args:
        first: Its values.
        is_known: Whether one of them is a name of the settings. Others may then have a number in them.
    """
    return any(_NUMBER_OR_TIME.fullmatch(name) for name in first) or (
        not is_known and any(_NUMBER_INSIDE.search(name) for name in first)
    )


def shown_names(first: Sequence[str], known: Collection[str]) -> str | None:
    """Return the names in the first line of a table for a sentence; others are only counted, as they may be values.

    Args:
        first: Its values.
        known: Names of the settings.

    Returns:
        The names; None if there are none.

    >>> shown_names(["who", "UTC TIME", "Breite"], ()), shown_names(["anna.meier", "u2edhx"], ())
    ('who, UTC TIME, and 1 more, which may be a value and no name', None)
    """
    folded = {name.casefold() for name in known}
    names = [name for name in first if name.casefold() in folded or _is_of_words(name)]
    if not any(names):
        return None
    shown = [name or "(empty)" for name in names[:_MOST_SHOWN]]
    more = len(first) - len(shown)
    hidden = len(first) - len(names)
    why = (", which may be a value and no name" if more == 1 else ", which may be values and no names") * bool(hidden)
    return ", ".join([*shown, *([f"and {more} more{why}"] if more else [])])


def _is_of_words(name: str) -> bool:
    return len(name) <= _LONGEST_SHOWN and all(
        _OF_WORDS.fullmatch(part) for part in _BETWEEN.sub("\0", name).split("\0") if part
    )
