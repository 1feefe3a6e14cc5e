"""Average relative error of COUNT queries (Poulis et al. 2014, Section 5, Measures).

A query asks for the number of people whose trajectories contain a subtrajectory. With the release alone the answer is
estimated: a generalized location stands for exactly one of its members (Definition 5), and without further knowledge
all members are equally likely, at every visit independently. The paper gives no estimator; this is the expectation over
the random projections in which the paper mines patterns.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from core.records.arrays import IntArray
from core.support.index import Subtrajectory
from core.support.table import subtrajectories, support
from core.trajectories.trajectory import Sequences

__all__ = ["average_relative_error", "draw_queries", "expected_count"]


def draw_queries(trajectories: Sequences, rng: np.random.Generator, *, n: int, largest: int = 2) -> list[Subtrajectory]:
    """Draw a workload of COUNT queries.

    The paper draws "randomly selected subtrajectories with size in [1, 2]". Here first a size is drawn uniformly,
    then one of the distinct subtrajectories of that size in the original, also uniformly. Drawn from all sizes at once,
    nearly all queries would have the largest size. Queries may repeat. No query has the answer 0.

    Args:
        trajectories: The originals.
        rng: The only source of randomness.
        n: Number of queries.
        largest: Largest size, at least 1; sizes that do not occur are left out.

    Returns:
        ``n`` subtrajectories; none if the originals have no visits.
    """
    tables = [subtrajectories(trajectories, size).locations for size in range(1, largest + 1)]
    tables = [table for table in tables if len(table)]
    if not tables:
        return []
    drawn = [tables[i] for i in rng.integers(0, len(tables), n).tolist()]
    return [tuple(table[rng.integers(0, len(table))].tolist()) for table in drawn]


def average_relative_error(
    trajectories: Sequences, released: Sequences, group_of: IntArray, queries: Sequence[Subtrajectory]
) -> float:
    """Mean relative error of the answers that a release gives to COUNT queries.

    ``ARE = avg{|sup(q, T) - est(q, T')| / sup(q, T)}`` over the queries q, where ``est`` is
    :func:`expected_count`. Suppressed visits are not counted.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        released: Their release, over generalized locations.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        queries: Subtrajectories that occur in the originals.

    Returns:
        The error, at least 0; NaN if there are no queries.
    """
    errors: list[float] = []
    for query in queries:
        answer = support(query, trajectories)
        errors.append(abs(answer - expected_count(query, released, group_of)) / answer)
    return float(np.mean(errors)) if errors else float("nan")


def expected_count(query: Sequence[int], released: Sequences, group_of: IntArray) -> float:
    """Expected number of people whose trajectories contain a subtrajectory, given the release.

    Every visit to a generalized location is one of its ``v`` members with probability ``1 / v``, independently. A
    trajectory contains the query if its visits, in order, match the query's locations one after the other. The
    probability ``p_i`` that the first ``i`` are matched is updated at every visit:
    ``p_i += p_{i-1} / v - (p_i / v if the next location may be matched, else 0)``.
    A person counts once: the probability that none of their trajectories contains it is a product.

    Args:
        query: Location ids, ``j >= 1`` of them.
        released: The generalized dataset.
        group_of: Generalized location of each location, shape ``(L,)``.

    Returns:
        The expected support, in ``0..n_users``.
    """
    wanted = group_of[np.array(query)]  # (j,)
    at = np.flatnonzero(np.isin(released.locations, wanted))  # (r,) visits that may be one of the query's
    owner, number = np.unique(np.searchsorted(released.starts, at, side="right") - 1, return_inverse=True)
    turn = np.arange(len(at)) - np.searchsorted(number, number)  # (r,) rank among such visits of its trajectory
    chance = 1.0 / np.bincount(group_of)[released.locations[at]]  # (r,)
    may_be = wanted == released.locations[at][:, None]  # (r, j)
    met = np.zeros((len(owner), len(query) + 1))  # (t, j + 1) probability that the first i are matched
    met[:, 0] = 1.0
    by_turn = np.argsort(turn, kind="stable")
    for visits in np.split(by_turn, np.flatnonzero(np.diff(turn[by_turn])) + 1):
        step = met[number[visits], :-1] * may_be[visits] * chance[visits, None]
        met[number[visits], 1:] += step
        met[number[visits], :-1] -= step
    missed = np.ones(released.n_users)
    np.multiply.at(missed, released.users[owner], 1.0 - met[:, -1])
    return float((1.0 - missed).sum())
