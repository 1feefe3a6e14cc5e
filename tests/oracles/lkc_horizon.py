"""Slow and obvious versions of LKC-privacy over a horizon, from what an adversary could compute.

A release is a list of people, each with a signature and the pairs that are published. The adversary takes every way in
which the entries of the signatures could be true, and counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import NamedTuple

from tests.oracles.km import Trajectory, is_subtrajectory

Names = tuple[str | None, ...]


class Seen(NamedTuple):
    """One person of a release."""

    user: int
    signature: Names
    pairs: Trajectory


Released = Sequence[Seen]


def possible_worlds(releases: Sequence[Released]) -> Iterator[dict[int, int]]:
    """Yield every way to say which entry of a signature is true of each person, once for all windows.

    In each window each entry of a signature has to be true of equally many.
    """
    signatures = {one.user: one.signature for release in releases for one in release}
    users = sorted(signatures)
    for entries in product(*(range(max(len(signatures[user]), 1)) for user in users)):
        world = dict(zip(users, entries, strict=True))
        if all(is_balanced(release, world) for release in releases):
            yield world


def is_balanced(release: Released, world: dict[int, int]) -> bool:
    """Whether each entry of each signature is true of equally many people of a release."""
    counts = Counter((one.signature, world[one.user]) for one in release)
    return all(len({counts[signature, i] for i in range(len(signature))}) <= 1 for signature, _ in counts)


def confidences(releases: Sequence[Released]) -> dict[int, dict[str, Fraction]]:
    """Return how sure somebody is of each value of each person, who knows the signature of everybody in each release.

    Nothing if no world is possible.
    """
    worlds = list(possible_worlds(releases))
    signatures = {one.user: one.signature for release in releases for one in release}
    found: dict[int, dict[str, Fraction]] = {}
    for user, signature in signatures.items():
        counts = Counter(signature[world[user]] for world in worlds if signature)
        found[user] = {name: Fraction(n, len(worlds)) for name, n in counts.items() if name is not None}
    return found


def crowd_confidences(releases: Sequence[Released], user: int, known: int) -> Iterator[Fraction]:
    """Yield how sure somebody can be of a value of a person who knows up to some pairs in each window.

    The shares of the signatures in the crowds that match are multiplied.
    """
    own = [(release, one.pairs) for release in releases for one in release if one.user == user]
    choices = [
        [part for size in range(1, known + 1) for part in combinations(pairs, min(size, len(pairs)))]
        for _, pairs in own
    ]
    for parts in product(*choices):
        weights: dict[Names, Fraction] = {}
        for i, ((release, _), part) in enumerate(zip(own, parts, strict=True)):
            matching = [one.signature for one in release if is_subtrajectory(part, one.pairs)]
            shares = {one: Fraction(matching.count(one), len(matching)) for one in set(matching)}
            weights = {one: weights[one] * share for one, share in shares.items() if one in weights} if i else shares
        whole = sum(weights.values(), Fraction())
        values = {name for signature in weights for name in signature if name is not None}
        for name in values:
            yield (
                sum(
                    (weight * Fraction(one.count(name), len(one)) for one, weight in weights.items() if one), Fraction()
                )
                / whole
            )
