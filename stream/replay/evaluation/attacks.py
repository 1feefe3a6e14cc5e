"""Attacks on a raw feed or a release: how surely an adversary with a little knowledge finds a person in it.

A place is a location, or a generalized one, where the file has them; else a cell, or with ``cell_m`` 0 an exact
position. Windows are attacked one by one, and a person's risk is the highest of all windows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from core.places.geo import LocalProjection
from core.records.arrays import FloatArray, IntArray
from core.release.attacks.background import (
    companions,
    distinct_visits,
    in_order_of_place,
    sequence_risks,
    uniqueness_risks,
)
from core.release.attacks.linked_places import VisitedPlaces
from core.release.attacks.visit_frequency import VisitCounts, Weighing, home_work_risks, weighed_risks
from core.trajectories.journeys import Journeys
from core.trajectories.trajectory import Sequences
from core.utility.mobility import cells_of
from stream.replay.evaluation.known_visits import KnownVisits
from stream.replay.evaluation.placed import in_metres

__all__ = ["AttackOptions", "AttackResult", "above_1_k", "attack"]


_WEIGHINGS = {
    KnownVisits.FREQUENCY: Weighing.FREQUENCY,
    KnownVisits.PROBABILITY: Weighing.PROBABILITY,
    KnownVisits.PROPORTION: Weighing.PROPORTION,
}
_NEED_TIME = frozenset((KnownVisits.LOCATION_TIME, KnownVisits.UNIQUENESS, KnownVisits.CO_LOCATION))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackOptions:
    """How much the adversary knows."""

    known: int = 2
    """Number of known visits, places, points or companions."""

    slot_ms: int = 3_600_000
    """Precision of known times, milliseconds."""

    cell_m: float = 500.0
    """Side of the cells that stand for places where a file has only positions, metres; 0 for exact positions."""

    tolerance: float = 0.0
    """Precision of known numbers of visits, a share in 0..1."""

    k: int = 5
    seed: int = 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AttackResult:
    """Probability of finding each person."""

    kind: KnownVisits
    risks: FloatArray = field(repr=False)
    """Of each person with a visit, shape ``(n,)``."""

    users: IntArray = field(repr=False)
    """Number of each of them."""

    k: int
    unique: float | None = None
    """Share of draws that single a person out, of random points alone."""

    chance: float | None = None
    """Mean probability of finding a person in the next window by guessing, of linking alone."""

    @property
    def highest(self) -> float:
        """Highest probability."""
        return float(self.risks.max(initial=0.0))

    @property
    def mean(self) -> float:
        """Mean probability; NaN without people."""
        return float(self.risks.mean()) if len(self.risks) else float("nan")

    @property
    def above(self) -> float:
        """Share of people whose probability is above 1/k; NaN without people."""
        return above_1_k(self.risks, self.k) if len(self.risks) else float("nan")


def above_1_k(risks: FloatArray, k: int) -> float:
    """Return the share of people whose risk is above 1/k, of at least one.

    1/k itself is what k-anonymity promises; a rounding error is not above it.
    """
    return float((risks > 1 / k + 1e-9).mean())


def attack(
    journeys: Journeys,
    kind: KnownVisits,
    options: AttackOptions,
    progress: Callable[[str], None] = lambda _: None,
    *,
    plane: LocalProjection | None = None,
) -> AttackResult | None:
    """Attack everybody in a raw feed or a release.

    Args:
        journeys: The data.
        kind: What the adversary knows.
        options: How much.
        progress: Called with what is being done.
        plane: In which positions are cut into cells; by default that around them.

    Returns:
        The risks; None if the data lack what the attack needs: places, an order, times, or for linking the same people
        in several windows.

    Raises:
        TooManyInstancesError: People have too many visits.
    """
    lacks_time = journeys.t_ms is None and kind in _NEED_TIME
    if lacks_time or (kind is KnownVisits.SEQUENCE and not journeys.is_ordered):
        return None
    places = _places(journeys, options.cell_m, plane)
    if places is None:
        return None
    if kind is KnownVisits.LINKING:
        return _linking(journeys, places, options)
    highest = np.zeros(journeys.n_users)
    uniques: list[FloatArray] = []
    windows = np.unique(journeys.windows_ms).tolist()
    for number, window in enumerate(windows):
        progress(f"{kind}: window {number + 1:,} of {len(windows):,}")
        rows = np.flatnonzero(journeys.windows_ms == window)
        users, visits = _visits(journeys, places, rows, options.slot_ms if kind in _NEED_TIME else None)
        if kind is KnownVisits.UNIQUENESS:
            risks, unique = uniqueness_risks(
                visits, options.known, np.random.default_rng([options.seed, number]), draws=10
            )
            uniques.append(unique)
        else:
            risks = _risks(visits, kind, options)
        np.maximum.at(highest, users, risks)
    present = np.unique(journeys.users[np.diff(journeys.starts) > 0])
    return AttackResult(
        kind=kind,
        risks=highest[present],
        users=present,
        k=options.k,
        unique=float(np.concatenate(uniques).mean()) if uniques else None,
    )


def _risks(visits: Sequences, kind: KnownVisits, options: AttackOptions) -> FloatArray:
    if kind is KnownVisits.SEQUENCE:
        return sequence_risks(visits, options.known)
    if kind in (KnownVisits.LOCATION, KnownVisits.LOCATION_TIME):
        return sequence_risks(in_order_of_place(visits), options.known)
    if kind is KnownVisits.UNIQUE_LOCATION:
        return sequence_risks(distinct_visits(visits), options.known)
    if kind is KnownVisits.CO_LOCATION:
        return sequence_risks(companions(visits), options.known)
    counts = VisitCounts.of(visits)
    if kind is KnownVisits.HOME_WORK:
        return home_work_risks(counts)
    return weighed_risks(counts, options.known, _WEIGHINGS[kind], tolerance=options.tolerance)


def _places(journeys: Journeys, cell_m: float, plane: LocalProjection | None) -> IntArray | None:
    """Return a number for the place of each visit, shape ``(p,)``; -1 where there is none."""
    if journeys.label_of is not None:
        return journeys.label_of
    if journeys.xy is None:
        return None
    planes = in_metres(journeys, plane=plane) if cell_m else [journeys.xy]
    if planes is None:
        return None
    known = np.isfinite(planes[0][:, 0]) & np.isfinite(planes[0][:, 1])
    numbers = np.full(len(known), -1, np.int64)
    # Numbered by latitude, then longitude, which decides between places that are visited equally often.
    exact = planes[0][known, ::-1]
    numbers[known] = _numbered(cells_of(exact, cell_m) if cell_m else exact)
    return numbers


def _numbered(rows: FloatArray | IntArray) -> IntArray:
    return np.unique(rows, axis=0, return_inverse=True)[1].astype(np.int64).ravel()


def _visits(journeys: Journeys, places: IntArray, rows: IntArray, slot_ms: int | None) -> tuple[IntArray, Sequences]:
    """Return the people of one window, and the places of each in time order, joined with slots if these are known."""
    at = replace(journeys, label_of=places, labels=()).only(rows)
    if slot_ms is not None and at.label_of is not None and at.t_ms is not None:
        points = _numbered(np.column_stack([at.label_of, at.t_ms // slot_ms]))
        at = replace(at, label_of=np.where(at.label_of < 0, -1, points))
    joined = at.sequences()
    kept = joined.where(joined.locations >= 0)
    # A person may have several journeys in a window, such as cut trajectories: they are one person's visits.
    users = np.unique(kept.users)
    starts = np.append(kept.starts[:-1][np.searchsorted(kept.users, users)], kept.starts[-1])
    return np.unique(at.users), Sequences(users=users, starts=starts, locations=kept.locations)


def _linking(journeys: Journeys, places: IntArray, options: AttackOptions) -> AttackResult | None:
    """Follow people from each window into the next one in which anybody is, by the places that they visit."""
    windows = np.unique(journeys.windows_ms).tolist()
    if journeys.people is None or len(windows) < 2:
        return None
    extracts = []
    for window in windows:
        users, visits = _visits(journeys, places, np.flatnonzero(journeys.windows_ms == window), None)
        labels = [
            [_members(journeys, place) for place in visits.locations[a:b].tolist()]
            for a, b in pairwise(visits.starts.tolist())
        ]
        extracts.append(VisitedPlaces.of([[i] for i in range(len(labels))], labels, users.astype(np.uint64)))
    highest, by_chance = np.full(journeys.n_users, -1.0), list[FloatArray]()
    for earlier, later in pairwise(extracts):
        units = np.arange(len(earlier.units))
        guesses = earlier.guess(later, units)
        shared = earlier.units.shared(later.units, guesses.of, guesses.to)
        found = np.bincount(guesses.of, guesses.weight * shared, minlength=len(units))
        users = earlier.units.hashes.astype(np.int64)  # each unit is one person
        np.maximum.at(highest, users, found)
        by_chance.append(np.isin(users, later.units.hashes.astype(np.int64)) / max(len(later.units), 1))
    present = np.flatnonzero(highest >= 0)
    return AttackResult(
        kind=KnownVisits.LINKING,
        risks=highest[present],
        users=present,
        k=options.k,
        chance=float(np.concatenate(by_chance).mean()),
    )


def _members(journeys: Journeys, place: int) -> tuple[str, ...]:
    """Return the names of a place's members; a cell or position has its number as name."""
    return journeys.labels[place] if journeys.labels else (str(place),)
