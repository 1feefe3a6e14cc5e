"""What earlier windows of a shard hand on: what they released, for a promise that spans windows, and who may not yet
have left the place of a stop.

A roster is written to the seals topic before anything of its window is emitted, and the seal of a later window has the
digest of the rosters that it was made with. So a window that is released again after a crash is released with the same
history, or not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from core.records.arrays import IntArray
from core.records.record import RUN, Rows
from core.windows.window import OfWindow, WindowKey

__all__ = ["NO_HISTORY", "NO_RUNS", "History", "Roster"]

NO_RUNS: Rows = np.empty(0, RUN)

_PEOPLE_OF_A_PART = 16_384
"""Most entries of a part: as base64 text in JSON they stay below 300 KB, and most topics accept a megabyte."""

_RUNS_OF_A_PART = 4_096
"""The same for carried runs, which are longer; a part has entries or runs."""

_LABELS_OF_A_PART = 32_768
"""Most characters of the labels of a part, beside a single one: escaped in JSON they stay below 70 KB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Roster(OfWindow):
    """Who was released in a window of a shard, and in which groups, and what goes on at its end. Never published.

    A group is what one model puts people into: a set of (k,delta)-anonymity, or the people with one signature.

    Raises:
        ValueError: The columns are not equally long.
    """

    users: npt.NDArray[np.uint64] = field(repr=False)
    """Keyed hash of each person, ascending, shape ``(n,)``. Somebody in several groups has several entries."""

    groups: IntArray = field(repr=False)
    """Number of the group of each entry, shape ``(n,)``."""

    labels: tuple[str, ...] = field(default=(), repr=False)
    """What each number of a group means, if it means anything in later windows."""

    carried: Rows = field(default_factory=NO_RUNS.copy, repr=False)
    """Where people may still be stopping at the end of the window, rows of :data:`core.records.record.RUN`."""

    part: int = 0
    """Number of this part, if the roster is one part of a window's; see :meth:`parts`."""

    n_parts: int = 1
    """Of how many parts it is one."""

    def __post_init__(self) -> None:
        if len(self.users) != len(self.groups):
            raise ValueError(f"{len(self.users)} users for {len(self.groups)} groups: there must be one for each")

    def parts(self) -> Iterator[Roster]:
        """Yield the roster in parts that are short enough for a message; there is at least one."""
        labels = list(_short(self.labels))
        n_of_entries = max(1, -(-len(self.users) // _PEOPLE_OF_A_PART), len(labels))
        n_parts = n_of_entries + -(-len(self.carried) // _RUNS_OF_A_PART)
        for part in range(n_parts):
            entries = slice(part * _PEOPLE_OF_A_PART, (part + 1) * _PEOPLE_OF_A_PART)
            first_run = (part - n_of_entries) * _RUNS_OF_A_PART
            yield replace(
                self,
                users=self.users[entries],
                groups=self.groups[entries],
                labels=labels[part] if part < len(labels) else (),
                carried=self.carried[first_run : first_run + _RUNS_OF_A_PART] if first_run >= 0 else NO_RUNS,
                part=part,
                n_parts=n_parts,
            )

    @staticmethod
    def whole(parts: Sequence[Roster]) -> Roster:
        """Put the parts of one window's roster together again, without those of an earlier attempt that had more."""
        first, *_ = parts = sorted(parts, key=lambda one: one.part)
        parts = parts[: first.n_parts]
        return replace(
            first,
            users=np.concatenate([one.users for one in parts]),
            groups=np.concatenate([one.groups for one in parts]),
            carried=np.concatenate([one.carried for one in parts]),
            labels=tuple(label for one in parts for label in one.labels),
            part=0,
            n_parts=1,
        )

    @staticmethod
    def of_cells(key: WindowKey, cells: Sequence[Roster]) -> Roster:
        """Return the roster of a window from those of its shard cells; groups are numbered anew.

        Args:
            key: The window.
            cells: The rosters of those of its cells that were released.
        """
        groups: list[IntArray] = [np.empty(0, np.int64)]
        labels: list[str] = []
        first = 0
        for one in cells:
            groups.append(one.groups + first)
            labels.extend(one.labels)
            first += len(one.labels) or int(one.groups.max(initial=-1)) + 1
        users = np.concatenate([np.empty(0, np.uint64), *(one.users for one in cells)])
        numbers = np.concatenate(groups)
        order = np.lexsort((numbers, users))
        carried = np.concatenate([NO_RUNS, *(one.carried for one in cells)])
        return Roster(key=key, users=users[order], groups=numbers[order], labels=tuple(labels), carried=carried)

    @staticmethod
    def of_nobody(key: WindowKey) -> Roster:
        """Return the roster of a window of which nothing is released."""
        return Roster(key=key, users=np.empty(0, np.uint64), groups=np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class History:
    """What a window depends on of the earlier windows of its shard."""

    rosters: tuple[Roster, ...] = field(default=(), repr=False)
    """The rosters of those within the horizon, oldest first."""

    carried: Rows = field(default_factory=NO_RUNS.copy, repr=False)
    """Where people may still have been stopping when the newest earlier window ended, however long ago that was; rows
    of :data:`core.records.record.RUN`."""

    @staticmethod
    def of(key: WindowKey, rosters: Iterable[Roster], *, horizon: int) -> History:
        """Return the history of a window from rosters of its shard, whatever windows they are of.

        Args:
            key: The window.
            rosters: At most one of each window.
            horizon: Over how many windows the promise holds, this one included.
        """
        since_ms = key.start_ms - (horizon - 1) * (key.end_ms - key.start_ms)
        earlier = sorted((one for one in rosters if one.key.end_ms <= key.start_ms), key=lambda one: one.key.start_ms)
        return History(
            rosters=tuple(one for one in earlier if since_ms < one.key.end_ms),
            carried=earlier[-1].carried if earlier else NO_RUNS,
        )

    @property
    def digest(self) -> str:
        """Digest of it all, 16 hexadecimal digits; empty if there is nothing."""
        if not self.rosters and not len(self.carried):
            return ""
        hashed = hashlib.blake2b(digest_size=8)
        for one in self.rosters:
            about = (one.kind, one.shard, one.key.start_ms, one.key.end_ms, len(one.users), *one.labels)
            hashed.update("\x1f".join(map(str, about)).encode())
            hashed.update(one.users.astype("<u8").tobytes())
            hashed.update(one.groups.astype("<i8").tobytes())
        hashed.update(self.carried.tobytes())
        return hashed.hexdigest()


def _short(labels: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Divide labels, in order, into as few parts as their characters allow."""
    begin = characters = 0
    for i, label in enumerate(labels):
        if i > begin and characters + len(label) > _LABELS_OF_A_PART:
            yield tuple(labels[begin:i])
            begin, characters = i, 0
        characters += len(label)
    if labels:
        yield tuple(labels[begin:])


NO_HISTORY = History()
