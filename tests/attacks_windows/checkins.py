"""Attacks on releases of check-ins: trajectories are linked by their locations, and crowds' shares are multiplied."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from core.models.lkc.pairs import Cycle
from core.models.lkc.plan import LKCPlan
from core.records.arrays import FloatArray, IntArray
from core.release.linkage import linkage_risk
from core.release.linked_places import VisitedPlaces
from tests.attacks_windows.released import ReleasedWindow, people_of
from tests.attacks_windows.table import Line, percent

__all__ = ["KNOWN", "Crowds", "known_in_each_window", "linked_once", "multiplied_shares"]

KNOWN = 2
"""How many visits of a person are known in each window."""

HORIZONS = (1, 2, 4, 8)
_MOST_PEOPLE = 400
_LEAST_PEOPLE = 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Crowds:
    """Which units of a window fit the knowledge of a person."""

    people: dict[int, IntArray]
    """By keyed hash of a person with a release: the units that show all that is known of the person."""

    members: list[frozenset[int]]

    @classmethod
    def of(cls, one: ReleasedWindow, rng: np.random.Generator) -> Crowds:
        """Know up to two true visits of each released person, and find the units that show them, in any order."""
        extract = one.extract
        assert isinstance(extract, VisitedPlaces)
        members = people_of(extract)
        showing = _units_by_member(extract)
        window = getattr(one.window, "visits", one.window)  # kkm keeps the sequences apart from attributes
        names, sequences = _names(one, window), window.sequences
        owners = window.hashes[sequences.owners]
        order = np.argsort(owners, kind="stable")
        owners, locations = owners[order], sequences.locations[order]
        found: dict[int, IntArray] = {}
        for person in sorted(frozenset().union(*members)):
            first, last = (
                np.searchsorted(owners, np.uint64(person)),
                np.searchsorted(owners, np.uint64(person), "right"),
            )
            visits = locations[first:last]
            known = rng.choice(visits, min(KNOWN, len(visits)), replace=False).tolist()
            fits = [showing.get(names[visit], np.empty(0, np.int64)) for visit in known]
            both = fits[0]
            for other in fits[1:]:
                both = np.intersect1d(both, other)
            found[person] = both
        return cls(people=found, members=members)


def _names(one: ReleasedWindow, window: Any) -> list[int]:
    """Return the stable number of what each id of the sequences shows in a release."""
    names: Sequence[str] = window.vocabulary.names
    if isinstance(one.plan, LKCPlan):
        is_of_day = one.plan.slots.cycle is Cycle.DAY
        pairs = zip(window.pairs.slots.tolist(), window.pairs.locations.tolist(), strict=True)
        names = [f"{slot} {names[place]}" if is_of_day else names[place] for slot, place in pairs]
    alone = VisitedPlaces.of([() for _ in names], [[(name,)] for name in names], np.empty(0, np.uint64))
    return [int(alone.members[alone.labels[i]]) for i in range(len(names))]


def _units_by_member(extract: VisitedPlaces) -> dict[int, IntArray]:
    units: dict[int, set[int]] = {}
    for unit in range(len(extract.units)):
        for label in extract.labels[extract.starts[unit] : extract.starts[unit + 1]].tolist():
            for member in extract.members[extract.member_starts[label] : extract.member_starts[label + 1]].tolist():
                units.setdefault(member, set()).add(unit)
    return {member: np.array(sorted(ones), np.int64) for member, ones in units.items()}


def linked_once(windows: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Link each trajectory to the most similar one of the next window."""
    rng = np.random.default_rng(1)
    risks = [linkage_risk(a.extract, b.extract, rng) for a, b in pairwise(windows)]
    stayed = sum(one.stayed for one in risks)
    right = sum(one.mean * one.people for one in risks) / max(stayed, 1)
    chance = sum(one.chance * one.people for one in risks) / max(stayed, 1)
    yield Line("the right next trajectory is named", "-", f"{percent(right)} (chance {percent(chance)})")
    highest = float(np.mean([one.highest for one in risks])) if risks else 0.0
    yield Line("  the surest tenth of these guesses is right", "-", percent(highest))


