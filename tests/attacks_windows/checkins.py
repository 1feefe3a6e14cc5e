"""Attacks on releases of check-ins: trajectories are linked by their locations, and crowds' shares are multiplied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from core.models.lkc.pairs import Cycle
from core.models.lkc.plan import LKCPlan
from core.models.lkc.signature import NONE
from core.records.arrays import FloatArray, IntArray
from core.release.attacks.linkage import linkage_risk
from core.release.attacks.linked_places import VisitedPlaces
from tests.attacks_windows.released import ReleasedWindow, people_of
from tests.attacks_windows.table import Line, percent

__all__ = ["KNOWN", "Crowds", "known_in_each_window", "linked_once", "multiplied_shares"]

KNOWN = 2
"""How many visits of a person are known in each window."""

HORIZONS = (1, 2, 4, 8)
_MOST_PEOPLE = 20
"""Most people of a window."""

_ELSEWHERE = 0.8
"""Probability that a location known from another window is none of the person's in this one."""

_ALIKE = 1e-9
_LEAST_PEOPLE = 10
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True, kw_only=True, eq=False)
class Crowds:
    """Which units of a window fit the knowledge of a person."""

    people: dict[int, IntArray]
    """By keyed hash of a person with a release: the units that show all that is known of the person."""

    members: list[frozenset[int]]
    known: dict[int, list[int]] = field(default_factory=dict)
    """The numbers of the locations that are known of each of these people."""

    showing: dict[int, IntArray] = field(default_factory=dict)
    """The units that show each location."""

    n_labels: IntArray = field(default_factory=lambda: np.empty(0, np.int64))
    """How many labels each unit shows."""

    def scores(self, units: IntArray, n_known: int, elsewhere: Iterable[int]) -> FloatArray:
        """Return the logarithm of how probable it is that each unit is a person's, up to a constant.

        Args:
            units: Units that show all that is known of the person in this window.
            n_known: How many locations that is.
            elsewhere: Locations of the person that are known from other windows.
        """
        n_labels = self.n_labels[units]
        scores = -np.array([math.log(math.comb(max(int(n), n_known), n_known)) for n in n_labels])
        for place in elsewhere:
            showing = self.showing.get(place, _NONE)
            if len(showing):
                usual = len(showing) / self.n_labels.sum()
                likely = np.isin(units, showing) / n_labels / usual
                scores += np.log(_ELSEWHERE + (1 - _ELSEWHERE) * likely)
        return scores

    @classmethod
    def of(cls, one: ReleasedWindow, rng: np.random.Generator, *, most_known: int = KNOWN) -> Crowds:
        """Know some released visits of each person, and find the units that show them, in any order.

        Of somebody with several units, the visits of one are known.
        """
        extract = one.extract
        assert isinstance(extract, VisitedPlaces)
        members = people_of(extract)
        showing = _units_by_member(extract)
        window = getattr(one.window, "visits", one.window)  # kkm keeps the sequences apart from attributes
        names, sequences = _names(one, window), window.sequences
        owners = window.hashes[sequences.owners]
        order = np.argsort(owners, kind="stable")
        owners, locations = owners[order], sequences.locations[order]
        own = {person: unit for unit, company in enumerate(members) for person in company}
        found: dict[int, IntArray] = {}
        knowledge: dict[int, list[int]] = {}
        for person in sorted(own):
            first = np.searchsorted(owners, np.uint64(person))
            last = np.searchsorted(owners, np.uint64(person), side="right")
            visits = [names[visit] for visit in np.unique(locations[first:last]).tolist()]
            visits = [visit for visit in visits if own[person] in showing.get(visit, _NONE)]
            known = [visits[i] for i in rng.permutation(len(visits))[:most_known].tolist()]
            found[person] = reduce(np.intersect1d, [showing[visit] for visit in known]) if known else _NONE
            knowledge[person] = known
        return cls(people=found, members=members, known=knowledge, showing=showing, n_labels=np.diff(extract.starts))


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
    """Know visits in each of H windows, and name the trajectory of the last one that most probably is the person's.

    Of the trajectories that fit the knowledge of the last window, one is more probable the fewer locations it shows,
    and the more of them are known from the other windows: people come back to their places. How sure a guess is, is its
    probability by Bayes' rule.
    """
    rng, k = np.random.default_rng(3), windows[0].plan.guarantee.k
    crowds = [Crowds.of(one, rng) for one in windows]
    figures = []
    for horizon in HORIZONS:
        found = _guesses(crowds, horizon, rng)
        if len(found) >= _LEAST_PEOPLE:
            # Of equally sure guesses the order is drawn.
            order = sorted(range(len(found)), key=lambda i: (-found[i][0], rng.random()))
            surest = [found[i][1] for i in order[: max(_LEAST_PEOPLE, len(found) // 10)]]
            figures.append(f"{np.mean(surest):.2f} (H={horizon}, {len(found)} people)")
    promise = f"one window: at least {k} people fit"
    yield Line("known in each of H windows: the surest tenth is right", promise, ", ".join(figures) or "too few people")


def _guesses(crowds: Sequence[Crowds], horizon: int, rng: np.random.Generator) -> list[tuple[float, float]]:
    """Return for people released in ``horizon`` successive windows how sure the guess is, and how right."""
    found: list[tuple[float, float]] = []
    for first in range(len(crowds) - horizon + 1):
        span = crowds[first : first + horizon]
        people = sorted(frozenset.intersection(*(frozenset(one.people) for one in span)))
        chosen = rng.permutation(len(people))[:_MOST_PEOPLE].tolist()
        for person in [people[i] for i in chosen]:
            fits = span[-1].people[person]
            if len(fits):
                elsewhere = {place for one in span[:-1] for place in one.known[person]} - set(span[-1].known[person])
                scores = span[-1].scores(fits, len(span[-1].known[person]), elsewhere)
                best = np.flatnonzero(scores >= scores.max() - _ALIKE)
                companies = [span[-1].members[unit] for unit in fits[best].tolist()]
                right = float(np.mean([1 / len(one) if person in one else 0.0 for one in companies]))
                found.append((1 / float(np.exp(scores - scores.max()).sum()), right))
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
        n_carriers, claims, sure = 0, list[bool](), list[bool]()
        for first in range(0, len(crowds) - horizon + 1, horizon):
            span = range(first, first + horizon)
            for person in sorted(frozenset.intersection(*(frozenset(crowds[i].people) for i in span))):
                odds = _log_odds([(crowds[i].people[person], shown[i]) for i in span])
                n_carriers += person in carriers
                if odds > np.log(c / (1 - c)) + 1e-9:
                    claims.append(person in carriers)
                if odds > np.log(0.8 / 0.2):
                    sure.append(person in carriers)
        right = f", {percent(float(np.mean(sure)))} of {len(sure)} above 0.8 right" if sure else ""
        if n_carriers:
            figures.append(
                f"{percent(sum(claims) / n_carriers)} (H={horizon}, {sum(claims)} of {len(claims)} claims{right})"
            )
    promise = f"one window: nobody above C = {c:g}"
    yield Line(f"crowds' shares multiplied: carriers inferred above {c:g}", promise, ", ".join(figures) or "nobody")


def _values_shown(one: ReleasedWindow) -> FloatArray:
    """Return for each unit how probable the sensitive value is by what is shown with it: the value, or a signature."""
    roles = getattr(one.candidate, "roles", None)
    if roles is None:
        return np.array([float(len(values) > 0) for values in one.candidate.values])
    return np.array([np.mean([code != NONE for code in signature] or [0.0]) for signature, _ in roles])


def _log_odds(crowds: Sequence[tuple[IntArray, FloatArray]]) -> float:
    """Return the sum of what each crowd adds to the odds of the value, from the odds in the first release."""
    base = [np.clip(shown.mean(), 1e-6, 1 - 1e-6) for _, shown in crowds]
    total = float(np.log(base[0] / (1 - base[0])))
    for (fits, shown), prior in zip(crowds, base, strict=True):
        if len(fits):
            share = np.clip(shown[fits].mean(), 1e-6, 1 - 1e-6)
            total += float(np.log(share / (1 - share)) - np.log(prior / (1 - prior)))
    return total
