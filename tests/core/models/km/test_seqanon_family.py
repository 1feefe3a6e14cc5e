"""SD-SeqAnon and U-SeqAnon against their pseudo-code and definitions, and all three on windows made to break them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from core.models.common.verify_constraints import verify_constraints
from core.models.km.anonymize.seqanon import Generalization, sd_seqanon, seqanon, u_seqanon
from core.models.km.guarantee import KmAnonymity
from core.models.km.verify import verify_km
from core.places.taxonomy import LocationTree
from core.trajectories.assemble import assemble_sequences
from tests.budgets import examples
from tests.builders.windows import VENUES, limits, visits
from tests.oracles import km as oracles
from tests.oracles.km import Crowd, Point, as_sequences, crowds, maps, positions, released

Paths = list[tuple[str, ...]]

KS = st.integers(2, 4)
MS = st.integers(1, 4)
CROWDS = crowds(max_users=7, max_pieces=2)
PERCENTS = st.sampled_from([0, 5, 17, 34, 50, 67, 100])


def taxonomies(*, n_locations: int = 6) -> st.SearchStrategy[Paths]:
    """Draw paths in a small tree; some locations stand at inner nodes, some at the root."""
    path = st.lists(st.sampled_from("ab"), max_size=3).map(tuple)
    return st.lists(path, min_size=n_locations, max_size=n_locations)


def partitions(*, n_locations: int = 6) -> st.SearchStrategy[list[int]]:
    """Draw the constraint of each location, of at most three."""
    return st.lists(st.integers(0, 2), min_size=n_locations, max_size=n_locations)


def sd(crowd: Crowd, points: list[Point], paths: Sequence[tuple[str, ...]], k: int, m: int) -> Generalization:
    return sd_seqanon(as_sequences(crowd), positions(points), KmAnonymity(k=k, m=m), LocationTree(paths))


def u(
    crowd: Crowd, points: list[Point], constraint_of: list[int], k: int, m: int, percent: float
) -> Generalization | None:
    return u_seqanon(
        as_sequences(crowd),
        positions(points),
        KmAnonymity(k=k, m=m),
        np.array(constraint_of),
        max_suppressed_percent=percent,
    )


def u_surely(crowd: Crowd, points: list[Point], constraint_of: list[int], k: int, m: int) -> Generalization:
    """With the whole budget there is always a result."""
    result = u(crowd, points, constraint_of, k, m, 100)
    assert result is not None
    return result


def plain(crowd: Crowd, points: list[Point], k: int, m: int) -> Generalization:
    return seqanon(as_sequences(crowd), positions(points), KmAnonymity(k=k, m=m))


def same(one: Generalization, other: Generalization) -> bool:
    return np.array_equal(one.group_of, other.group_of) and np.array_equal(one.kept, other.kept)


# ---------------------------------------------------------------- the published algorithms


@settings(max_examples=examples(100))
@given(crowd=CROWDS, points=maps(), paths=taxonomies(), k=KS, m=st.integers(1, 3))
def test_sd_seqanon_is_the_published_algorithm_wherever_that_ends(
    crowd: Crowd, points: list[Point], paths: Paths, k: int, m: int
) -> None:
    """
    Where the pseudo-code ends, the same locations are merged and nothing is suppressed; where it would never end,
    something is.
    """
    literal = oracles.literal_sd_seqanon(crowd, points, paths, k, m)
    result = sd(crowd, points, paths, k, m)
    if literal is None:
        assert not result.kept.all()
    else:
        assert result.group_of.tolist() == literal
        assert result.kept.all()


@settings(max_examples=examples(100))
@given(crowd=CROWDS, points=maps(), constraint_of=partitions(), k=KS, m=st.integers(1, 3), percent=PERCENTS)
def test_u_seqanon_is_the_published_algorithm_on_what_the_cut_leaves(
    crowd: Crowd, points: list[Point], constraint_of: list[int], k: int, m: int, percent: int
) -> None:
    """
    After the cut of trajectories that no generalization could keep, the pseudo-code merges and suppresses the same,
    and gives up where we do. Where the cut takes nothing, that is the pseudo-code on the window itself.
    """
    result = u(crowd, points, constraint_of, k, m, percent)
    left = cut(crowd, k, m)
    literal = oracles.literal_u_seqanon(left, points, constraint_of, k, m, percent=100)
    assert literal is not None
    group_of, shown = literal
    within = oracles.suppressed_percent(crowd, shown, group_of) <= percent
    assert (result is not None) == within
    if left == crowd:
        exactly = oracles.literal_u_seqanon(crowd, points, constraint_of, k, m, percent=percent)
        assert (exactly is None) == (result is None)
    if result is not None:
        assert result.group_of.tolist() == group_of
        assert released(crowd, result) == shown


def cut(crowd: Crowd, k: int, m: int) -> Crowd:
    """Cut trajectories that are longer than the k-th longest, if that is below m, to their most supported visits."""
    own = [[len(t) for user, t in crowd if user == one] for one in sorted({user for user, _ in crowd})]
    longest = sorted(map(max, own), reverse=True)
    limit = longest[k - 1] if len(longest) >= k else 0
    if limit >= m:
        return crowd
    left: Crowd = []
    for user, trajectory in crowd:
        by_support = sorted(range(len(trajectory)), key=lambda i, t=trajectory: (-oracles.support([t[i]], crowd), i))  # type: ignore[misc]
        kept = set(by_support[:limit])
        left.append((user, tuple(x for i, x in enumerate(trajectory) if i in kept)))
    return left


@settings(max_examples=examples(100))
@given(crowd=CROWDS, points=maps(), paths=taxonomies(), constraint_of=partitions(), k=KS, m=MS)
def test_the_results_are_km_anonymous(
    crowd: Crowd, points: list[Point], paths: Paths, constraint_of: list[int], k: int, m: int
) -> None:
    """
    Every subtrajectory of at most m locations that is left has k supporters, several trajectories a person or not.
    """
    for result in (
        plain(crowd, points, k, m),
        sd(crowd, points, paths, k, m),
        u_surely(crowd, points, constraint_of, k, m),
    ):
        assert oracles.is_km_anonymous(released(crowd, result), k, m)


@settings(max_examples=examples(100))
@given(crowd=CROWDS, points=maps(), constraint_of=partitions(), k=KS, m=MS, percent=PERCENTS)
def test_u_seqanon_satisfies_the_constraints_or_gives_up(
    crowd: Crowd, points: list[Point], constraint_of: list[int], k: int, m: int, percent: int
) -> None:
    """
    Definition 10: no generalized location is of two constraints, and at most delta % of the locations are suppressed.
    """
    result = u(crowd, points, constraint_of, k, m, percent)
    if result is None:
        assert percent < 100
        return
    left, group_of = released(crowd, result), result.group_of.tolist()
    assert oracles.constraints_hold(left, group_of, constraint_of)
    assert oracles.suppressed_percent(crowd, left, group_of) <= percent


# ---------------------------------------------------------------- how the three relate


@given(crowd=CROWDS, points=maps(), k=KS, m=MS)
def test_one_constraint_for_everything_is_seqanon(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    Problem 3 is Problem 1 with one constraint and a budget of 100 %. The cut suppresses the same too, so they agree
    everywhere.
    """
    assert same(u_surely(crowd, points, [0] * len(points), k, m), plain(crowd, points, k, m))


