"""Attacks on the releases of ``lkc`` over several windows: the shares of the crowds that match are multiplied.

For every person and every run of successive windows, the adversary knows in which windows the person was released,
and up to m released pairs of the person in each: the rarest one, and those with the smallest crowd beside it. No
pseudonym is linked. Of the releases the adversary uses only what is published.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

from core.models.lkc.assemble import PairCandidate
from core.models.lkc.verify import Pair

__all__ = ["NONE", "Inferences", "ReleasedWindow", "attack_over_windows"]

NONE = -1

Signature = tuple[int, ...]
Likelihoods = dict[Signature, Fraction]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleasedWindow:
    """A released window, and whose its trajectories are."""

    number: int
    """Number of the window, counted from the epoch."""

    users: list[int]
    """Keyed hash of the person of each trajectory."""

    candidate: PairCandidate

    def published(self) -> list[Signature]:
        """Return what is published of the values of each person; exact values are signatures of one entry."""
        if self.candidate.roles is None:
            return [(values[0],) if values else (NONE,) for values in self.candidate.values]
        return [signature or (NONE,) for signature, _ in self.candidate.roles]


@dataclass(slots=True)
class Inferences:
    """What the adversary infers from runs of windows."""

    carriers: set[int] = field(default_factory=set)
    """People who carry a value and are in some run."""

    found: set[int] = field(default_factory=set)
    """Carriers whose value is inferred with a confidence above c, rightly."""

    claimed: set[int] = field(default_factory=set)
    """People of whom a value is inferred with a confidence above c."""

    made: int = 0
    """Inferences with a confidence above c."""

    right: int = 0

    highest: float = 0.0
    """Highest confidence in any sensitive value."""


def attack_over_windows(
    windows: Sequence[ReleasedWindow], *, runs_of: int, known: int, c: Fraction
) -> dict[str, Inferences]:
    """Attack every run of successive windows by three rules.

    - ``signatures`` multiplies the shares of each signature, and then takes its entries for equally likely. This is
      Bayes' rule, and what is promised.
    - ``values`` multiplies the shares of each value, each entry of a signature equally likely. It errs where signatures
      overlap: it may claim more, and must not be right more often than is promised.
    - ``places`` even knows the signature of each person. It takes those who serve as "none" for people like all others,
      and learns from the release where more people with the signature are than these. It is not promised anything.

    Args:
        windows: The releases, in order, each with one value for a person at most.
        runs_of: How many successive windows the adversary combines.
        known: Most pairs that the adversary knows in each window.
        c: The confidence that is promised.
    """
    by_number = {window.number: dict(_crowds(window, known)) for window in windows}
    found = {"values": Inferences(), "signatures": Inferences(), "places": Inferences()}
    numbers = sorted(by_number)
    for first in range(numbers[0] - runs_of + 1, numbers[-1] + 1):
        views: defaultdict[int, list[_View]] = defaultdict(list)
        for number in range(first, first + runs_of):
            for user, view in by_number.get(number, {}).items():
                views[user].append(view)
        for user, its in views.items():
            value, crowds = its[-1].value, [view.crowd for view in its]
            _judge(found["values"], user, value, _product(map(_of_values, crowds)), c)
            _judge(found["signatures"], user, value, _of_values(_product(crowds)), c)
            _judge(found["places"], user, value, _by_places(its), c)
    return found


class _View(NamedTuple):
    """What the adversary sees of one person in one window, and the truth."""

    crowd: Likelihoods
    """Share of each signature in the crowd of the known pairs."""

    odds: Fraction
    """How much likelier the known pairs are for carriers with the person's signature than for the others with it."""

    signature: Signature
    value: int


def _crowds(window: ReleasedWindow, known: int) -> Iterator[tuple[int, _View]]:
    """Yield what the adversary sees of each person."""
    matching: defaultdict[Pair, set[int]] = defaultdict(set)
    for i, trajectory in enumerate(window.candidate.trajectories):
        for pair in trajectory:
            matching[pair].add(i)
    published = window.published()
    numbers = Counter(published)
    of_pairs = {pair: Counter(published[i] for i in crowd) for pair, crowd in matching.items()}
    for i, trajectory in enumerate(window.candidate.trajectories):
        crowd, pairs = set(range(len(published))), list[Pair]()
        for _ in range(min(known, len(trajectory))):
            pair = min(set(trajectory) - set(pairs), key=lambda one: (len(crowd & matching[one]), one))
            pairs.append(pair)
            crowd &= matching[pair]
        counts = Counter(published[other] for other in crowd)
        shares = {signature: Fraction(count, len(crowd)) for signature, count in counts.items()}
        values, signature, odds = window.candidate.values[i], published[i], Fraction(1)
        for pair in pairs:
            odds *= _odds(
                of_pairs[pair][signature], of_pairs[pair].total(), numbers[signature], len(published), signature
            )
        yield window.users[i], _View(shares, odds, signature, values[0] if values else NONE)


def _odds(here: int, crowd: int, signed: int, people: int, signature: Signature) -> Fraction:
    """Return how much likelier a pair is for carriers with a signature than for those who serve as "none".

    Args:
        here: People with the signature and the pair.
        crowd: People with the pair.
        signed: People with the signature.
        people: People of the release.
        signature: The signature.
    """
    serving = Fraction(signed * signature.count(NONE), len(signature))
    carrying = signed - serving
    if not serving or not carrying:
        return Fraction(1)
    expected, half = serving * crowd / people, Fraction(1, 2)  # a half keeps rare pairs from deciding alone
    more = here - expected if here > expected else Fraction()
    return (more + half) / (carrying + 1) / ((expected + half) / (serving + 1))


def _by_places(views: Sequence[_View]) -> dict[Signature, Fraction]:
    """Weigh the entries of the person's latest signature by the known pairs."""
    signature, odds = views[-1].signature, Fraction(1)
    for view in views:
        odds *= view.odds
    weights: defaultdict[Signature, Fraction] = defaultdict(Fraction)
    for value in signature:
        weights[(value,)] += 1 if value == NONE else odds
    whole = sum(weights.values(), Fraction())
    return {entry: weight / whole for entry, weight in weights.items()}


def _of_values(shares: Mapping[Signature, Fraction]) -> dict[Signature, Fraction]:
    """Spread the share of each signature over its entries."""
    found: defaultdict[Signature, Fraction] = defaultdict(Fraction)
    for signature, share in shares.items():
        for value in signature:
            found[(value,)] += share / len(signature)
    return dict(found)


def _product(shares: Iterable[Mapping[Signature, Fraction]]) -> dict[Signature, Fraction]:
    first, *others = shares
    product = dict(first)
    for one in others:
        product = {key: share * one[key] for key, share in product.items() if key in one}
    whole = sum(product.values(), Fraction())
    return {key: share / whole for key, share in product.items()} if whole else {}


def _judge(found: Inferences, user: int, value: int, confidence: Mapping[Signature, Fraction], c: Fraction) -> None:
    if value != NONE:
        found.carriers.add(user)
    for (one,), share in confidence.items():
        if one != NONE:
            found.highest = max(found.highest, float(share))
            if share > c:
                found.claimed.add(user)
                found.made += 1
                found.right += one == value
                if one == value:
                    found.found.add(user)
