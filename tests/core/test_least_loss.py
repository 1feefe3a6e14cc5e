"""least-loss against its promise, the optimum of tiny windows, and SeqAnon."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.anonymize.least_loss import LeastLossOptions, Prices, least_loss, window_loss_m
from core.anonymize.least_loss.counted import Counted
from core.anonymize.least_loss.hierarchy import hierarchy
from core.anonymize.least_loss.person import Person, bits
from core.anonymize.seqanon import Generalization, affordable_visits, seqanon
from core.guarantees import KmAnonymity
from core.places import published_sequences
from core.trajectory import FloatArray, Sequences
from core.utility.distance import location_distance
from core.verify.km import verify_km
from tests import oracles
from tests.benchmarks.inputs import grid_walks, zipf_visits
from tests.oracles import Crowd, Point, as_sequences, crowds, maps, positions, released

KS, MS = st.integers(2, 4), st.integers(1, 3)
PERCENT = st.sampled_from([0.0, 5.0, 30.0, 100.0])
OPTIONS = st.builds(
    LeastLossOptions,
    prices=st.builds(Prices, suppression=st.sampled_from([0.0, 0.5, 1.0, 4.0]), split=st.sampled_from([0.0, 1.0, 4.0])),
    max_suppressed_percent=PERCENT,
    max_split_percent=PERCENT,
)
UNLIMITED = LeastLossOptions(max_suppressed_percent=100, max_split_percent=100)
SUPPRESSION_ONLY = LeastLossOptions(prices=Prices(suppression=0.0), max_suppressed_percent=100, max_split_percent=0)


def anonymize(
    crowd: Crowd, points: list[Point], k: int, m: int, options: LeastLossOptions = UNLIMITED
) -> Generalization:
    return least_loss(as_sequences(crowd), positions(points), KmAnonymity(k=k, m=m), options)


def line(n: int) -> list[Point]:
    """Locations one metre apart."""
    return [(x, 0) for x in range(n)]


@settings(deadline=None, max_examples=300)
@given(crowd=crowds(), points=maps(), k=KS, m=MS, options=OPTIONS)
def test_the_result_is_km_anonymous(
    crowd: Crowd, points: list[Point], k: int, m: int, options: LeastLossOptions
) -> None:
    """
    At any price and with any budget every subtrajectory of at most m locations that is left has k supporters.
    """
    assert oracles.is_km_anonymous(released(crowd, anonymize(crowd, points, k, m, options)), k, m)


@settings(deadline=None, max_examples=200)
@given(crowd=crowds(), points=maps(), k=KS, m=MS, options=OPTIONS)
def test_budgets_hold(crowd: Crowd, points: list[Point], k: int, m: int, options: LeastLossOptions) -> None:
    """
    No more visits are suppressed than are allowed, or than every release has to suppress; no more splits are made.
    """
    window, result = as_sequences(crowd), anonymize(crowd, points, k, m, options)
    n_visits = len(window.locations)
    needed = int(np.count_nonzero(~affordable_visits(window, KmAnonymity(k=k, m=m))))
    allowed = max(needed, int(n_visits * options.max_suppressed_percent / 100 + 1e-9))
    assert np.count_nonzero(~result.kept) <= allowed
    assert len(result.splits) <= len(window.users) * options.max_split_percent / 100 + 1e-9
    inside = set(range(n_visits)) - set(window.starts.tolist())
    assert set(result.splits.tolist()) <= inside
    assert result.splits.tolist() == sorted(set(result.splits.tolist()))


@settings(deadline=None)
@given(crowd=crowds(), points=maps(), k=KS, m=MS, options=OPTIONS)
def test_a_generalized_location_is_named_by_its_smallest_member(
    crowd: Crowd, points: list[Point], k: int, m: int, options: LeastLossOptions
) -> None:
    """
    group_of is a partition named by smallest ids; each merge joins two; what no kept visit uses stands alone.
    """
    result = anonymize(crowd, points, k, m, options)
    group_of = result.group_of.tolist()
    assert all(group == group_of.index(group) <= location for location, group in enumerate(group_of))
    assert result.merges == len(points) - len(set(group_of))
    left = set(as_sequences(crowd).locations[result.kept].tolist())
    assert all(group_of.count(x) == 1 for x in range(len(points)) if x not in left)


@settings(deadline=None, max_examples=50)
@given(crowd=crowds(), points=maps(), k=KS, m=MS)
def test_the_same_window_gives_the_same_result(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    A replay releases the same.
    """
    once, again = anonymize(crowd, points, k, m), anonymize(crowd, points, k, m)
    assert (once.group_of == again.group_of).all()
    assert (once.kept == again.kept).all()
    assert once.splits.tolist() == again.splits.tolist()