@given(crowd=CROWDS, points=maps(), k=KS, m=MS)
def test_a_constraint_for_each_location_generalizes_nothing(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    With nothing to merge with, infrequent locations are suppressed.
    """
    result = u_surely(crowd, points, list(range(len(points))), k, m)
    assert result.group_of.tolist() == list(range(len(points)))
    assert result.merges == 0


@pytest.mark.parametrize("path", [(), ("a",), ("a", "b")])
@given(crowd=CROWDS, points=maps(), k=KS, m=MS)
def test_a_flat_taxonomy_is_seqanon(path: tuple[str, ...], crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    Problem 2 is Problem 1 where every generalized location has the same dissimilarity.
    """
    assert same(sd(crowd, points, [path] * len(points), k, m), plain(crowd, points, k, m))


def test_meaning_outweighs_distance() -> None:
    """
    Location 0 is 10 m from a cinema, 11 m from another bakery: 10 * 4 leaves against 11 * 2.
    """
    crowd: Crowd = [(0, (0,)), *((user, (1 + user % 3,)) for user in range(1, 7))]
    points, paths = [(0, 0), (10, 0), (-11, 0), (99, 0)], [("bakery",), ("cinema",), ("bakery",), ("cinema",)]
    assert plain(crowd, points, 2, 1).group_of.tolist() == [0, 0, 2, 3]
    assert sd(crowd, points, paths, 2, 1).group_of.tolist() == [0, 1, 0, 3]
    points[2] = (-21, 0)  # 10 * 4 against 21 * 2
    assert sd(crowd, points, paths, 2, 1).group_of.tolist() == [0, 0, 2, 3]


def test_equal_costs_are_decided_by_the_smaller_id() -> None:
    """
    10 m times 4 leaves is 20 m times 2.
    """
    crowd: Crowd = [(0, (0,)), *((user, (1 + user % 3,)) for user in range(1, 7))]
    paths = [("bakery",), ("cinema",), ("bakery",), ("cinema",)]
    assert sd(crowd, [(0, 0), (10, 0), (-20, 0), (99, 0)], paths, 2, 1).group_of.tolist() == [0, 0, 2, 3]
    assert sd(crowd, [(0, 0), (-20, 0), (10, 0), (99, 0)], [paths[0], *paths[2:], paths[1]], 2, 1).group_of[0] == 0


def test_the_budget_is_a_share_of_the_locations_that_are_visited() -> None:
    """
    One of four visited locations has to go: 25 % suffices, a hair less does not. A fifth that nobody visits does not
    count.
    """
    crowd: Crowd = [(0, (0,)), *((user, (1 + user % 3,)) for user in range(1, 7))]
    points = [(x, 0) for x in range(5)]
    within = u(crowd, points, list(range(5)), 2, 1, 25)
    assert within is not None
    assert within.kept.tolist() == [False, *[True] * 6]
    assert u(crowd, points, list(range(5)), 2, 1, 24.9) is None
    assert u(crowd, points, list(range(5)), 2, 1, 0) is None
    assert u(crowd, points, [0] * 5, 2, 1, 0) is not None


def test_suppressing_a_generalized_location_suppresses_its_members() -> None:
    """
    Locations 0 and 1 are merged in vain: with m = 1 and k = 4 their three visitors are too few, and both go.
    """
    crowd: Crowd = [(0, (0,)), (1, (1,)), (2, (1,)), *((user, (2,)) for user in range(3, 8))]
    result = u(crowd, [(0, 0), (1, 0), (2, 0)], [0, 0, 1], 4, 1, 67)
    assert result is not None
    assert released(crowd, result) == [(0, ()), (1, ()), (2, ()), *((user, (2,)) for user in range(3, 8))]
    assert u(crowd, [(0, 0), (1, 0), (2, 0)], [0, 0, 1], 4, 1, 66) is None


@settings(max_examples=examples(100))
@example(n_visited=19, n_gone=5, percent=0.0)
@given(n_visited=st.integers(1, 60), n_gone=st.integers(0, 60), percent=st.floats(0, 100))
def test_what_the_budget_allows_the_verifier_allows(n_visited: int, n_gone: int, percent: float) -> None:
    """
    A rounding must not turn a window that is within its budget into a refused release, nor a share that is exact
    into one too many.
    """
    n_gone = min(n_gone, n_visited)
    exactly = 100 * n_gone / n_visited
    for share in (percent, exactly, max(0.0, exactly - 2e-8)):
        # One visitor each where k = 2 asks for more, or two of them.
        crowd: Crowd = [(x, (x,)) for x in range(n_visited)]
        crowd += [(60 + x, (x,)) for x in range(n_gone, n_visited)]
        result = u(crowd, [(0, 0)] * n_visited, list(range(n_visited)), 2, 1, share)
        shown = [[str(x)] for x in range(n_gone, n_visited)]
        names = [str(x) for x in range(n_visited)]
        report = verify_constraints([shown], names, dict(zip(names, names, strict=True)), budget_percent=share)
        if result is not None:
            assert report.holds
        if share == exactly:
            assert result is not None
        if report.suppressed_percent < share:
            assert result is not None


@given(crowd=CROWDS, points=maps(), paths=taxonomies(), constraint_of=partitions(), k=KS, m=MS, seed=st.integers(0, 99))
def test_the_order_of_people_changes_nothing(
    crowd: Crowd, points: list[Point], paths: Paths, constraint_of: list[int], k: int, m: int, seed: int
) -> None:
    """
    Renumbering the people and reordering their trajectories merges and suppresses the same.
    """
    n_users = 1 + max((user for user, _ in crowd), default=-1)
    renumbered = random.Random(seed).sample(range(n_users), n_users)
    order = sorted(range(len(crowd)), key=lambda i: renumbered[crowd[i][0]])
    shuffled = [(renumbered[crowd[i][0]], crowd[i][1]) for i in order]
    for before, after in (
        (sd(crowd, points, paths, k, m), sd(shuffled, points, paths, k, m)),
        (u_surely(crowd, points, constraint_of, k, m), u_surely(shuffled, points, constraint_of, k, m)),
    ):
        assert before.group_of.tolist() == after.group_of.tolist()
        trajectories = [trajectory for _, trajectory in released(crowd, before)]
        assert [trajectories[i] for i in order] == [trajectory for _, trajectory in released(shuffled, after)]


@given(crowd=CROWDS, points=maps(), paths=taxonomies(), k=KS, m=MS)
def test_merging_never_lowers_a_support(crowd: Crowd, points: list[Point], paths: Paths, k: int, m: int) -> None:
    """
    A subtrajectory that is left has at least as many supporters, generalized, as before: merging only adds some.
    """
    result = sd(crowd, points, paths, k, m)
    group_of = result.group_of.tolist()
    kept = iter(result.kept.tolist())
    remaining = [(user, tuple([x for x in trajectory if next(kept)])) for user, trajectory in crowd]
    generalized = released(crowd, result)
    for size in (1, 2):
        for part in oracles.all_subtrajectories(remaining, size):
            merged = [group_of[x] for x in part]
            assert oracles.support(merged, generalized) >= oracles.support(part, remaining)


def test_a_pair_with_a_suppressed_location_asks_for_nothing_more() -> None:
    """
    (0, 1) takes location 0 away, which is alone in its constraint; nobody supports (0, 2) any longer, so 2, which has
    fewer visitors than 0 had, is not generalized for it.
    """
    crowd: Crowd = [(0, (0, 1)), (1, (0, 2)), (2, (0,)), *((user, (1,)) for user in (3, 4, 5)), (6, (2,))]
    crowd += [(7, (3,)), (8, (3,))]
    result = u_surely(crowd, [(x, 0) for x in range(4)], [0, 1, 2, 2], 2, 2)
    assert result.group_of.tolist() == [0, 1, 2, 3]
    assert released(crowd, result)[:3] == [(0, (1,)), (1, (2,)), (2, ())]


@pytest.mark.parametrize("n", [0, 2])
def test_what_is_known_of_locations_must_be_of_these(n: int) -> None:
    """
    A taxonomy or a partition over another number of locations is refused at the door.
    """
    window, xy_m, guarantee = as_sequences([(0, (0,))]), positions([(0, 0)]), KmAnonymity(k=2, m=1)
    with pytest.raises(ValueError, match="the taxonomy has"):
        sd_seqanon(window, xy_m, guarantee, LocationTree([()] * n))
    with pytest.raises(ValueError, match="have a constraint"):
        u_seqanon(window, xy_m, guarantee, np.zeros(n, np.int64), max_suppressed_percent=100)


# ---------------------------------------------------------------- windows made to break them


def _sd(crowd: Crowd, points: list[Point], k: int, m: int) -> Generalization:
    return sd(crowd, points, [("even" if x % 2 else "odd",) for x in range(len(points))], k, m)


def _u(crowd: Crowd, points: list[Point], k: int, m: int) -> Generalization:
    return u_surely(crowd, points, [x % 2 for x in range(len(points))], k, m)


MODELS: list[Callable[[Crowd, list[Point], int, int], Generalization]] = [plain, _sd, _u]

ADVERSARIAL: dict[str, Crowd] = {
    "nobody": [],
    "somebody who was nowhere": [(0, ())],
    "one person, one place": [(0, (0,))],
    "one place, again and again": [(user, (0,) * user) for user in range(1, 6)],
    "everybody alike": [(user, (0, 1, 2, 1, 0)) for user in range(6)],
    "everybody elsewhere": [(user, (user,)) for user in range(12)],
    "everybody elsewhere, twice": [(user, (2 * user, 2 * user + 1)) for user in range(6)],
    "two crowds of opposite order": [(user, (0, 1) if user % 2 else (1, 0)) for user in range(4)],
    "one long among short ones": [(0, tuple(range(12)) * 2), *((user, (user,)) for user in range(1, 6))],
    "many pieces of one person": [*((0, (x, x + 1)) for x in range(10)), (1, (0,)), (2, (0,))],
    "a staircase": [(user, tuple(range(user + 1))) for user in range(7)],
}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_no_window_breaks_a_model(model: Callable[..., Generalization], name: str, m: int) -> None:
    """
    The result is k^m-anonymous whatever the crowd, with k below its size, equal to it, and beyond it; then all is
    suppressed. All locations in one point do no harm either.
    """
    crowd = ADVERSARIAL[name]
    crowd = [(i, t) for i, (_, t) in enumerate(crowd)] if name != "many pieces of one person" else crowd
    n_people = len({user for user, _ in crowd})
    n_locations = 1 + max((x for _, t in crowd for x in t), default=-1)
    for points in ([(x * x, 0) for x in range(n_locations)], [(0, 0)] * n_locations):
        for k in {2, 3, max(2, n_people), n_people + 2}:
            result = model(crowd, points, k, m)
            assert oracles.is_km_anonymous(released(crowd, result), k, m)
            assert k <= n_people or not result.kept.any()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("m", [1, 2, 3, 4])
def test_ten_thousand_visits_of_one_person_are_borne(model: Callable[..., Generalization], m: int) -> None:
    """
    Cut into pieces, as a window is assembled, one person stays one person: each location has others too.
    """
    rows = visits(*((0, i, i % 6) for i in range(10_000)), *((user, 7 * user, user % 6) for user in range(1, 25)))
    window = assemble_sequences(rows, VENUES, limits(points_per_user=10_000, trajectory_length=20))
    sequences = window.sequences
    assert (len(sequences.users), sequences.n_users) == (500 + 24, 25)
    bounds = zip(sequences.starts, sequences.starts[1:], strict=False)
    crowd: Crowd = [
        (int(user), tuple(sequences.locations[start:end].tolist()))
        for user, (start, end) in zip(sequences.users, bounds, strict=True)
    ]
    result = model(crowd, [(x, x) for x in range(6)], 3, m)
    assert result.kept.any()
    left = released(crowd, result)
    # The oracle would need hours for this one.
    shown = [[(str(x),) for x in trajectory] for _, trajectory in left]
    assert verify_km([user for user, _ in left], shown, KmAnonymity(k=3, m=m)).holds
