"""Options and results of Rum-bound and Tum-bound, and a result as it would be published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from core.models.kkm.anonymize.merging import Merge
from core.models.kkm.attributes import Value
from core.models.kkm.signature import AttributeSignature
from core.records.arrays import BoolArray

__all__ = ["BoundNotMet", "RTCluster", "RTGroup", "RTOptions", "RTRecords", "RTResult", "published"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RTOptions:
    """How clusters are merged.

    Raises:
        ValueError: A parameter is not one of the allowed, or out of its range.
    """

    bound: Literal["ncp", "ul"] = "ncp"
    """What is bounded: ``ncp``, the loss in attributes (Rum-bound), or ``ul``, that in locations (Tum-bound)."""

    delta: float = 0.65
    """The bound, in ``0..1``, of NCP to a billionth an attribute. The default is the paper's."""

    merge: Merge = "rt"
    """By what clusters are merged: similar attributes (``r``), similar locations (``t``), or both (``rt``)."""

    distance: Literal["btd", "ul"] = "btd"
    """How similar locations are: ``btd``, by a fast distance, or ``ul``, by what generalizing them would lose."""

    n_measured: int = 5
    """For how many clusters, the best ones by BTD, ``ul`` is measured before each merge. At least 1."""

    def __post_init__(self) -> None:
        for name, value, allowed in (
            ("bound", self.bound, ("ncp", "ul")),
            ("merge", self.merge, ("r", "t", "rt")),
            ("distance", self.distance, ("btd", "ul")),
        ):
            if value not in allowed:
                raise ValueError(f"{name} is {value}: it must be one of {', '.join(allowed)}")
        if not 0 <= self.delta <= 1:
            raise ValueError(f"delta is {self.delta}: it must be in 0..1")
        if self.n_measured < 1:
            raise ValueError(f"n_measured is {self.n_measured}: it must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RTGroup:
    """People who are released with the same attributes."""

    users: tuple[int, ...]
    """Dense user numbers."""

    values: tuple[Value, ...]
    """Generalized values of all attributes, in the schema's order; no other group has the same."""

    generalized: tuple[tuple[int, ...], ...]
    """Ids of the members of each generalized location, ascending. No two of a group share a member."""

    visited: tuple[tuple[int, ...], ...]
    """Generalized locations visited by each user, as indices into ``generalized``, ascending."""

    sensitive: tuple[tuple[int, ...], ...]
    """Ids of the released sensitive locations of each user, ascending."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RTCluster:
    """A cluster before any was merged."""

    users: tuple[int, ...]
    """Dense user numbers."""

    values: tuple[Value, ...]
    """Generalized values of all attributes; those of the group that the cluster became part of contain them."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RTResult:
    """What to release, and what it lost."""

    groups: tuple[RTGroup, ...]
    """Ordered by their values. Empty where there are fewer than k people."""

    kept: BoolArray
    """False where a visit is suppressed: its location is not released for its user, shape ``(p,)``."""

    ncp: float
    """Mean NCP of the released people, in ``0..1``; 0 without any. It follows from the release alone."""

    ul: float
    """Mean UL of the released people, in ``0..1``; 0 without any. It follows from the release alone."""

    ul_bounded: float
    """Mean UL where a person whose locations are all suppressed counts 1: the loss that Tum-bound bounds."""

    clusters: tuple[RTCluster, ...]
    """Clusters before any was merged."""

    signatures: Mapping[int, AttributeSignature] | None = field(default=None, repr=False)
    """The signature of each released user. None if the promise does not span windows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundNotMet:
    """The loss cannot be kept below the bound: nothing is to be released."""

    bound: Literal["ncp", "ul"]
    reached: float
    """The loss without any merge (``ncp``), or after the last (``ul``)."""

    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RTRecords:
    """``n`` records, group by group."""

    users: tuple[int, ...] = field(repr=False)
    """User of each record; not published."""

    attributes: tuple[tuple[Value, ...], ...] = field(repr=False)
    """Generalized values."""

    locations: tuple[tuple[tuple[str, ...], ...], ...] = field(repr=False)
    """Member names of each generalized location visited."""

    sensitive: tuple[tuple[str, ...], ...] = field(repr=False)
    """Names of the sensitive locations visited."""

    signatures: tuple[AttributeSignature, ...] | None = field(default=None, repr=False)
    """Signature of each record's person; not published. None if the promise does not span windows."""


def published(result: RTResult, names: Sequence[str]) -> RTRecords:
    """Write a result out.

    Args:
        result: What to release.
        names: The public name of each location, ``L`` of them.
    """
    rows = [
        (
            user,
            group.values,
            tuple(tuple(names[x] for x in group.generalized[index]) for index in visited),
            tuple(names[x] for x in sensitive),
        )
        for group in result.groups
        for user, visited, sensitive in zip(group.users, group.visited, group.sensitive, strict=True)
    ]
    return RTRecords(
        users=tuple(row[0] for row in rows),
        attributes=tuple(row[1] for row in rows),
        locations=tuple(row[2] for row in rows),
        sensitive=tuple(row[3] for row in rows),
        signatures=None if result.signatures is None else tuple(result.signatures[row[0]] for row in rows),
    )
