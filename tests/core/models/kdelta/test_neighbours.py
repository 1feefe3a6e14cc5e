"""Steps after clustering: the cheapest come first, and every step that may be taken keeps what clustering ensured."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.oracles.tracks import distances_mm
from core.models.kdelta.anonymize.cluster.chunks import Block, chunk_of
from core.models.kdelta.anonymize.cluster.neighbours import TRASH, ClusterStep, Neighbours
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.records.arrays import IntArray
from core.trajectories.trajectory import Demands, PointTrajectories

CHANCE = st.randoms(use_true_random=True)
RADIUS = 400_000


def walkers(chance: Random, n: int) -> Block:
    """People who walk east, each with a way and times of their own."""
    t_ms, xy_m, starts = list[int](), list[tuple[float, float]](), [0]
    for _ in range(n):
        first, y = chance.randrange(3), chance.uniform(0, 500)
        for at in range(first, first + chance.randint(1, 5)):
            t_ms.append(60_000 * at)
            xy_m.append((80.0 * at, y))
        starts.append(len(t_ms))
    users = np.sort(np.array([chance.randrange(n) for _ in range(n)]))
    trajectories = PointTrajectories(
        users=np.unique(users, return_inverse=True)[1],
        starts=np.array(starts),
        t_ms=np.array(t_ms),
        xy_m=np.array(xy_m),
    )
    return chunk_of(trajectories, np.arange(n), lambda some: Lstd(some, tolerance_s=60.0))


def is_allowed(block: Block, demands: Demands, members: Sequence[int]) -> bool:
    """Whether a cluster has the users that its members demand, and a pivot near all of them."""
    users = {int(block.trajectories.users[i]) for i in members}
    near = any(
        all(one == i or block.distances.between(one, np.array([i]))[0] <= RADIUS for i in members) for one in members
    )
    return bool(members) and len(users) >= max(demands.k[list(members)]) and near


def clustered(block: Block, demands: Demands, chance: Random) -> tuple[IntArray, IntArray] | None:
    """Clusters of any members, as far as they are allowed; the others are trash."""
    n = len(block.members)
    drawn = [chance.randrange(-1, 4) for _ in range(n)]
    cluster, pivots = np.full(n, TRASH), list[int]()
    for c in range(4):
        members = [i for i in range(n) if drawn[i] == c]
        pivot = next((p for p in members if (block.distances.between(p, np.array(members)) <= RADIUS).all()), None)
        if pivot is not None and is_allowed(block, demands, members):
            cluster[members] = len(pivots)
            pivots.append(pivot)
    return (cluster, np.array(pivots)) if pivots else None


def after(cluster: IntArray, step: ClusterStep) -> IntArray:
    """Clusters after a step."""
    changed = cluster.copy()
    for i, to in step:
        changed[i] = to
    return changed


@given(CHANCE)
def test_steps_come_by_what_they_add_to_the_distances(chance: Random) -> None:
    """
    The sum of distances inside clusters, each divided by the size, measured anew after each step.
    """
    block = walkers(chance, 14)
    demands = Demands.alike(14, k=2, delta_m=300.0)
    if (drawn := clustered(block, demands, chance)) is None:
        return
    cluster, pivots = drawn
    neighbours = Neighbours(block, demands, cluster, pivots, RADIUS)

    everybody = np.arange(14)
    apart_mm = distances_mm(neighbours.tracks, everybody, everybody)

    def objective(clusters: IntArray) -> float:
        inside = [np.flatnonzero(clusters == c) for c in range(len(pivots))]
        return sum(float(apart_mm[np.ix_(members, members)].sum()) / 2 / max(len(members), 1) for members in inside)

    for c in range(len(pivots)):
        leaving = [i for i in neighbours.members[c] if chance.random() < 0.7]
        for steps in (neighbours.exchanges(c, leaving), neighbours.suppressions(c, leaving)):
            costs = [objective(after(cluster, step)) for step in steps]
            assert np.allclose(costs, sorted(costs), rtol=0, atol=1e-3)


@given(CHANCE)
def test_a_step_that_may_be_taken_keeps_the_clusters_allowed(chance: Random) -> None:
    """
    Users, demands and radius, step after step; pivots stay members.
    """
    block = walkers(chance, 14)
    demands = Demands(k=np.array([chance.choice([2, 2, 3]) for _ in range(14)]), delta_m=np.full(14, 300.0))
    if (drawn := clustered(block, demands, chance)) is None:
        return
    neighbours = Neighbours(block, demands, *drawn, RADIUS)
    for _ in range(10):
        c = chance.randrange(len(neighbours.members))
        leaving = list(neighbours.members[c])
        steps = [*neighbours.exchanges(c, leaving), *neighbours.suppressions(c, leaving)]
        for i in np.flatnonzero(neighbours.cluster < 0).tolist():
            steps += neighbours.places_for(i)
        allowed = [step for step in steps if neighbours.may(step)]
        if not allowed:
            continue
        neighbours.take(chance.choice(allowed))
        for number, members in enumerate(neighbours.members):
            assert members == np.flatnonzero(neighbours.cluster == number).tolist()
            assert is_allowed(block, demands, members)
            assert neighbours.pivots[number] in members