@settings(deadline=None, max_examples=200)
@given(crowd=crowds(max_users=8), points=maps(), k=KS, m=MS)
def test_a_little_window_never_loses_more_than_under_seqanon(crowd: Crowd, points: list[Point], k: int, m: int) -> None:
    """
    By the loss that both are weighed by, with the default budgets.
    """
    window, xy_m, guarantee = as_sequences(crowd), positions(points), KmAnonymity(k=k, m=m)
    if len(window.locations):
        theirs = window_loss_m(window, xy_m, seqanon(window, xy_m, guarantee), Prices())
        ours = window_loss_m(window, xy_m, least_loss(window, xy_m, guarantee, LeastLossOptions()), Prices())
        assert ours <= theirs + 1e-9


# ------------------------------------------------------------------ the optimum of tiny windows


def partitions(locations: list[int]) -> Iterator[list[list[int]]]:
    if not locations:
        yield []
        return
    first, *rest = locations
    for groups in partitions(rest):
        yield [[first], *groups]
        for i, group in enumerate(groups):
            yield [*groups[:i], [first, *group], *groups[i + 1 :]]


def moved(points: list[Point], groups: list[list[int]]) -> dict[int, float]:
    """D_loc of every location."""
    return {
        x: sum(((points[x][0] - points[y][0]) ** 2 + (points[x][1] - points[y][1]) ** 2) ** 0.5 for y in group)
        / len(group)
        for group in groups
        for x in group
    }


def least_loss_by_trying_all(crowd: Crowd, points: list[Point], k: int, m: int) -> float:
    """Weigh every partition, every set of visits and every set of splits, the cheapest first."""
    visits = [(user, x, at) for user, trajectory in crowd for at, x in enumerate(trajectory)]
    locations = [x for _, x, _ in visits]
    whole = moved(points, [sorted(set(locations))])
    price = sum(whole[x] for x in locations) / len(visits) or 1.0
    gaps = [i for i, (_, _, at) in enumerate(visits) if at > 0]
    ways = []
    for keep in product((False, True), repeat=len(visits)):
        left = [x for x, is_kept in zip(locations, keep, strict=True) if is_kept]
        for groups in partitions(sorted(set(left))):
            of = moved(points, groups)
            ways.append((price * (len(visits) - len(left)) + sum(of[x] for x in left), keep, groups))
    best = float("inf")
    for loss, keep, groups in sorted(ways, key=lambda way: way[0]):
        if loss >= best:
            break
        name = {x: number for number, group in enumerate(groups) for x in group}
        for n_splits in range(len(gaps) + 1):
            if loss + n_splits * price >= best:
                break
            for splits in combinations(gaps, n_splits):
                pieces: list[tuple[int, tuple[int, ...]]] = []
                for i, ((user, x, at), is_kept) in enumerate(zip(visits, keep, strict=True)):
                    if at == 0 or i in splits:
                        pieces.append((user, ()))
                    if is_kept:
                        pieces[-1] = (user, (*pieces[-1][1], name[x]))
                if oracles.is_km_anonymous(pieces, k, m):
                    best = loss + n_splits * price
                    break
    return best / len(visits)


