"""Supports counted as the records of a window arrive: in any order, with duplicates, and with people removed.

A visit adds to the supports of the subtrajectories that contain it: each subtrajectory of the visits before it, then
the visit, then each subtrajectory of the visits after it. If other visits of the person already form the same
subtrajectory, the person is already counted.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory
from core.support.start import ClosedSupports, People
from core.trajectories.assemble import Limits

__all__ = ["WindowSupports"]


class _Person:
    """One person's visits, in the order of :func:`core.trajectories.assemble.assemble_sequences`."""

    __slots__ = ("counted", "locations", "number", "times_ms")

    def __init__(self, number: int) -> None:
        self.number = number
        # Not a SortedList of pairs: a person has few visits, so inserting into a list is cheap, and two columns take
        # less than half the memory.
        self.times_ms = array("q")
        self.locations: list[int] = []
        self.counted = True  # whether the supports include this person


class WindowSupports:
    """Supports of the subtrajectories of at most ``m`` locations in one open window.

    A record costs one update for each subtrajectory of at most ``m`` locations that contains the visit, up to
    ``C(n, m - 1)`` for a person's ``n``-th visit. A person whose visits have to be cut (more than
    ``limits.trajectory_length`` or ``limits.points_per_user``) is set aside, because a visit in the middle would move
    all cuts after it. Such a person is counted from scratch when the supports are next read.

    Args:
        k: Least support of a frequent subtrajectory.
        m: Most locations of a subtrajectory.
        limits: Limits for the length of trajectories and the visits of a user.
        name_of: Returns the public name of a location; visits at one instant are in the order of names.
    """

    def __init__(self, k: int, m: int, limits: Limits, name_of: Callable[[int], str]) -> None:
        self._k, self._m = k, m
        self._limits = limits
        self._uncut = min(limits.trajectory_length, limits.points_per_user)
        self._name_of = name_of
        self._persons: dict[int, _Person] = {}
        self._arrived = 0
        self._set_aside: set[int] = set()
        self._places: dict[int, int] = {}  # locator's id to place, numbered by first occurrence
        self._names: list[str] = []
        self._visitors: defaultdict[int, set[int]] = defaultdict(set)
        self._people: list[dict[Subtrajectory, People]] = [{} for _ in range(2, m + 1)]
        self._by_number: dict[int, _Person] = {}

    @property
    def n_users(self) -> int:
        """Number of distinct people."""
        return len(self._persons)

    @property
    def n_visits(self) -> int:
        """Number of counted visits, without duplicates and visits beyond ``limits.points_per_user``."""
        return sum(min(len(p.locations), self._limits.points_per_user) for p in self._persons.values())

    def add(self, user: int, ts_ms: int, location: int) -> bool:
        """Add a record at its place in the user's sequence.

        Args:
            user: Keyed hash of the user.
            ts_ms: Event time, Unix milliseconds.
            location: The locator's id of the location.

        Returns:
            False for a duplicate: the same user was at the same location at the same instant.
        """
        place = self._places.get(location)
        if place is None:
            place = self._places[location] = len(self._names)
            self._names.append(self._name_of(location))
        person = self._persons.get(user)
        if person is None:
            person = self._persons[user] = self._by_number[self._arrived] = _Person(self._arrived)
            self._arrived += 1
        at = self._position(person, ts_ms, place)
        if at is None:
            return False
        if len(person.locations) >= self._uncut and person.counted:
            self._withdraw(person)
            person.counted = False
            self._set_aside.add(person.number)
        if person.counted:
            self._count(person.number, (place,), _gained(person.locations, at, place, self._m))
        person.times_ms.insert(at, ts_ms)
        person.locations.insert(at, place)
        return True

    def remove_user(self, user: int) -> None:
        """Remove a user from all supports.

        If the support of a subtrajectory falls to ``k - 1``, its people are searched among the visitors of its
        locations.

        Raises:
            KeyError: The user has no records, or was already removed.
        """
        person = self._persons.pop(user)
        del self._by_number[person.number]
        if person.counted:
            self._withdraw(person)
        self._set_aside.discard(person.number)

    def supports(self, size: int) -> dict[Subtrajectory, int]:
        """Return the support of every subtrajectory of one size that occurs, by the locator's ids.

        Raises:
            ValueError: The size is not in ``1..m``.
        """
        if not 1 <= size <= self._m:
            raise ValueError(f"size is {size}: it must be in 1..{self._m}")
        self._settle()
        ids = list(self._places)
        if size == 1:
            return {(ids[place],): len(people) for place, people in self._visitors.items()}
        return {
            tuple(ids[place] for place in key): people if isinstance(people, int) else len(people)
            for key, people in self._people[size - 2].items()
        }

    def close(self, location_ids: IntArray) -> ClosedSupports:
        """Hand the supports to the anonymizer. They are not copied: nothing may be added or removed afterwards.

        Args:
            location_ids: The locator's id of each location of the window, :attr:`Vocabulary.ids`, shape ``(L,)``.

        Raises:
            ValueError: A location of the window is missing.
        """
        self._settle()
        rows = {location: row for row, location in enumerate(location_ids.tolist())}
        row_of = [rows.get(location, -1) for location in self._places]
        if any(row_of[place] < 0 for place in self._visitors):
            raise ValueError("location_ids lacks a location that is visited: they are of another window")
        return ClosedSupports(
            k=self._k,
            m=self._m,
            n_visits=self.n_visits,
            row_of=np.array(row_of, np.int64),
            visitors_of=dict(self._visitors),
            people=tuple(self._people),
        )

    # ---------------------------------------------------------------- internals

    def _position(self, person: _Person, ts_ms: int, place: int) -> int | None:
        """Return the index of a new visit; None for a duplicate."""
        times_ms, locations = person.times_ms, person.locations
        if not times_ms or ts_ms > times_ms[-1]:
            return len(times_ms)
        first, last = bisect_left(times_ms, ts_ms), bisect_right(times_ms, ts_ms)
        if place in locations[first:last]:
            return None
        return bisect_left(locations, self._names[place], first, last, key=self._names.__getitem__)

    def _count(self, number: int, places: Iterable[int], gained: Iterable[Subtrajectory]) -> None:
        """Count a person at places, and for subtrajectories of 2 or more locations that do not count the person yet."""
        for place in places:
            self._visitors[place].add(number)
        k = self._k
        for key in gained:
            people = self._people[len(key) - 2]
            found = people.get(key)
            if found is None:
                people[key] = (number,)
            elif isinstance(found, int):
                people[key] = found + 1
            else:
                people[key] = (*found, number) if len(found) + 1 < k else k

    def _withdraw(self, person: _Person) -> None:
        """Remove a person from the supports."""
        places, keys = self._contained(person)
        for place in places:
            self._visitors[place].remove(person.number)
            if not self._visitors[place]:
                del self._visitors[place]
        for key in keys:
            people = self._people[len(key) - 2]
            found = people[key]
            if isinstance(found, int):
                people[key] = found - 1 if found > self._k else tuple(self._supporters(key))
            elif len(found) > 1:
                people[key] = tuple(number for number in found if number != person.number)
            else:
                del people[key]

    def _settle(self) -> None:
        """Count the people who are set aside; the next visit of such a person sets the person aside again."""
        for number in sorted(self._set_aside):
            person = self._by_number[number]
            self._count(number, *self._contained(person))
            person.counted = True
        self._set_aside.clear()

    def _supporters(self, key: Subtrajectory) -> Iterator[int]:
        """Yield the counted people whose trajectories contain a subtrajectory."""
        fewest, *others = sorted((self._visitors[place] for place in set(key)), key=len)
        for number in fewest.intersection(*others):
            if any(_contains(piece, key) for piece in self._pieces(self._by_number[number])):
                yield number

    def _pieces(self, person: _Person) -> list[list[int]]:
        """Cut a person's visits as :func:`core.trajectories.assemble.assemble_sequences` does."""
        length = self._limits.trajectory_length
        visits = person.locations[: self._limits.points_per_user]
        return [visits[start : start + length] for start in range(0, len(visits), length)]

    def _contained(self, person: _Person) -> tuple[set[int], set[Subtrajectory]]:
        """Return the places and the subtrajectories of 2 to ``m`` locations in a person's trajectories."""
        pieces = self._pieces(person)
        keys = (found for piece in pieces for found in _subtrajectories(piece, self._m)[2:])
        return set().union(*pieces), set().union(*keys)


