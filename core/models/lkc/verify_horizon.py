"""Check of LKC-privacy over a horizon: the rules of :class:`core.models.lkc.guarantee.LKCPrivacy`.

Shares no code with any anonymizer, by intent: a mistake there must not be repeated here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import NamedTuple

import msgspec
import numpy as np

from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.verify import Pair, matching_trajectories
from core.windows.history import History, Roster

__all__ = ["HorizonReport", "Signed", "verify_horizon"]

_Names = tuple[str | None, ...]


class Signed(NamedTuple):
    """What is published of a released person's values, and what is true."""

    user: int
    """Keyed hash, as in rosters."""

    carried: Collection[str]
    """The person's sensitive values."""

    signature: _Names
    """Names of the entries that are published; None for no sensitive value."""

    entry: int
    """Index of the entry that is meant to be true; 0 of an empty signature."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HorizonReport:
    """What the check found."""

    highest_confidence: float
    """Largest share of a sensitive value among the matches of a sequence of at most l pairs, each entry of a signature
    taken for equally likely; 0 if nobody has a signature with a value."""

    too_sure: int
    """Distinct sequences of at most l pairs for which such a share exceeds c."""

    too_short: int
    """Distinct signatures of which one value is a share above c."""

    unequal: int
    """Distinct signatures with entries that are true of more people than others."""

    untrue: int
    """People of whom their entry is not true, who are released twice, or whose value nobody hides."""

    changed: int
    """People with another signature than in an earlier window, or counted for another entry without a change."""

    @property
    def holds(self) -> bool:
        """Whether the promise over the horizon holds."""
        return self.too_sure == self.too_short == self.unequal == self.untrue == self.changed == 0


def verify_horizon(
    people: Sequence[Signed], trajectories: Sequence[Sequence[Pair]], guarantee: LKCPrivacy, history: History
) -> HorizonReport:
    """Check the signatures of a release against one another, its trajectories, and the earlier windows.

    Args:
        people: The person of each trajectory.
        trajectories: Pairs as they would be published.
        guarantee: l, c and the horizon; k is not looked at.
        history: What the earlier windows of the horizon released.

    Raises:
        ValueError: The numbers of people and trajectories differ.
    """
    if len(people) != len(trajectories):
        raise ValueError(f"{len(people)} people for {len(trajectories)} trajectories: there must be one for each")
    c = Fraction(str(guarantee.c))
    signatures = {one.signature for one in people}
    often = Counter(one.user for one in people)
    held = Counter((one.signature, one.entry) for one in people)
    highest, too_sure = _confidence([one.signature for one in people], trajectories, guarantee.l, c)
    earlier = _Earlier(history, often)
    return HorizonReport(
        highest_confidence=highest,
        too_sure=too_sure,
        too_short=sum(any(share > c for share in _shares(signature).values()) for signature in signatures),
        unequal=sum(len({held[signature, i] for i in range(len(signature))}) > 1 for signature in signatures),
        untrue=sum(often[one.user] > 1 or not _is_true(one) for one in people),
        changed=sum(not earlier.allows(one) for one in people),
    )


def _shares(signature: _Names) -> dict[str, Fraction]:
    """Return the share of each value in a signature."""
    return {name: Fraction(signature.count(name), len(signature)) for name in signature if name is not None}


def _is_true(one: Signed) -> bool:
    if not one.signature:
        return not one.carried
    if not 0 <= one.entry < len(one.signature):
        return False
    name = one.signature[one.entry]
    return not one.carried if name is None else name in one.carried


def _confidence(
    signatures: Sequence[_Names], trajectories: Sequence[Sequence[Pair]], most_known: int, c: Fraction
) -> tuple[float, int]:
    """Return the largest share of a value among the matches of a sequence, and how many sequences exceed c."""
    unit = lcm(*(len(signature) for signature in signatures if signature))  # to count in whole numbers
    weights = [
        {name: signature.count(name) * unit // len(signature) for name in signature if name is not None}
        for signature in signatures
    ]
    highest, too_sure = Fraction(0), 0
    for matching in matching_trajectories(trajectories, most_known):
        total: Counter[str] = Counter()
        for i in matching:
            total.update(weights[i])
        share = Fraction(max(total.values(), default=0), unit * len(matching))
        highest = max(highest, share)
        too_sure += share > c
    return float(highest), too_sure


class _Earlier:
    """What earlier windows say of the people of a release."""

    def __init__(self, history: History, users: Collection[int]) -> None:
        self._signatures: defaultdict[int, set[_Names | None]] = defaultdict(set)
        self._latest: dict[int, set[int]] = {}
        """The entries of each person in the latest window with the person."""
        wanted = np.array(sorted(users), np.uint64)
        for roster in sorted(history.rosters, key=lambda one: one.key.start_ms):
            entries: defaultdict[int, set[int]] = defaultdict(set)
            for user, signature, entry in _entries(roster, wanted):
                self._signatures[user].add(signature)
                entries[user].add(entry)
            self._latest.update(entries)

    def allows(self, one: Signed) -> bool:
        """Return whether a person may be released like this."""
        if one.user not in self._signatures:
            return True
        if self._signatures[one.user] != {one.signature}:
            return False
        latest = self._latest[one.user]
        if not one.signature or one.entry in latest:
            return True
        # Another entry is that of another value.
        return one.signature[one.entry] not in {one.signature[entry] for entry in latest}


def _entries(
    roster: Roster, users: np.ndarray[tuple[int], np.dtype[np.uint64]]
) -> Iterator[tuple[int, _Names | None, int]]:
    """Yield the entries of a roster about some people: keyed hash, signature, which of its entries."""
    labels = [_label(text) for text in roster.labels]
    about = np.isin(roster.users, users)
    for user, group in zip(roster.users[about].tolist(), roster.groups[about].tolist(), strict=True):
        signature, entry = labels[group] if group < len(labels) else (None, 0)
        yield user, signature, entry


def _label(text: str) -> tuple[_Names | None, int]:
    """Read a label; no release can agree with one that cannot be read."""
    try:
        return msgspec.json.decode(text, type=tuple[tuple[str | None, ...], int])
    except msgspec.DecodeError:
        return None, 0