def test_tiny_windows_lose_little_more_than_they_have_to() -> None:
    """
    Over 500 drawn windows, the mean loss is within 1.5 times the optimum of all merges, suppressions and splits.
    """
    ours, optimum = [], []
    for seed in range(500):
        rng = random.Random(seed)
        points = [(rng.randint(0, 9), rng.randint(0, 9)) for _ in range(4)]
        crowd: Crowd = [(user, tuple(rng.choices(range(4), k=rng.randint(1, 2)))) for user in range(rng.randint(3, 5))]
        k, m = rng.choice((2, 2, 3)), rng.choice((1, 2, 2))
        window, xy_m = as_sequences(crowd), positions(points)
        ours.append(window_loss_m(window, xy_m, anonymize(crowd, points, k, m), Prices()))
        optimum.append(least_loss_by_trying_all(crowd, points, k, m))
        assert ours[-1] >= optimum[-1] - 1e-9
    assert sum(ours) <= 1.5 * sum(optimum)


# ------------------------------------------------------------------ larger windows


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize(
    "crowd", [grid_walks(2_000), zipf_visits(3_000, n_locations=120)], ids=lambda crowd: crowd.name
)
def test_a_larger_window_loses_less_than_by_merging_or_suppressing_alone(crowd: object, m: int) -> None:
    """
    With budgets that allow both; and each of the three is verified.
    """
    window: Sequences = crowd.sequences  # type: ignore[attr-defined]
    xy_m: FloatArray = crowd.xy_m  # type: ignore[attr-defined]
    guarantee = KmAnonymity(k=5, m=m)
    results = [
        least_loss(window, xy_m, guarantee, UNLIMITED),
        seqanon(window, xy_m, guarantee),
        least_loss(window, xy_m, guarantee, SUPPRESSION_ONLY),
    ]
    for result in results:
        users, published = published_sequences(result.released(window), [(str(x),) for x in range(len(xy_m))])
        assert verify_km(users, published, guarantee).holds
    ours, merged, suppressed = (window_loss_m(window, xy_m, result, Prices()) for result in results)
    assert ours < merged
    assert ours < suppressed


def test_whom_a_split_helps() -> None:
    """
    Five people go from a to b and one from b to a: to split the one's trajectory is all that two locations a
    kilometre apart need.
    """
    crowd: Crowd = [*((user, (0, 1)) for user in range(5)), (5, (1, 0))]
    options = LeastLossOptions(prices=Prices(split=0.5), max_suppressed_percent=100, max_split_percent=100)
    result = anonymize(crowd, [(0, 0), (1000, 0)], 3, 2, options)
    assert result.kept.all()
    assert result.splits.tolist() == [11]
    assert result.released(as_sequences(crowd)).users.tolist() == [0, 1, 2, 3, 4, 5, 5]


