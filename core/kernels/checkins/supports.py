"""Supports of the subtrajectories of one size: counted person by person, and followed while locations merge.

The arrays of a *book* are filled by these kernels and made by :mod:`core.support.index`:

``book``
    A row for each subtrajectory: its locations, then its support (``k`` for ``k`` or more), the cell of its first
    person, and the person who was counted last. The first location of a removed row is -1.
``cells``
    The people of a row, greatest number first: a person, and the cell of the next one or -1. Only supports below ``k``
    need their people.
``slots``
    A hash table over the rows: a power of two of them, at least four for each row. A slot is -1 or the row whose
    subtrajectory belongs there, or once did: a row may have changed since, and is then found in another slot.
``used``
    The number of rows, of cells, and of slots in use.
``heads``, ``links``
    For each location, the places in rows that hold it: the first place and, for each place, the next one or -1. Place
    ``row * size + i`` is location ``i`` of a row.
"""

from __future__ import annotations

import numpy as np

from core.kernels.kernel import kernel
from core.records.arrays import IntArray

__all__ = [
    "count_supports",
    "fill_slots",
    "find_row",
    "first_infrequent",
    "link_places",
    "merge_locations",
    "previous_visits",
    "remove_location",
]

SUPPORT, PEOPLE, LAST = -3, -2, -1
"""Columns of a book, after the locations."""


@kernel("int64[::1](int64[::1], int64[::1], int64)", allocates=True)
def previous_visits(starts: IntArray, locations: IntArray, n_locations: int) -> IntArray:
    """Return for each visit the previous one to its location in its trajectory, or -1, shape ``(p,)``.

    Args:
        starts: Where each of ``n`` trajectories begins, then ``p``, shape ``(n + 1,)``.
        locations: The ``p`` visits, each in ``0..n_locations - 1``.
        n_locations: Number of locations.
    """
    previous = np.full(len(locations), -1, np.int64)
    seen_at = np.full(n_locations, -1, np.int64)
    for trajectory in range(len(starts) - 1):
        start = starts[trajectory]
        for visit in range(start, starts[trajectory + 1]):
            location = locations[visit]
            if seen_at[location] >= start:
                previous[visit] = seen_at[location]
            seen_at[location] = visit
    return previous


@kernel("int64(int64[:, ::1], int64[::1], int64[::1])")
def _slot_of(book: IntArray, slots: IntArray, key: IntArray) -> int:
    """Return the slot of a subtrajectory: with its row, or the empty one in which its row belongs."""
    mask = len(slots) - 1
    at = 0
    for i in range(len(key)):
        at = (at * 1_000_003 + key[i]) & mask
    while slots[at] >= 0:
        row = slots[at]
        i = 0
        while i < len(key) and book[row, i] == key[i]:
            i += 1
        if i == len(key):
            return at
        at = (at + 1) & mask
    return at


@kernel("int64(int64[:, ::1], int64[::1], int64[::1])")
def find_row(book: IntArray, slots: IntArray, key: IntArray) -> int:
    """Return the row of a subtrajectory, or -1.

    Args:
        book: See the module.
        slots: See the module.
        key: The subtrajectory's locations, shape ``(size,)``.
    """
    row: int = slots[_slot_of(book, slots, key)]
    return row


@kernel("void(int64[:, ::1], int64[::1], int64[::1])", allocates=True)
def fill_slots(book: IntArray, slots: IntArray, used: IntArray) -> None:
    """Make the hash table of all rows anew; arguments as in the module."""
    size = book.shape[1] - 3
    slots[:] = -1
    used[2] = 0
    for row in range(used[0]):
        if book[row, 0] >= 0:
            slots[_slot_of(book, slots, book[row, :size].copy())] = row
            used[2] += 1


@kernel(
    "int64(int64, int64, int64[::1], int64[::1], int64[::1], int64[::1],"
    " int64[:, ::1], int64[:, ::1], int64[::1], int64[::1])",
    allocates=True,
)
def count_supports(
    k: int,
    begin: int,
    users: IntArray,
    starts: IntArray,
    locations: IntArray,
    previous: IntArray,
    book: IntArray,
    cells: IntArray,
    slots: IntArray,
    used: IntArray,
) -> int:
    """Count the people with each subtrajectory, trajectory by trajectory, until the book is full.

    Inside a trajectory each distinct subtrajectory is found once, at its earliest embedding: a prefix that ends as
    early as possible is extended by the first visit to each location after it. So the work depends on the number of
    distinct subtrajectories, not of embeddings.

    Args:
        k: Supports are counted up to ``k``.
        begin: First trajectory to count; it may be counted in part.
        users: User of each trajectory, ascending, shape ``(n,)``.
        starts: Where each trajectory begins, then ``p``, shape ``(n + 1,)``.
        locations: The ``p`` visits.
        previous: Their :func:`previous_visits`.
        book: See the module.
        cells: See the module.
        slots: See the module.
        used: See the module.

    Returns:
        The first trajectory that is not counted, or counted in part; ``n`` if there is none.
    """
    size = book.shape[1] - 3
    key, at = np.empty(size, np.int64), np.empty(size, np.int64)
    for trajectory in range(begin, len(users)):
        user, end = users[trajectory], starts[trajectory + 1]
        depth = 0
        at[0] = starts[trajectory]
        while depth >= 0:
            visit = at[depth]
            if visit >= end:
                depth -= 1
                if depth >= 0:
                    at[depth] += 1
                continue
            if previous[visit] > (at[depth - 1] if depth > 0 else -1):
                at[depth] += 1  # its location is visited before, after the same prefix
                continue
            key[depth] = locations[visit]
            if depth < size - 1:
                depth += 1
                at[depth] = visit + 1
                continue
            at[depth] += 1
            slot = _slot_of(book, slots, key)
            row = slots[slot]
            if row < 0:
                if used[0] == len(book):
                    return trajectory
                row = used[0]
                book[row, :size] = key
                book[row, SUPPORT], book[row, PEOPLE], book[row, LAST] = 0, -1, -1
                slots[slot] = row
                used[0] += 1
                used[2] += 1
            if book[row, LAST] == user or book[row, SUPPORT] == k:
                continue
            if book[row, SUPPORT] == k - 1:
                book[row, PEOPLE] = -1
            else:
                if used[1] == len(cells):
                    return trajectory
                cells[used[1], 0], cells[used[1], 1] = user, book[row, PEOPLE]
                book[row, PEOPLE] = used[1]
                used[1] += 1
            book[row, SUPPORT] += 1
            book[row, LAST] = user
    return len(users)