def known_in_each_window(windows: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Know visits in each of H windows, and name the trajectory of the last one that is most like those of the others.

    How like a trajectory is to a window is its similarity to the most similar one that fits the knowledge there.
    """
    rng, k = np.random.default_rng(3), windows[0].plan.guarantee.k
    crowds = [Crowds.of(one, rng) for one in windows]

    @cache
    def alike(earlier: int, later: int) -> FloatArray:
        first, last = windows[earlier].extract, windows[later].extract
        assert isinstance(first, VisitedPlaces)
        assert isinstance(last, VisitedPlaces)
        return first.similarities(last, np.arange(len(first.units)))

    figures = []
    for horizon in HORIZONS:
        found = _guesses(crowds, alike, horizon, rng)
        if len(found) >= _LEAST_PEOPLE:
            # Of equally sure guesses the order is drawn.
            order = sorted(range(len(found)), key=lambda i: (-found[i][0], rng.random()))
            surest = [found[i][1] for i in order[: max(_LEAST_PEOPLE, len(found) // 10)]]
            figures.append(f"{np.mean(surest):.2f} (H={horizon}, {len(found)} people)")
    promise = f"one window: at most 1/k = {1 / k:.2f}"
    yield Line("known in each of H windows: the surest tenth is right", promise, ", ".join(figures) or "too few people")


def _guesses(
    crowds: Sequence[Crowds], alike: Callable[[int, int], FloatArray], horizon: int, rng: np.random.Generator
) -> list[tuple[float, float]]:
    """Return for people released in ``horizon`` successive windows how sure the guess is, and how right."""
    found: list[tuple[float, float]] = []
    for first in range(len(crowds) - horizon + 1):
        span, last = range(first, first + horizon), first + horizon - 1
        people = sorted(frozenset.intersection(*(frozenset(crowds[i].people) for i in span)))
        chosen = rng.permutation(len(people))[: max(1, _MOST_PEOPLE * horizon // len(crowds))].tolist()
        for person in [people[i] for i in chosen]:
            fits = {i: crowds[i].people[person] for i in span}
            if not all(len(one) for one in fits.values()):
                continue
            totals = np.zeros(len(fits[last]))
            for i in range(first, last):
                totals += alike(i, last)[np.ix_(fits[i], fits[last])].max(axis=0)
            best = np.flatnonzero(totals >= totals.max() - 1e-9)
            others = np.delete(totals, best)
            margin = float(totals.max() - others.max(initial=0.0)) if len(best) == 1 else 0.0
            companies = [crowds[last].members[unit] for unit in fits[last][best].tolist()]
            found.append((margin, float(np.mean([1 / len(one) if person in one else 0.0 for one in companies]))))
    return found


def multiplied_shares(windows: Sequence[ReleasedWindow], carriers: frozenset[int], c: float) -> Iterator[Line]:
    """Multiply the shares of a sensitive value in the crowds of a person, without linking any pseudonym.

    Args:
        windows: Releases of ``lkc``.
        carriers: Keyed hashes of the people who have the value.
        c: Largest confidence that is promised for one window.
    """
    rng = np.random.default_rng(4)
    crowds = [Crowds.of(one, rng) for one in windows]
    shown = [_values_shown(one) for one in windows]
    figures: list[str] = []
    for horizon in HORIZONS:
        n_carriers, n_inferred, sure = 0, 0, list[bool]()
        for first in range(0, len(crowds) - horizon + 1, horizon):
            span = range(first, first + horizon)
            for person in sorted(frozenset.intersection(*(frozenset(crowds[i].people) for i in span))):
                odds = _log_odds([(crowds[i].people[person], shown[i]) for i in span])
                n_carriers += person in carriers
                n_inferred += person in carriers and odds > np.log(c / (1 - c)) + 1e-9
                if odds > np.log(0.8 / 0.2):
                    sure.append(person in carriers)
        right = f", {percent(float(np.mean(sure)))} of {len(sure)} above 0.8 right" if sure else ""
        if n_carriers:
            figures.append(f"{percent(n_inferred / n_carriers)} (H={horizon}{right})")
    promise = f"one window: nobody above C = {c:g}"
    yield Line(f"crowds' shares multiplied: carriers inferred above {c:g}", promise, ", ".join(figures) or "nobody")


def _values_shown(one: ReleasedWindow) -> IntArray:
    """Return for each unit whether the release shows the sensitive value with it."""
    return np.array([len(values) > 0 for values in one.candidate.values], np.int64)


def _log_odds(crowds: Sequence[tuple[IntArray, IntArray]]) -> float:
    """Return the sum of what each crowd adds to the odds of the value, from the odds in the first release."""
    base = [np.clip(shown.mean(), 1e-6, 1 - 1e-6) for _, shown in crowds]
    total = float(np.log(base[0] / (1 - base[0])))
    for (fits, shown), prior in zip(crowds, base, strict=True):
        if len(fits):
            share = np.clip(shown[fits].mean(), 1e-6, 1 - 1e-6)
            total += float(np.log(share / (1 - share)) - np.log(prior / (1 - prior)))
    return total