@pytest.mark.parametrize(
    ("crowd", "points", "k"),
    [
        ([], line(2), 2),
        ([(0, (0, 1)), (1, (0, 1))], line(2), 3),
        ([(0, (0,) * 9), (1, (0,)), (2, (0,))], line(1), 3),
        ([(0, (0, 1)), (1, (1, 0)), (2, (2,))], [(0, 0)] * 3, 2),
        ([(0, ()), (0, (0,)), (1, (0,)), (1, ())], line(1), 2),
    ],
    ids=["nobody", "too few", "one location", "all in one place", "empty trajectories"],
)
def test_windows_without_much_to_decide(crowd: Crowd, points: list[Point], k: int) -> None:
    """
    Nothing is left of too few people; where nothing has a length, as much is left as the guarantee allows.
    """
    result = anonymize(crowd, points, k, 2)
    assert oracles.is_km_anonymous(released(crowd, result), k, 2)
    assert np.count_nonzero(result.kept) >= min(1, len({user for user, _ in crowd}) // k)


def test_what_is_wrong_is_named() -> None:
    """
    A position that is missing, one that is not finite, a price and a share that cannot be.
    """
    window = as_sequences([(0, (0, 1))])
    with pytest.raises(ValueError, match="location id is 1: xy_m has 1 rows"):
        least_loss(window, np.zeros((1, 2)), KmAnonymity(k=2, m=2), UNLIMITED)
    with pytest.raises(ValueError, match="not finite"):
        least_loss(window, np.full((2, 2), np.nan), KmAnonymity(k=2, m=2), UNLIMITED)
    with pytest.raises(ValueError, match="suppression is -1"):
        Prices(suppression=-1)
    with pytest.raises(ValueError, match="max_split_percent is 101"):
        LeastLossOptions(max_split_percent=101)


def test_a_long_trajectory_over_few_locations_ends() -> None:
    """
    A hundred visits over three locations have more embeddings of ten than could ever be listed.
    """
    rng = random.Random(7)
    crowd = [(user, tuple(rng.choices(range(3), k=100))) for user in range(3)]
    assert oracles.is_km_anonymous(released(crowd, anonymize(crowd, line(3), 3, 1)), 3, 1)
    result = least_loss(as_sequences(crowd), positions(line(3)), KmAnonymity(k=3, m=6), LeastLossOptions())
    users, published = published_sequences(result.released(as_sequences(crowd)), [("a",), ("b",), ("c",)])
    assert verify_km(users, published, KmAnonymity(k=3, m=6)).holds


# ------------------------------------------------------------------ its parts


@settings(deadline=None)
@given(points=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=12), data=st.data())
def test_each_merge_adds_least(points: list[Point], data: st.DataObject) -> None:
    """
    Of all pairs, in whole millimetres, ties by ids; and what visits are moved is told for every level.
    """
    visits = np.array(data.draw(st.lists(st.integers(1, 9), min_size=len(points), max_size=len(points))))
    xy_m = positions(points)
    found = hierarchy(xy_m, visits)

    def moved_m(group_of: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
        return float((location_distance(xy_m, group_of) * visits).sum())

    for level in range(len(points)):
        group_of = found.group_of(level)
        assert len(set(group_of.tolist())) == len(points) - level
        assert found.moved_m[level] == pytest.approx(moved_m(group_of), abs=0.02 * len(points))
    for level, (into, absorbed) in enumerate(zip(found.into.tolist(), found.absorbed.tolist(), strict=True)):
        before = found.group_of(level)
        added = {
            (a, b): moved_m(np.where(before == b, a, before)) - moved_m(before)
            for a, b in combinations(sorted(set(before.tolist())), 2)
        }
        assert added[into, absorbed] == pytest.approx(min(added.values()), abs=0.02 * len(points))


@settings(deadline=None)
@given(
    points=st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1, max_size=20), most=st.integers(2, 5)
)
def test_many_locations_are_merged_part_by_part(points: list[Point], most: int) -> None:
    """
    It is a hierarchy all the same: each level has one generalized location less, named by its smallest member.
    """
    found = hierarchy(positions(points), np.ones(len(points), np.int64), most_at_once=most)
    for level in range(len(points)):
        group_of = found.group_of(level).tolist()
        assert len(set(group_of)) == len(points) - level
        assert all(group == group_of.index(group) for group in group_of)


@settings(deadline=None)
@given(crowd=crowds(), m=MS, k=KS, data=st.data())
def test_subtrajectories_are_counted_before_and_after_merging(
    crowd: Crowd, m: int, k: int, data: st.DataObject
) -> None:
    """
    Every support, who they are, who is exposed, and how many pairs there are to repair, as the definition has it.
    """
    groups = data.draw(st.lists(st.integers(0, 5), min_size=6, max_size=6))
    group_of = np.array([groups.index(group) for group in groups])
    merged = [(user, tuple(int(group_of[x]) for x in trajectory)) for user, trajectory in crowd]
    window = Counted.of(as_sequences(crowd), m)
    for counted, those in ((window, crowd), (window.merged(group_of), merged)):
        found = {tuple(digit - 1 for digit in counted.digits(n)): n for n in counted.supports()}
        occurring = {part for size in range(1, m + 1) for part in oracles.all_subtrajectories(those, size)}
        assert found.keys() == occurring
        pairs = 0
        exposed = set()
        for part, number in found.items():
            people = {user for user, trajectory in those if oracles.is_subtrajectory(part, trajectory)}
            assert counted.supports()[number] == len(people)
            assert set(counted.supporters(number)) == people
            if len(people) < k:
                pairs += len(people)
                exposed |= people
        assert (counted.infrequent(k), set(counted.exposed(k))) == (pairs, exposed)
    assert window.infrequent_where(group_of, k) == window.merged(group_of).infrequent(k)


