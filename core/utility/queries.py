"""Average relative error of COUNT queries (Poulis et al. 2014, Section 5, Measures).

A query asks how many people's trajectories contain a subtrajectory. Who has only the release estimates the answer:
a generalized location stands for exactly one of its members (Definition 5), and with nothing else known each member is
as likely, at every visit on its own. The paper gives no estimator; this is the expectation over the same random
projections that it mines patterns in.
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

    The paper draws "randomly selected subtrajectories with size in [1, 2]". Here a size is drawn first, each as
    likely, and then one of the distinct subtrajectories of that size that occur in the original, each as likely;
    drawn together, nearly all would have the largest size. Queries may repeat. None of them has the answer 0.

    Args:
        trajectories: The originals.
        rng: All chance there is.
        n: Number of queries.
        largest: Largest size, at least 1; sizes that do not occur are left out.

    Returns:
        ``n`` subtrajectories; none where the originals hold no visit.
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
    :func:`expected_count`. A suppressed visit is not there to be counted.

    Args:
        trajectories: The originals, ``n`` trajectories with ``p`` visits.
        released: What is released of them, over generalized locations.
        group_of: Generalized location of each location, named by a member's id, shape ``(L,)``.
        queries: Subtrajectories that occur in the originals.

    Returns:
        The error, at least 0; NaN without a query.
    """
    errors: list[float] = []
    for query in queries:
        answer = support(query, trajectories)
        errors.append(abs(answer - expected_count(query, released, group_of)) / answer)
    return float(np.mean(errors)) if errors else float("nan")


def expected_count(query: Sequence[int], released: Sequences, group_of: IntArray) -> float:
    """Expected number of people whose trajectories contain a subtrajectory, by the release.

    Every visit to a generalized location is one of its ``v`` members with probability ``1 / v``, independently. A
    trajectory contains the query if the visits, taken in order, meet its locations one after the other; the
    probability of having met the first ``i`` of them is carried from visit to visit:
    ``p_i += p_{i-1} / v - (p_i / v if the next location may be met, else 0)``.
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
    turn = np.arange(len(at)) - np.searchsorted(number, number)  # (r,) which of its trajectory's such visits
    chance = 1.0 / np.bincount(group_of)[released.locations[at]]  # (r,)
    may_be = wanted == released.locations[at][:, None]  # (r, j)
    met = np.zeros((len(owner), len(query) + 1))  # (t, j + 1) probability that the first i are met
    met[:, 0] = 1.0
    by_turn = np.argsort(turn, kind="stable")
    for visits in np.split(by_turn, np.flatnonzero(np.diff(turn[by_turn])) + 1):
        step = met[number[visits], :-1] * may_be[visits] * chance[visits, None]
        met[number[visits], 1:] += step
        met[number[visits], :-1] -= step
    missed = np.ones(released.n_users)
    np.multiply.at(missed, released.users[owner], 1.0 - met[:, -1])
    return float((1.0 - missed).sum())
