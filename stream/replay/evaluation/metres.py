"""Points in metres: lines of id, seconds, x and y, separated by tabs, as the programs of Wait for Me write them."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import numpy as np

from core.records.arrays import FloatArray
from core.records.by_user import starts_of_users
from core.trajectories.journeys import Journeys
from stream.formats.files.opened_file import open_unpacked
from stream.formats.files.record_file import FileFormatError

__all__ = ["id_in_metres", "is_in_metres", "metre_batches", "metre_journeys", "read_metres"]

_COLUMNS = 4
_LINES_AT_ONCE = 200_000


def is_in_metres(path: Path) -> bool:
    """Return whether the first line of a file is four numbers, separated by tabs."""
    try:
        with open_unpacked(path) as lines:
            first = lines.readline().decode("ascii").split("\t")
        return len([float(value) for value in first]) == _COLUMNS
    except (ValueError, EOFError, zlib.error):
        return False


def metre_batches(path: Path) -> Iterator[FloatArray]:
    """Yield the lines of such a file, part by part: id, seconds, x and y, shape ``(n, 4)``.

    Raises:
        FileFormatError: A line is not four finite numbers.
    """
    first = 1
    with open_unpacked(path) as lines:
        while block := list(islice(lines, _LINES_AT_ONCE)):
            try:
                rows = np.loadtxt(block, delimiter="\t", ndmin=2)
            except ValueError:
                rows = np.empty((0, 0))
            if rows.shape[1] != _COLUMNS or not np.isfinite(rows).all():
                raise FileFormatError(
                    f"{path}: one of the lines {first} to {first + len(block) - 1} is not id, seconds, x and y in "
                    "metres, separated by tabs"
                )
            yield rows
            first += len(block)


def id_in_metres(number: float) -> str:
    """Return the id of a person as a text."""
    return f"{number:.17g}"


def read_metres(path: Path) -> Journeys:
    """Read such a file at once. Ids stay the same from file to file, so that people can be paired.

    Raises:
        FileFormatError: A line is not four finite numbers.
    """
    return metre_journeys(np.concatenate(list(metre_batches(path))))


def metre_journeys(rows: FloatArray) -> Journeys:
    """Return lines of such a file as journeys: each person has one.

    Args:
        rows: Id, seconds, x and y, shape ``(n, 4)``.
    """
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    begins = starts_of_users(rows[:, 0])
    return Journeys(
        users=np.arange(len(begins) - 1),
        windows_ms=np.zeros(len(begins) - 1, np.int64),
        starts=begins,
        t_ms=np.round(rows[:, 1] * 1000).astype(np.int64),
        xy=np.ascontiguousarray(rows[:, 2:]),
        is_metres=True,
        people=tuple(map(id_in_metres, rows[begins[:-1], 0].tolist())),
    )
