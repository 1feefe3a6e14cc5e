"""Sequences of generalized locations: the candidate and the messages of every model that releases sequences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar

from core.models.common.plan import Plan
from core.records.arrays import UserHashes
from core.records.keys import pseudonyms
from core.release.attacks.linked_places import VisitedPlaces
from core.release.locations import GENERALIZED_LOCATION
from core.release.outcome import PSEUDONYM, Released
from core.trajectories.trajectory import Sequences
from core.windows.seal import Seal

__all__ = ["PublishedSequence", "SequenceCandidate", "SequenceTrajectory", "published_sequences"]

PublishedSequence = tuple[tuple[str, ...], ...]
"""One sequence as it would be published: the members of each generalized location, in order of visit."""


@dataclass(
    slots=True, kw_only=True
)  # not frozen: a window makes tens of thousands, and frozen ones take twice the time
class SequenceTrajectory(Released):
    """One released sequence."""

    properties: ClassVar = {
        "pseudonym": PSEUDONYM,
        "locations": {
            "type": "array",
            "items": GENERALIZED_LOCATION,
            "minItems": 1,
            "description": "Generalized locations in the order of the visits.",
        },
    }

    pseudonym: str
    locations: PublishedSequence
    """Names of the members of each generalized location, in order of visit."""

    def content(self) -> dict[str, object]:
        """See :meth:`Released.content`."""
        return {"pseudonym": self.pseudonym, "locations": self.locations}


@dataclass(frozen=True, slots=True, kw_only=True)
class SequenceCandidate:
    """The sequences of a window as they would be published."""

    users: list[int] = field(repr=False)
    """User of each sequence; not published."""

    sequences: list[PublishedSequence] = field(repr=False)

    @classmethod
    def of(
        cls, sequences: Sequences, names: Mapping[int, tuple[str, ...]] | Sequence[tuple[str, ...]]
    ) -> SequenceCandidate | None:
        """Write out sequences; None if all of them are empty.

        Args:
            sequences: Released sequences over generalized locations, which may have any numbers.
            names: Names of the members of each generalized location.
        """
        users, published = published_sequences(sequences, names)
        return cls(users=users, sequences=published) if published else None

    def extract(self, hashes: UserHashes) -> VisitedPlaces:
        """Return what links the sequences to the next release; ``hashes`` are those of all users of the window."""
        return VisitedPlaces.of([(user,) for user in self.users], self.sequences, hashes)

    def messages(self, seal: Seal, plan: Plan) -> tuple[Released, ...]:
        """Return the sequences under their pseudonyms."""
        return tuple(
            SequenceTrajectory(pseudonym=pseudonym, locations=self.sequences[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(self.sequences))
        )


def published_sequences(
    sequences: Sequences, names: Mapping[int, tuple[str, ...]] | Sequence[tuple[str, ...]]
) -> tuple[list[int], list[PublishedSequence]]:
    """Return the user and the members of every sequence that is not empty.

    Args:
        sequences: Released sequences over generalized locations, which may have any numbers.
        names: Names of the members of each generalized location.
    """
    places = [names[number] for number in sequences.locations.tolist()]
    users: list[int] = []
    published: list[PublishedSequence] = []
    for user, (start, end) in zip(sequences.users.tolist(), pairwise(sequences.starts.tolist()), strict=True):
        if end > start:
            users.append(user)
            published.append(tuple(places[start:end]))
    return users, published
