"""Profiles of files that are larger than memory: read part by part, with memory for people and cells alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np

from core.places.geo import LocalProjection
from core.records.arrays import FloatArray, IntArray
from core.records.by_user import same_as_before
from core.records.record import Kind
from core.utility.mobility import MobilityProfile
from stream.formats.files.record_file import FileFormatError
from stream.replay.evaluation.metres import is_in_metres, metre_batches
from stream.replay.evaluation.placed import compare_profiles, plane_around
from stream.replay.evaluation.records import record_batches, table_settings
from stream.settings.model import Settings

__all__ = ["PieceReader", "compare_piecewise"]


class _Piece(NamedTuple):
    """Some visits, in the order of the file."""

    people: Sequence[float]
    t_ms: IntArray
    xy: FloatArray


@dataclass(kw_only=True)
class PieceReader:
    """Reads raw feed and releases into profiles, in one plane and with the same windows.

    Raises:
        FileFormatError: A file cannot be read, has rows of a person out of order, or differs from the first file in
            whether its positions are metres.
    """

    cell_m: float
    window_ms: int | None = None
    progress: Callable[[str], None] = lambda _: None
    _plane: LocalProjection | None = field(default=None, init=False)
    _is_metres: bool | None = field(default=None, init=False)

    def profile(
        self, path: Path, kind: Kind | None = None, settings: Settings | None = None
    ) -> tuple[MobilityProfile, int]:
        """Read a file; see :func:`stream.replay.evaluation.sources.read_source`.

        Returns:
            Its profile, and its number of visits.
        """
        is_metres = kind is None and is_in_metres(path)
        if self._is_metres is not None and self._is_metres is not is_metres:
            raise FileFormatError(f"{path}: its positions are not in the coordinates of the other file")
        self._is_metres = is_metres
        profile, numbers, latest_ms = (
            MobilityProfile(self.cell_m),
            dict[tuple[float, int], int](),
            np.zeros(0, np.int64),
        )
        n_visits = 0
        for piece in _metres(path) if is_metres else _degrees(path, kind, settings):
            window = np.zeros(len(piece.t_ms), np.int64) if self.window_ms is None else piece.t_ms // self.window_ms
            keys = zip(piece.people, window.tolist(), strict=True)
            journey = np.array([numbers.setdefault(key, len(numbers)) for key in keys], np.int64)
            order = np.argsort(journey, kind="stable")
            journey, t_ms = journey[order], piece.t_ms[order]
            latest_ms = np.concatenate([latest_ms, np.full(len(numbers) - len(latest_ms), np.iinfo(np.int64).min)])
            _check_order(path, journey, t_ms, latest_ms)
            profile.add(journey, self._in_metres(piece.xy[order]))
            n_visits += len(journey)
            self.progress(f"reading {path.name}: {n_visits:,} visits")
        if not n_visits:
            raise FileFormatError(f"{path}: none of its records is valid: shoal try says why, and how to read it")
        return profile, n_visits

    def _in_metres(self, xy: FloatArray) -> FloatArray:
        if self._is_metres or not len(xy):
            return xy
        if self._plane is None:
            self._plane = plane_around(xy)
        return self._plane.to_metres(xy[:, 1], xy[:, 0])


def compare_piecewise(
    reader: PieceReader, raw: Path, releases: Sequence[Path], kind: Kind | None, settings: Settings | None
) -> list[dict[str, float]]:
    """Compare releases with their raw feed by their profiles alone, without holding a file in memory.

    Args:
        reader: Reads them.
        raw: The raw feed.
        releases: The releases.
        kind: What the records of the raw feed are, if they are read with settings.
        settings: These settings.

    Raises:
        FileFormatError: See :class:`PieceReader`.
    """
    before, n_before = reader.profile(raw, kind, settings)
    found = []
    for path in releases:
        after, n_after = reader.profile(path)
        n, n_raw = len(after.radii_m), len(before.radii_m)
        counts = {"journeys": n, "journeys_kept_share": n / n_raw, "visits_kept_share": n_after / n_before}
        found.append(counts | compare_profiles(before, after, has_order=True))
    return found


def _check_order(path: Path, journey: IntArray, t_ms: IntArray, latest_ms: IntArray) -> None:
    """Check that the visits of each journey are in time order, and keep the time of the last ones."""
    before_ms = np.where(same_as_before(journey), np.roll(t_ms, 1), latest_ms[journey])
    if (t_ms < before_ms).any():
        raise FileFormatError(
            f"{path}: rows of a person are not in time order: sort the file, or leave --piecewise out"
        )
    np.maximum.at(latest_ms, journey, t_ms)


def _metres(path: Path) -> Iterator[_Piece]:
    for rows in metre_batches(path):
        yield _Piece(rows[:, 0].tolist(), np.round(rows[:, 1] * 1000).astype(np.int64), rows[:, 2:])


def _degrees(path: Path, kind: Kind | None, settings: Settings | None) -> Iterator[_Piece]:
    own = settings if kind is not None and settings is not None else table_settings(path)
    for batch in record_batches(own, kind or Kind.CHECKINS, [path], is_table=kind is None):
        known = np.isfinite(batch.xy[:, 0]) & np.isfinite(batch.xy[:, 1])
        people = [hashed for hashed, is_known in zip(batch.hashes, known.tolist(), strict=True) if is_known]
        yield _Piece(people, batch.t_ms[known], batch.xy[known])
