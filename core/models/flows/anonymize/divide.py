"""Divide a window into disjoint places so that the flows of at least k people between them lose least.

A division is a cut through a tree of places, the same for origins and destinations. The search has two steps. First
each level of the hierarchy is tried for all locations, and the best one is taken (OIGH, the uniform generalization
that ATG and ODkAnon are compared with). Then places are split and joined, one at a time, as long as that lowers the
loss: the adaptive tree generalization of Matet, Come, Furno, Bonnetain, Oukhellou and El Faouzi (2023), restricted to
disjoint places as in ODkAnon (Armenante, Huang, Jha, Vassio 2025, arXiv:2509.12950).
"""

from __future__ import annotations

from core.models.flows.anonymize.division import Division, PlaceChange
from core.models.flows.tree import PlaceTree
from core.models.flows.trips import Trips
from core.places.vocabulary import Vocabulary

__all__ = ["divide"]


def divide(tree: PlaceTree, vocabulary: Vocabulary, trips: Trips, *, k: int, max_suppressed: int) -> Division:
    """Find a division with a small loss; equal windows are divided alike.

    Args:
        tree: The places that there are.
        vocabulary: The window's locations.
        trips: Its trips, at least one.
        k: Fewest people of a flow that is kept.
        max_suppressed: Most trips that may be in smaller flows, unless one place for the whole window has more.
    """
    division = Division(tree, vocabulary, trips, k)
    _take_best_level(division, tree, max_suppressed)
    _improve(division, tree, max_suppressed)
    return division


def _take_best_level(division: Division, tree: PlaceTree, max_suppressed: int) -> None:
    """Try the levels from the root down to the locations; of equally good ones the coarsest is taken."""
    best_loss_m, best = division.loss_m, division.cut.copy()
    for level in range(1, tree.n_levels + 1):
        for number in sorted(division.cut):
            _split_to(level, number, division, tree)
        if division.loss_m < best_loss_m and division.n_suppressed <= max_suppressed:
            best_loss_m, best = division.loss_m, division.cut.copy()
    for number in sorted(best):
        division.apply(division.join(number))


def _split_to(level: int, number: int, division: Division, tree: PlaceTree) -> None:
    """Split a place until every part of it is at a level, or deeper where the hierarchy has no branch."""
    place = tree.places[number]
    if place.children and len(place.path) < level:
        division.apply(division.split(number))
        for child in place.children:
            _split_to(level, child, division, tree)


def _improve(division: Division, tree: PlaceTree, max_suppressed: int) -> None:
    """Split and join places until no single change lowers the loss. It ends, because the loss is a whole number."""

    def is_better(change: PlaceChange) -> bool:
        return change.gain_m > 0 and division.n_suppressed + change.newly_suppressed <= max_suppressed

    is_changed = True
    while is_changed:
        is_changed = False
        for number, place in enumerate(tree.places):  # a place comes before its children
            if number in division.cut and place.children and is_better(change := division.split(number)):
                division.apply(change)
                is_changed = True
        for number, place in reversed(list(enumerate(tree.places))):
            if (
                place.children
                and division.cut.issuperset(place.children)
                and is_better(change := division.join(number))
            ):
                division.apply(change)
                is_changed = True
