"""Files that are larger than memory, cut into pieces on the disk: by windows, or by people.

A piece has everybody in its windows, or everything that its people did. So each is compared as a small file is.
"""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

import msgspec
import numpy as np

from core.records.arrays import FloatArray, IntArray
from core.records.record import Kind
from core.trajectories.journeys import Journeys
from stream.replay.evaluation.metres import id_in_metres, is_in_metres, metre_batches, metre_journeys
from stream.replay.evaluation.placed import sphere_sum
from stream.replay.evaluation.records import RecordBatch
from stream.replay.evaluation.shoal_release import ShoalRelease
from stream.replay.evaluation.sources import EvaluationError, records_of, shown_name
from stream.replay.stored.stored_release import StoredRelease
from stream.settings.model import Settings
from stream.settings.values import instant_ms

__all__ = ["FileInPieces", "open_in_pieces"]

_PIECES = 64
_LENGTH_BYTES = 8

PieceOf = Callable[[IntArray, Sequence[str]], IntArray]
"""The piece of each visit, by its time and the id of its person."""


def open_in_pieces(
    path: Path,
    folder: Path,
    *,
    kind: Kind | None = None,
    settings: Settings | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> FileInPieces:
    """Open a raw feed or a release of any form that has times.

    Args:
        path, kind, settings, progress: As for :func:`stream.replay.evaluation.sources.read_source`.
        folder: Where its pieces may be, of this file alone.

    Raises:
        FileFormatError: The file has none of these forms.
    """
    stored = StoredRelease.find(path)
    if stored is not None:
        return FileInPieces(path, folder, _Messages(ShoalRelease(stored, progress)))
    if kind is None and is_in_metres(path):
        return FileInPieces(path, folder, _Metres(path, progress))
    return FileInPieces(path, folder, _Records(path, kind, settings, progress))


class _Form(ABC):
    """How the visits of one file are written into pieces and read back."""

    form: str
    release: ShoalRelease | None = None
    left_out = 0
    position_sum: FloatArray | None = None

    @abstractmethod
    def write(self, pieces: Sequence[BinaryIO], piece_of: PieceOf) -> None:
        """Read the file and write each visit into its piece."""

    @abstractmethod
    def journeys(self, piece: BinaryIO) -> Journeys:
        """Return the visits of a piece."""


class FileInPieces:
    """See :class:`stream.replay.evaluation.sources.ComparedData`.

    Args:
        path: The file.
        folder: Where its pieces may be.
        form: Reads it.
    """

    is_in_memory = False

    def __init__(self, path: Path, folder: Path, form: _Form) -> None:
        self.name, self.form = shown_name(path), form.form
        self._folder, self._form = folder, form

    @property
    def window_ms(self) -> int | None:
        """Length of the windows of a release of Shoal."""
        return None if self._form.release is None else self._form.release.window_ms

    @property
    def is_of_people(self) -> bool:
        """Whether each journey is a person."""
        return self._form.release is None or self._form.release.is_of_people

    @property
    def left_out(self) -> int:
        """Rows that could not be read so far."""
        return self._form.left_out

    @property
    def stated(self) -> dict[str, float]:
        """Information loss that a release of Shoal states, of the parts read so far."""
        return {} if self._form.release is None else self._form.release.stated

    def position_sum(self) -> FloatArray | None:
        """Return the sum over all positions on the sphere, after the first part was read; None in metres."""
        return self._form.position_sum

    def parts(self, size_ms: int | None) -> Iterator[Journeys]:
        """Yield a part for each piece; see :class:`ComparedData`."""
        if size_ms is None:
            yield from self.parts_of_people(None)
            return
        if self.window_ms not in (None, size_ms):
            raise EvaluationError(f"{self.name}: has windows of another length: leave --window or --piecewise out")
        yield from self._parts(f"windows-{size_ms}", lambda t_ms, _: t_ms // size_ms % _PIECES, size_ms)

    def parts_of_people(self, size_ms: int | None) -> Iterator[Journeys]:
        """Yield a part for each piece; see :class:`ComparedData`."""
        yield from self._parts("people", lambda _, ids: _pieces_of(ids), size_ms)

    def _parts(self, name: str, piece_of: PieceOf, size_ms: int | None) -> Iterator[Journeys]:
        folder = self._folder / name
        if not folder.exists():
            folder.mkdir(parents=True)
            with ExitStack() as stack:
                pieces = [stack.enter_context((folder / str(i)).open("wb")) for i in range(_PIECES)]
                self._form.write(pieces, piece_of)
        for i in range(_PIECES):
            with (folder / str(i)).open("rb") as piece:
                journeys = self._form.journeys(piece)
            yield journeys if size_ms is None or self._form.release is not None else journeys.in_windows(size_ms)


def _pieces_of(ids: Sequence[str]) -> IntArray:
    return np.array([zlib.crc32(one.encode()) % _PIECES for one in ids], np.int64)


class _Records(_Form):
    """Records of a feed, or a table of points."""

    def __init__(
        self, path: Path, kind: Kind | None, settings: Settings | None, progress: Callable[[str], None]
    ) -> None:
        self.form = kind.value if kind else "points in degrees"
        self._records = records_of(path, kind, settings, progress)

    def write(self, pieces: Sequence[BinaryIO], piece_of: PieceOf) -> None:
        """See :meth:`_Form.write`."""
        total = np.zeros(3)
        for batch in self._records:
            total += sphere_sum(batch.xy)
            number = piece_of(batch.t_ms, batch.ids)
            for i in np.unique(number).tolist():
                _write(pieces[i], _packed(batch.only(number == i)))
        self.position_sum, self.left_out = total, self._records.left_out

    def journeys(self, piece: BinaryIO) -> Journeys:
        """See :meth:`_Form.journeys`."""
        return self._records.journeys([_unpacked(message) for message in _messages(piece)])


class _Metres(_Form):
    """Points in metres."""

    form = "points in metres"

    def __init__(self, path: Path, progress: Callable[[str], None]) -> None:
        self._path, self._progress = path, progress

    def write(self, pieces: Sequence[BinaryIO], piece_of: PieceOf) -> None:
        """See :meth:`_Form.write`."""
        n_rows = 0
        for rows in metre_batches(self._path):
            t_ms = np.round(rows[:, 1] * 1000).astype(np.int64)
            number = piece_of(t_ms, [id_in_metres(one) for one in rows[:, 0].tolist()])
            for i in np.unique(number).tolist():
                pieces[i].write(rows[number == i].tobytes())
            n_rows += len(rows)
            self._progress(f"reading {self._path.name}: {n_rows:,} rows")

    def journeys(self, piece: BinaryIO) -> Journeys:
        """See :meth:`_Form.journeys`."""
        return metre_journeys(np.frombuffer(piece.read()).reshape(-1, 4))


class _Messages(_Form):
    """A release of Shoal, whose windows are those of the pieces; as people have no ids that last, it has no others."""

    def __init__(self, release: ShoalRelease) -> None:
        self.form, self.release = f"release of Shoal, {release.model}", release
        self._release = release

    def write(self, pieces: Sequence[BinaryIO], piece_of: PieceOf) -> None:
        """See :meth:`_Form.write`."""
        for content in self._release.messages():
            (number,) = piece_of(np.array([instant_ms(content["window"][0])]), [""]).tolist()
            _write(pieces[number], msgspec.json.encode(content))

    def journeys(self, piece: BinaryIO) -> Journeys:
        """See :meth:`_Form.journeys`."""
        return self._release.journeys(map(msgspec.json.decode, _messages(piece)))


def _packed(batch: RecordBatch) -> bytes:
    columns = [batch.t_ms, batch.xy] + ([] if batch.locations is None else [batch.locations.astype(np.int64)])
    return msgspec.msgpack.encode([batch.hashes, batch.ids, *(column.tobytes() for column in columns)])


def _unpacked(message: bytes) -> RecordBatch:
    hashes, ids, t_ms, xy, *locations = msgspec.msgpack.decode(message)
    return RecordBatch(
        hashes=hashes,
        ids=ids,
        t_ms=np.frombuffer(t_ms, np.int64),
        xy=np.frombuffer(xy).reshape(-1, 2),
        locations=np.frombuffer(locations[0], np.int64) if locations else None,
        left_out=0,
    )


def _write(piece: BinaryIO, message: bytes) -> None:
    piece.write(len(message).to_bytes(_LENGTH_BYTES, "little") + message)


def _messages(piece: BinaryIO) -> Iterator[bytes]:
    while length := piece.read(_LENGTH_BYTES):
        yield piece.read(int.from_bytes(length, "little"))