def _subtrajectories(sequence: Sequence[int], size: int) -> list[set[Subtrajectory]]:
    """Return the distinct subtrajectories of 0, 1, ..., ``size`` locations."""
    found: list[set[Subtrajectory]] = [{()}, *(set() for _ in range(size))]
    for place in sequence:
        last = (place,)
        for length in range(size, 1, -1):
            found[length].update([part + last for part in found[length - 1]])
        if size:
            found[1].add(last)
    return found


def _gained(sequence: list[int], at: int, place: int, m: int) -> Collection[Subtrajectory]:
    """Return the subtrajectories of 2 to ``m`` locations that a new visit adds to those of a sequence."""
    if not sequence or m == 1:
        return ()
    visit = (place,)
    before = _subtrajectories(sequence[:at], m - 1)
    gained = [first + visit for firsts in before[1:] for first in firsts]
    if at < len(sequence):
        for n_after, lasts in enumerate(_subtrajectories(sequence[at:], m - 1)[1:], start=1):
            ends = [visit + last for last in lasts]
            gained += [first + end for firsts in before[: m - n_after] for first in firsts for end in ends]
    if place not in sequence:
        return gained
    return {key for key in gained if not _contains(sequence, key)}


def _contains(sequence: Sequence[int], part: Subtrajectory) -> bool:
    rest = iter(sequence)
    return all(place in rest for place in part)