@kernel("void(int64[:, ::1], int64, int64[::1], int64[::1])")
def link_places(book: IntArray, n_rows: int, heads: IntArray, links: IntArray) -> None:
    """Link the places of each location.

    Args:
        book: See the module; no row is removed.
        n_rows: Number of its rows.
        heads: First place of each location, -1 before, shape ``(L,)``; written.
        links: Next place of each place, shape ``(n_rows * size,)``; written.
    """
    size = book.shape[1] - 3
    for row in range(n_rows):
        for i in range(size):
            location = book[row, i]
            links[row * size + i] = heads[location]
            heads[location] = row * size + i


@kernel("void(int64, int64, int64, int64[:, ::1], int64[:, ::1])")
def _unite(k: int, into: int, absorbed: int, book: IntArray, cells: IntArray) -> None:
    """Add the people of one row to another; both lists of people are in order, greatest first."""
    a, b = book[into, PEOPLE], book[absorbed, PEOPLE]
    if book[into, SUPPORT] == k or book[absorbed, SUPPORT] == k:
        book[into, SUPPORT], book[into, PEOPLE] = k, -1
        return
    n, last = 0, -1
    while a >= 0 or b >= 0:
        if b < 0 or (a >= 0 and cells[a, 0] >= cells[b, 0]):
            if b >= 0 and cells[a, 0] == cells[b, 0]:
                b = cells[b, 1]
            taken = a
            a = cells[a, 1]
        else:
            taken = b
            b = cells[b, 1]
        if last < 0:
            book[into, PEOPLE] = taken
        else:
            cells[last, 1] = taken
        last = taken
        n += 1
    cells[last, 1] = -1
    book[into, SUPPORT] = min(n, k)
    if n >= k:
        book[into, PEOPLE] = -1


@kernel(
    "void(int64, int64, int64, int64[:, ::1], int64[:, ::1], int64[::1], int64[::1], int64[::1], int64[::1])",
    allocates=True,
)
def merge_locations(
    k: int,
    kept: int,
    absorbed: int,
    book: IntArray,
    cells: IntArray,
    slots: IntArray,
    used: IntArray,
    heads: IntArray,
    links: IntArray,
) -> None:
    """Let ``kept`` stand for two locations: rows that become the same subtrajectory are one row with all their people.

    Args:
        k: Supports are counted up to ``k``.
        kept: The location that remains.
        absorbed: The other one, which no row holds afterwards.
        book: See the module.
        cells: See the module.
        slots: See the module.
        used: See the module.
        heads: See the module.
        links: See the module.
    """
    size = book.shape[1] - 3
    key = np.empty(size, np.int64)
    if 2 * used[2] > len(slots):
        fill_slots(book, slots, used)
    place = heads[absorbed]
    heads[absorbed] = -1
    while place >= 0:
        row, following = place // size, links[place]
        if book[row, 0] >= 0:
            if book[row, place % size] == absorbed:  # not changed by another place of this row
                for i in range(size):
                    key[i] = kept if book[row, i] == absorbed else book[row, i]
                slot = _slot_of(book, slots, key)
                if slots[slot] >= 0:
                    _unite(k, slots[slot], row, book, cells)
                    book[row, 0] = -1
                else:
                    book[row, :size] = key
                    slots[slot] = row
                    used[2] += 1
            if book[row, 0] >= 0:
                links[place] = heads[kept]
                heads[kept] = place
        place = following


@kernel("void(int64, int64[:, ::1], int64[::1], int64[::1])")
def remove_location(location: int, book: IntArray, heads: IntArray, links: IntArray) -> None:
    """Remove every row that holds a location; arguments as in the module."""
    size = book.shape[1] - 3
    place = heads[location]
    heads[location] = -1
    while place >= 0:
        book[place // size, 0] = -1
        place = links[place]


@kernel("int64(int64, int64, int64[:, ::1], int64[::1], int64[:, ::1], int64[::1])")
def first_infrequent(k: int, begin: int, listed: IntArray, into: IntArray, book: IntArray, slots: IntArray) -> int:
    """Return the first of some subtrajectories that is infrequent now, from number ``begin`` on.

    Args:
        k: The support of a frequent subtrajectory.
        begin: Where to begin.
        listed: Subtrajectories, shape ``(q, size)``; from ``begin`` on each is brought up to date if it was looked at.
        into: The location that each location was merged into, itself if none, shape ``(L,)``.
        book: See the module.
        slots: See the module.

    Returns:
        Its number, ``q`` if there is none.
    """
    size = listed.shape[1]
    for number in range(begin, len(listed)):
        for i in range(size):
            location = listed[number, i]
            while into[location] != location:
                location = into[location]
            listed[number, i] = location
        row = slots[_slot_of(book, slots, listed[number])]
        if row >= 0 and book[row, SUPPORT] < k:
            return number
    return len(listed)
