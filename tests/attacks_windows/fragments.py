"""Attacks on releases of fragments: sets are followed, known positions are combined, beginnings give people away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

from core.models.kdelta.plan import KDeltaPlan
from core.records.arrays import FloatArray, IntArray
from core.release.attacks.linkage import linkage_risk
from core.release.attacks.linked_sets import SetEnds
from tests.attacks_windows.released import ReleasedWindow, people_of
from tests.attacks_windows.table import Line, median, percent

__all__ = ["appearances", "fitting_people", "followed_sets", "known_twice"]

_CHAIN = 4
_MOST_KNOWN = 300
_INSIDE_MS = 120_000
"""A person who appears later than this into a window was not there at its beginning."""


def followed_sets(windows: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Follow sets by where and when they end and begin: into the next window, and over four windows."""
    rng, k = np.random.default_rng(1), windows[0].plan.guarantee.k
    risks = [linkage_risk(a.extract, b.extract, rng, sample=100_000) for a, b in pairwise(windows)]
    stayed = sum(one.stayed for one in risks)
    right = sum(one.mean * one.people for one in risks) / max(stayed, 1)
    chance = sum(one.chance * one.people for one in risks) / max(stayed, 1)
    promised = windows[0].plan.promised_linkage
    promise = "-" if promised is None else f"a share of at most {promised:.2f} of a set"
    yield Line("the right next set is named", promise, f"{percent(right)} (chance {percent(chance)})")
    highest = max((one.highest for one in risks), default=0.0)
    yield Line("largest share of a set that is in the set named next", promise, f"{highest:.2f}")
    followed = _followed(windows, k)
    if followed is not None:
        yield Line(
            f"followed over {_CHAIN} windows in a company of fewer than k",
            "-" if promised is None else promise,
            followed,
        )


def _followed(windows: Sequence[ReleasedWindow], k: int) -> str | None:
    members = [people_of(one.extract) for one in windows]
    named: list[dict[int, int]] = []
    for a, b in pairwise(windows):
        assert isinstance(a.extract, SetEnds)
        assert isinstance(b.extract, SetEnds)
        guesses = a.extract.guess(b.extract, np.arange(len(a.extract.units)))
        named.append(dict(zip(guesses.of.tolist(), guesses.to.tolist(), strict=True)))
    n_there = n_few = 0
    for first in range(len(windows) - _CHAIN + 1):
        there = frozenset.intersection(*(frozenset().union(*members[first + i]) for i in range(_CHAIN)))
        n_there += len(there)
        for start, company in enumerate(members[first]):
            left, at = company, start
            for step in range(_CHAIN - 1):
                at = named[first + step].get(at, -1)
                left = left & members[first + step + 1][at] if at >= 0 else frozenset()
            n_few += len(left) if len(left) < k else 0
    return None if not n_there else f"{percent(n_few / n_there)} of {n_there} people"


@lru_cache(maxsize=8)
def _positions(one: ReleasedWindow) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the starts of the published trajectories, the times and the positions of their points, metres."""
    published = one.candidate
    starts = np.cumsum([0, *map(len, published.t_ms)])
    lat, lon = np.concatenate(published.lat_deg), np.concatenate(published.lon_deg)
    return starts, np.concatenate(published.t_ms), one.window.projection.to_metres(lat, lon)


def fitting_people(one: ReleasedWindow, person: int, rng: np.random.Generator) -> frozenset[int]:
    """Return the people of all sets with a member within delta of a known position of a person, at its time.

    Args:
        one: The window.
        person: Keyed hash of the person.
        rng: Draws the position.
    """
    truth = one.window.trajectories
    mine = np.flatnonzero(one.window.hashes[truth.users] == np.uint64(person))
    point = int(rng.integers(truth.starts[mine[0]], truth.starts[mine[-1] + 1]))
    at_ms, at_m = int(truth.t_ms[point]), truth.xy_m[point]
    starts, t_ms, xy_m = _positions(one)
    there = np.flatnonzero((t_ms[starts[:-1]] <= at_ms) & (t_ms[starts[1:] - 1] >= at_ms))
    # The last point of each trajectory up to the time, and the one after it.
    trajectory = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    before = starts[:-1] + np.bincount(trajectory[t_ms <= at_ms], minlength=len(starts) - 1) - 1
    before = before[there]
    after = np.minimum(before + 1, starts[1:][there] - 1)
    share = (at_ms - t_ms[before]) / np.maximum(t_ms[after] - t_ms[before], 1)
    near_m = xy_m[before] + share[:, None] * (xy_m[after] - xy_m[before])
    assert isinstance(one.plan, KDeltaPlan)
    found = there[((near_m - at_m) ** 2).sum(axis=1) <= one.plan.guarantee.delta_m**2]
    sets = np.array(one.candidate.sets)
    hashes = one.window.hashes[np.array(one.candidate.users, np.int64)]
    return frozenset(hashes[np.isin(sets, sets[found])].tolist())


def known_twice(windows: Sequence[ReleasedWindow], apart: Sequence[int] = (1, 3, 7)) -> Iterator[Line]:
    """Know somebody at a place and time in two windows whose sets can be linked, and count the people who fit both."""
    rng, k = np.random.default_rng(2), windows[0].plan.guarantee.k
    lone: list[int] = []
    for distance in apart:
        both: list[int] = []
        for a, b in zip(windows, windows[distance:], strict=False):
            people = np.intersect1d(a.window.hashes[a.candidate.users], b.window.hashes[b.candidate.users])
            for person in rng.choice(people, min(5, len(people)), replace=False).tolist():
                fits = [fitting_people(one, person, rng) for one in (a, b)]
                if all(person in one for one in fits):
                    both.append(len(fits[0] & fits[1]))
                    lone.append(len(fits[0]))
            if len(both) >= _MOST_KNOWN:
                break
        if both:
            yield Line(
                f"known at a place and time in windows 1 and {distance + 1}: people who fit both",
                f"one window: at least {k}",
                f"median {median(both)}, fewer than k in {percent(float(np.mean(np.array(both) < k)))} of {len(both)}",
            )
    if lone:
        yield Line("  the same, one window alone", f"at least {k}", f"median {median(lone)}, least {min(lone)}")


def appearances(windows: Sequence[ReleasedWindow]) -> Iterator[Line]:
    """Know when somebody appeared inside a window, and name the set that begins last before that time."""
    found: list[float] = []
    chances: list[float] = []
    for one in windows:
        extract, truth = one.extract, one.window.trajectories
        assert isinstance(extract, SetEnds)
        members = people_of(extract)
        users, first = np.unique(truth.users, return_index=True)
        for user, at_ms in zip(users.tolist(), truth.t_ms[truth.starts[first]].tolist(), strict=True):
            person = int(one.window.hashes[user])
            own = [unit for unit, company in enumerate(members) if person in company]
            begun = extract.begin_ms <= at_ms
            if own and begun.any() and at_ms - one.key.start_ms >= _INSIDE_MS:
                latest = np.flatnonzero(extract.begin_ms == extract.begin_ms[begun].max()).tolist()
                found.append(sum(unit in own for unit in latest) / len(latest))
                chances.append(len(own) / len(members))
    if found:
        figure = f"{percent(float(np.mean(found)))} (chance {percent(float(np.mean(chances)))})"
        yield Line("appeared two minutes or more after the window began: the right set is named", "-", figure)
