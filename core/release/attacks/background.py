"""Attacks with background knowledge on any data set of people's visits (Pellungrini et al. 2017, Section 4).

An adversary knows some of a person's visits, or something of them, and takes everybody in the data set who fits. The
risk of a person is the highest probability of picking the person, over everything of that kind that may be known:
``risk(u) = max over instances b of u's knowledge of 1 / |{v : b fits v}|``. An instance is any ``length`` visits of the
person, or all of them if there are fewer.

Unlike :mod:`core.release.attacks.risk`, nothing is drawn, everybody is attacked, and true and attacked data are the
same: the raw feed by itself, or a release by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

import numpy as np

from core.records.arrays import FloatArray, distinct, ranges
from core.records.by_user import same_as_before, starts_of_users
from core.support.table import subtrajectories, supporters
from core.trajectories.trajectory import Sequences

__all__ = [
    "MOST_INSTANCES",
    "CompanionsError",
    "TooManyInstancesError",
    "check_instances",
    "companions",
    "distinct_visits",
    "in_order_of_place",
    "sequence_risks",
    "uniqueness_risks",
]

MOST_INSTANCES = 30_000_000
"""Most instances of knowledge that an attack enumerates: some minutes, and a few gigabytes."""


class TooManyInstancesError(Exception):
    """The people of a data set have too many visits for an attack; the message says what to do."""


class CompanionsError(TooManyInstancesError):
    """Too many people were at the same places at the same times."""


def sequence_risks(visits: Sequences, length: int) -> FloatArray:
    """Return the risk of each person if visits and their order are known (location sequence attack).

    A person fits if the person's visits contain the known ones in their order, gaps allowed.

    Args:
        visits: One trajectory for each person.
        length: Number of known visits, at least 1.

    Returns:
        Shape ``(n_users,)``; 0 for a person without visits.

    Raises:
        TooManyInstancesError: There are too many combinations.
        ValueError: A person has several trajectories.
    """
    if len(visits.users) != visits.n_users:
        raise ValueError("a person has several trajectories: join them first")
    sizes = np.diff(visits.starts)
    # Of each person, every earliest embedding of all but the last location is extended by every later visit.
    different = np.diff(distinct_visits(visits).starts)
    check_instances(
        [min(comb(n, length), d ** (length - 1) * n) for n, d in zip(sizes.tolist(), different.tolist(), strict=True)]
    )
    table = subtrajectories(visits, length)
    risks = np.zeros(visits.n_users)
    np.maximum.at(risks, table.users, np.repeat(1 / table.supports, table.supports))
    for user in np.flatnonzero((sizes < length) & (sizes > 0)).tolist():
        everything = visits.locations[visits.starts[user] : visits.starts[user + 1]].tolist()
        risks[user] = 1 / len(supporters(everything, visits))
    return risks


def in_order_of_place(visits: Sequences) -> Sequences:
    """Return the visits of each trajectory in the order of their ids, so that order reveals nothing.

    Known visits are then contained, in order, in those of everybody who made each of them at least as often: with
    these, :func:`sequence_risks` is the location attack. With ids of places and times it is the location-time attack.
    """
    trajectory = np.repeat(np.arange(len(visits.users)), np.diff(visits.starts))
    order = np.lexsort((visits.locations, trajectory))
    return Sequences(users=visits.users, starts=visits.starts, locations=visits.locations[order])


def distinct_visits(visits: Sequences) -> Sequences:
    """Return each visit of a person once, in the order of ids: the unique location attack is their sequence attack."""
    ordered = in_order_of_place(visits)
    again = same_as_before(ordered.owners, ordered.locations)
    return ordered.where(~again)


def uniqueness_risks(
    visits: Sequences, points: int, generator: np.random.Generator, *, draws: int = 10
) -> tuple[FloatArray, FloatArray]:
    """Return how well random points of a person single the person out (de Montjoye et al. 2013).

    Args:
        visits: One trajectory for each person; an id stands for a place and a time.
        points: Number of distinct points that are drawn of each person; all of them if there are fewer.
        generator: Draws them.
        draws: How often they are drawn.

    Returns:
        For each person the mean, over the draws, of one over the number of people who have all points; and the share of
        draws in which nobody else has them. Shapes ``(n_users,)``; 0 for a person without visits.
    """
    held = distinct_visits(visits)
    owner = held.owners
    order = np.argsort(held.locations, kind="stable")
    ids, firsts = np.unique(held.locations[order], return_index=True)
    people = dict(zip(ids.tolist(), np.split(owner[order], firsts[1:]), strict=True)) if len(ids) else {}
    means, unique = np.zeros((2, visits.n_users))
    for user, start, end in zip(held.users.tolist(), held.starts[:-1].tolist(), held.starts[1:].tolist(), strict=True):
        if start == end:
            continue
        for _ in range(draws):
            drawn = held.locations[generator.choice(np.arange(start, end), min(points, end - start), replace=False)]
            fitting = sorted((people[point] for point in drawn.tolist()), key=len)
            found = fitting[0]
            for other in fitting[1:]:
                found = found[np.isin(found, other, assume_unique=True)]
            means[user] += 1 / len(found) / draws
            unique[user] += (len(found) == 1) / draws
    return means, unique


def companions(visits: Sequences, *, most_pairs: int = MOST_INSTANCES) -> Sequences:
    """Return whom each person met: the people who were at the same place at the same time, each once.

    With these, :func:`sequence_risks` is an attack by co-location: the adversary knows some people whom the person met,
    but neither where nor when, and takes everybody who met all of them (compare Olteanu et al. 2017).

    Args:
        visits: One trajectory for each person; an id stands for a place and a time.
        most_pairs: Most meetings, so that memory is bounded.

    Returns:
        One trajectory for each person: numbers of people, ascending.

    Raises:
        CompanionsError: There are too many meetings.
    """
    held = distinct_visits(visits)
    owner = held.owners
    order = np.lexsort((owner, held.locations))
    owner, point = owner[order], held.locations[order]
    starts = starts_of_users(point)
    sizes = np.diff(starts)
    if (n_pairs := int((sizes * sizes).sum())) > most_pairs:
        raise CompanionsError(
            f"the attack would list {n_pairs:,} meetings of two people, more than {most_pairs:,}: "
            "cut the data into windows, or use smaller cells or shorter time slots"
        )
    group = np.repeat(np.arange(len(sizes)), sizes)
    one = np.repeat(owner, sizes[group])
    other = owner[ranges(starts[:-1][group], sizes[group])]
    n = max(visits.n_users, 1)
    pairs = distinct((one * n + other)[one != other])
    return Sequences(
        users=np.arange(visits.n_users),
        starts=np.searchsorted(pairs // n, np.arange(visits.n_users + 1)).astype(np.int64),
        locations=pairs % n,
    )


def check_instances(instances: Sequence[int], *, most: int = MOST_INSTANCES) -> None:
    """Refuse an attack that would take too long.

    Args:
        instances: Number of instances of each person.
        most: Most instances of all people together.

    Raises:
        TooManyInstancesError: There are more.
    """
    if (total := sum(instances)) > most:
        raise TooManyInstancesError(
            f"the attack would try {total:,} combinations of visits, more than {most:,}: "
            "cut the data into windows, use larger cells, or assume fewer known visits"
        )