def test_numbers_beyond_64_bits() -> None:
    """
    Ten of a thousand locations make a number of a hundred bits.
    """
    crowd = [(user, (999, *range(9))) for user in range(2)]
    counted = Counted.of(as_sequences(crowd), 10)
    assert max(counted.supports()).bit_length() > 64
    assert counted.infrequent(3) == 2 * (2**10 - 1)
    assert counted.merged(np.zeros(1000, np.int64)).infrequent(3) == 2 * 10


@settings(deadline=None, max_examples=200)
@given(crowd=crowds(max_users=1, n_locations=3, max_length=6), m=MS, data=st.data())
def test_how_a_person_can_lose_a_subtrajectory(crowd: Crowd, m: int, data: st.DataObject) -> None:
    """
    By a visit that all embeddings use, or a gap that all span, found by listing the embeddings; after a step of either
    kind the person has what is left, and no more.
    """
    pieces = [trajectory for _, trajectory in crowd]
    if not pieces:
        return
    digits = [x + 1 for piece in pieces for x in piece]
    bounds = np.cumsum([0, *map(len, pieces)]).tolist()
    person = Person(digits, bounds, 4, m)
    cuts: set[int] = set()
    gone: set[int] = set()
    for _ in range(3):
        embeddings: dict[int, list[tuple[int, ...]]] = {}
        edges = sorted({*bounds, *cuts})
        for start, end in pairwise(edges):
            left = [at for at in range(start, end) if at not in gone]
            for size in range(1, m + 1):
                for chosen in combinations(left, size):
                    number = 0
                    for at in chosen:
                        number = 4 * number + digits[at]
                    embeddings.setdefault(number, []).append(chosen)
        assert person.subtrajectories() == embeddings.keys()
        for number, ways in embeddings.items():
            wanted = [number // 4**i % 4 for i in reversed(range(len(ways[0])))]
            found = person.ways(wanted)
            assert found is not None
            used = set.intersection(*(set(way) for way in ways))
            assert {bit.bit_length() - 1 for bit in bits(found.visits)} == used
            spanned = set.intersection(*(set(range(way[0], way[-1])) for way in ways))
            assert {bit.bit_length() - 1 for bit in bits(found.gaps)} == spanned
            often = {at: sum(at in way for way in ways) for way in ways for at in way}
            assert often[person.most_used(wanted).bit_length() - 1] == max(often.values())
        here = [at for at in range(len(digits)) if at not in gone]
        if not here:
            break
        at = data.draw(st.sampled_from(here))
        if data.draw(st.booleans()):
            gone.add(at)
            person.suppress(1 << at)
        else:
            cuts.add(at + 1)
            person.split(1 << at)


@settings(deadline=None)
@given(crowd=crowds(), data=st.data())
def test_pieces_stay_their_persons(crowd: Crowd, data: st.DataObject) -> None:
    """
    The same visits in the same order, a trajectory more for each cut inside one, none for one where one begins.
    """
    window = as_sequences(crowd)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(window.locations)))))
    pieces = window.split(np.array(cuts, np.int64))
    assert pieces.locations.tolist() == window.locations.tolist()
    assert pieces.owners.tolist() == window.owners.tolist()
    assert pieces.starts.tolist() == sorted([*window.starts.tolist(), *set(cuts).difference(window.starts.tolist())])
    assert len(pieces.users) == len(pieces.starts) - 1
