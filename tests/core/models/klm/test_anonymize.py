"""ZGA, SGA and l^m-Anon against the definition, the pseudo-code, and windows made to break them."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import core.models.klm.anonymize.merge
import core.models.klm.anonymize.window
from core.models.klm.anonymize.carriers import Carriers
from core.models.klm.anonymize.cluster import ClusterSearch, lm_anon, sga, zga
from core.models.klm.anonymize.merge import _Index
from core.models.klm.anonymize.suppress import suppress_sensitive
from core.models.klm.anonymize.window import Clustered
from core.models.klm.guarantee import KLmDiversity
from core.models.km.anonymize.seqanon import seqanon
from core.models.km.guarantee import KmAnonymity
from core.records.arrays import BoolArray, FloatArray
from core.support.table import subtrajectories
from core.utility.recoded import recoded_visit_distance
from tests.oracles import klm as klm_oracles
from tests.oracles import km as oracles
from tests.oracles.klm import guarantees, shown
from tests.oracles.km import Crowd, Point, as_sequences, crowds, maps, positions

N = 6
SENSITIVE = st.sets(st.integers(0, N - 1), max_size=3)
NUMBERS = st.none() | st.integers(1, 4)
MODELS = st.sampled_from(["zga", "sga", "lm-anon"])


def flags(sensitive: set[int], n: int = N) -> BoolArray:
    return np.isin(np.arange(n), sorted(sensitive))


def anonymize(
    model: str, crowd: Crowd, points: list[Point], sensitive: set[int], guarantee: KLmDiversity, number: int | None
) -> Clustered:
    window = as_sequences(crowd), positions(points), flags(sensitive, len(points)), guarantee
    if model == "lm-anon":
        return lm_anon(*window)
    return (
        zga(*window, ClusterSearch(number=number))
        if model == "zga"
        else sga(*window, ClusterSearch(number=number), top=3)
    )


def line(n: int) -> list[Point]:
    """Locations one metre apart."""
    return [(x, 0) for x in range(n)]


@given(
    model=MODELS, crowd=crowds(max_users=9, max_pieces=2), points=maps(), sensitive=SENSITIVE,
    guarantee=guarantees(), number=NUMBERS,
)  # fmt: skip
def test_the_result_keeps_the_guarantee(
    model: str,
    crowd: Crowd,
    points: list[Point],
    sensitive: set[int],
    guarantee: KLmDiversity,
    number: int | None,
) -> None:
    """
    By its definition, over the labels of the whole release, however many clusters and trajectories a person.
    """
    result = anonymize(model, crowd, points, sensitive, guarantee, number)
    assert klm_oracles.violations(shown(crowd, result), sensitive, guarantee) == (0, 0)


@given(
    model=MODELS, crowd=crowds(max_users=9, max_pieces=2), points=maps(), sensitive=SENSITIVE,
    guarantee=guarantees(most=2), number=NUMBERS,
)  # fmt: skip
def test_who_knows_locations_before_generalization_gains_nothing(
    model: str,
    crowd: Crowd,
    points: list[Point],
    sensitive: set[int],
    guarantee: KLmDiversity,
    number: int | None,
) -> None:
    """
    Whoever matches m true locations with every label that holds them finds nobody or k people, at most 1/l of them at
    one place.
    """
    result = anonymize(model, crowd, points, sensitive, guarantee, number)
    assert klm_oracles.raw_violations(shown(crowd, result), sensitive, N, guarantee) == 0


@given(
    model=MODELS, crowd=crowds(max_users=9), points=maps(), sensitive=SENSITIVE, guarantee=guarantees(), number=NUMBERS
)
def test_a_label_holds_the_location_and_a_sensitive_one_stays_alone(
    model: str,
    crowd: Crowd,
    points: list[Point],
    sensitive: set[int],
    guarantee: KLmDiversity,
    number: int | None,
) -> None:
    """
    Every visit is released as a label with its location in it; sensitive locations are never generalized.
    """
    result = anonymize(model, crowd, points, sensitive, guarantee, number)
    recoding = result.recoding
    visited = as_sequences(crowd).locations.tolist()
    for location, label in zip(visited, recoding.label_of.tolist(), strict=True):
        assert label < 0 or location in recoding.labels[label]
    assert all(len(label) == 1 or not {*label} & sensitive for label in recoding.labels)
    assert {location for label in recoding.labels for location in label} <= {*visited}


@given(crowd=crowds(max_users=9, max_pieces=2), points=maps(), sensitive=SENSITIVE, guarantee=guarantees())
def test_it_is_the_published_algorithm_where_merging_does(
    crowd: Crowd,
    points: list[Point],
    sensitive: set[int],
    guarantee: KLmDiversity,
) -> None:
    """
    Where one location for everything would keep the guarantee, the pseudo-code ends, the same locations are merged,
    and every nonsensitive visit is released.
    """
    assume(klm_oracles.settled_by_merging(crowd, sensitive, guarantee))
    result = anonymize("lm-anon", crowd, points, sensitive, guarantee, None)
    literal = klm_oracles.literal_lm_anon(crowd, points, sensitive, guarantee)
    wanted = [frozenset(y for y in range(N) if literal[y] == literal[x]) for x in range(N)]
    for (_, before), (_, after) in zip(crowd, shown(crowd, result), strict=True):
        assert [x for x in after if not x & sensitive] == [wanted[x] for x in before if x not in sensitive]


@given(crowd=crowds(max_users=9, max_pieces=2), points=maps(), guarantee=guarantees())
def test_without_sensitive_locations_it_is_seqanon(crowd: Crowd, points: list[Point], guarantee: KLmDiversity) -> None:
    """
    One cluster and nothing sensitive: the same visits are suppressed and the same locations merged.
    """
    result = anonymize("lm-anon", crowd, points, set(), guarantee, None)
    other = seqanon(as_sequences(crowd), positions(points), KmAnonymity(k=guarantee.k, m=guarantee.m))
    assert result.recoding.kept.tolist() == other.kept.tolist()
    assert result.merges == other.merges
    smallest = np.array([label[0] for label in result.recoding.labels], np.int64)
    kept = other.kept
    visited = as_sequences(crowd).locations[kept]
    assert smallest[result.recoding.label_of[kept]].tolist() == other.group_of[visited].tolist()


@given(
    crowd=crowds(max_users=8, max_pieces=2), points=maps(), sensitive=SENSITIVE, guarantee=guarantees(), number=NUMBERS
)
def test_no_sensitive_visit_is_suppressed_in_vain(
    crowd: Crowd,
    points: list[Point],
    sensitive: set[int],
    guarantee: KLmDiversity,
    number: int | None,
) -> None:
    """
    Whoever is not told to have been at a sensitive location, were they told to, would break the guarantee.
    """
    result = anonymize("zga", crowd, points, sensitive, guarantee, number)
    visits = [(user, location) for user, trajectory in crowd for location in trajectory]
    suppressed = {visits[i] for i in np.flatnonzero(~result.recoding.kept) if visits[i][1] in sensitive}
    for again in suppressed:
        labels = [
            frozenset(result.recoding.labels[label]) if label >= 0 else None
            for label in result.recoding.label_of.tolist()
        ]
        labels = [frozenset([visit[1]]) if visit == again else x for visit, x in zip(visits, labels, strict=True)]
        rest = iter(labels)
        told = [(user, tuple([x for _ in trajectory if (x := next(rest))])) for user, trajectory in crowd]
        assert klm_oracles.violations(told, sensitive, guarantee) != (0, 0)


@given(
    crowd=crowds(max_users=5, max_pieces=2, max_length=3), points=maps(), sensitive=SENSITIVE, guarantee=guarantees()
)
def test_no_fewer_nonsensitive_visits_could_be_suppressed_in_one_cluster(
    crowd: Crowd, points: list[Point], sensitive: set[int], guarantee: KLmDiversity
) -> None:
    """
    As few as in any k^m-anonymous release of what is not sensitive, whatever it merges.
    """
    result = anonymize("lm-anon", crowd, points, sensitive, guarantee, None)
    plain = ~flags(sensitive)[as_sequences(crowd).locations]
    bare = klm_oracles.plain(crowd, sensitive)
    assert np.count_nonzero(~result.recoding.kept & plain) == oracles.fewest_suppressed(bare, guarantee.k, guarantee.m)


@given(crowd=crowds(max_users=9, max_pieces=2), points=maps(), sensitive=SENSITIVE, seed=st.integers(0, 2**16))
def test_the_order_of_people_merges_the_same_in_one_cluster(
    crowd: Crowd, points: list[Point], sensitive: set[int], seed: int
) -> None:
    """
    Renumbering the people changes no label: it decides between equal ones only, who is in which cluster and who of
    several is suppressed.
    """
    guarantee = KLmDiversity(k=2, l=2, m=2)
    n_users = 1 + max((user for user, _ in crowd), default=-1)
    renumbered = random.Random(seed).sample(range(n_users), n_users)
    order = sorted(range(len(crowd)), key=lambda i: renumbered[crowd[i][0]])
    shuffled = [(renumbered[crowd[i][0]], crowd[i][1]) for i in order]
    before = [t for _, t in shown(crowd, anonymize("lm-anon", crowd, points, sensitive, guarantee, None))]
    after = [t for _, t in shown(shuffled, anonymize("lm-anon", shuffled, points, sensitive, guarantee, None))]

    def plain(trajectory: tuple[frozenset[int], ...]) -> list[frozenset[int]]:
        return [label for label in trajectory if not label & sensitive]

    assert [plain(before[i]) for i in order] == [plain(trajectory) for trajectory in after]


# ------------------------------------------------------------------- clusters


def pairs_apart() -> tuple[Crowd, list[Point]]:
    """Two crowds of four: one at locations 0 and 1, the other at 4 and 5, each person at one of the two."""
    crowd: Crowd = [(user, (x,)) for user, x in enumerate([0, 1, 0, 1, 4, 5, 4, 5])]
    return crowd, line(6)


@pytest.mark.parametrize(("asked", "made"), [(1, 1), (2, 2), (3, 2), (99, 2)])
def test_there_are_no_more_clusters_than_leave_k_people_in_each(asked: int, made: int) -> None:
    """
    Eight people, k = 3: two clusters of four at most.
    """
    crowd, points = pairs_apart()
    result = anonymize("zga", crowd, points, set(), KLmDiversity(k=3, l=2, m=1), asked)
    assert result.clusters == made
    assert result.recoding.kept.all()


def test_one_location_may_have_a_label_in_each_cluster() -> None:
    """
    Four people of whom one is at 1, and four of whom three are: 1 is released with 0 there and with 2 here.
    """
    # Gray order by (2, 1, 0): those who visit 2 come last.
    crowd: Crowd = [(0, (0,)), (1, (0,)), (2, (0,)), (3, (0, 1)), (4, (1, 2)), (5, (1,)), (6, (2, 1)), (7, (2,))]
    result = anonymize("zga", crowd, [(0, 0), (2, 0), (3, 0)], set(), KLmDiversity(k=3, l=2, m=1), 2)
    of_1 = [label for label in result.recoding.labels if 1 in label]
    assert len(of_1) == 2


def test_clusters_have_as_many_people_each_or_one_less() -> None:
    """
    Seven people in three clusters: three, two and two; a person with two trajectories is in one of them.
    """
    crowd: Crowd = [(0, (0,)), (1, (0,)), (2, (0,)), (3, (1,)), (4, (1,)), (5, (1,)), (6, (2,)), (6, (0,))]
    window = core.models.klm.anonymize.window.ClusteredWindow(
        as_sequences(crowd), positions(line(3)), flags(set(), 3), KLmDiversity(k=2, l=2, m=1)
    )
    people = [users.tolist() for _, _, users in window._clusters(np.array([6, 5, 4, 3, 2, 1, 0]), 3)]
    assert people == [[4, 5, 6], [2, 3], [0, 1]]


@given(crowd=crowds(max_users=9, max_pieces=2), points=maps(), sensitive=SENSITIVE)
def test_a_search_takes_the_number_that_loses_least(crowd: Crowd, points: list[Point], sensitive: set[int]) -> None:
    """
    Of the numbers tried, by the loss as measured here, ties by the smaller.
    """
    guarantee = KLmDiversity(k=2, l=2, m=2)
    window, xy_m = as_sequences(crowd), positions(points)
    found = anonymize("zga", crowd, points, sensitive, guarantee, None)
    single = {number: anonymize("zga", crowd, points, sensitive, guarantee, number) for number in found.tried}
    assert found.loss == min(one.loss for one in single.values())
    assert found.clusters == next(one.clusters for one in single.values() if one.loss == found.loss)
    for one in single.values():
        distance_m = recoded_visit_distance(window, xy_m, one.recoding)
        places = sorted({points[x] for x in window.locations.tolist()})
        widest = max((np.hypot(a[0] - b[0], a[1] - b[1]) for a in places for b in places), default=0.0)
        lost = [1.0 if np.isnan(d) else d / widest if widest else 0.0 for d in distance_m.tolist()]
        hidden = [location in sensitive for location in window.locations.tolist()]
        halves = [
            [x for x, is_hidden in zip(lost, hidden, strict=True) if is_hidden == which] for which in (True, False)
        ]
        assert one.loss == pytest.approx(np.mean([np.mean(half) for half in halves if half] or [0.0]))


def test_a_search_ends_with_its_budget() -> None:
    """
    Without any only one cluster is tried; with enough of it the better two are found.
    """
    crowd, points = pairs_apart()
    crowd = [(user, (x,)) for user, x in enumerate([0, 1, 0, 1, 4, 5, 4, 5, 2, 2, 2, 3])]
    window = as_sequences(crowd), positions(points), flags(set()), KLmDiversity(k=2, l=2, m=1)
    assert zga(*window, ClusterSearch(work=0)).tried == (1,)
    assert zga(*window, ClusterSearch(work=1_000_000)).tried == (1, 2, 4)


def test_a_search_ends_when_two_numbers_in_a_row_are_no_better() -> None:
    """
    Where nothing is lost in one cluster, 2 and 4 are tried and 8 is not.
    """
    crowd: Crowd = [(user, (user // 20,)) for user in range(40)]
    result = anonymize("zga", crowd, line(2), set(), KLmDiversity(k=2, l=2, m=1), None)
    assert (result.tried, result.clusters, result.loss) == ((1, 2, 4), 1, 0.0)


# ------------------------------------------------------------------- shares


def test_a_share_is_lowered_by_merging_where_that_serves() -> None:
    """
    Two of the two at 0 were at x: with those at 1, the nearest, they are two of four.
    """
    x = 3
    crowd: Crowd = [(0, (0, x)), (1, (x, 0)), (2, (1,)), (3, (1,)), (4, (2,)), (5, (2,))]
    result = anonymize("lm-anon", crowd, line(4), {x}, KLmDiversity(k=2, l=2, m=1), None)
    assert result.recoding.kept.all()
    assert result.recoding.labels == ((0, 1), (2,), (x,))


def test_a_visit_to_another_trajectory_of_the_same_person_counts() -> None:
    """
    The adversary knows a person: x in one trajectory is a secret of whoever has 0 in another.
    """
    x = 3
    crowd: Crowd = [(0, (0,)), (0, (x,)), (1, (x,)), (1, (0,)), (2, (1,)), (3, (1,)), (4, (2,)), (5, (2,))]
    result = anonymize("lm-anon", crowd, line(4), {x}, KLmDiversity(k=2, l=2, m=1), None)
    assert result.recoding.labels == ((0, 1), (2,), (x,))


def test_where_no_merge_serves_the_fewest_are_not_told() -> None:
    """
    Three of four were at x and l = 2: one location for all would not do, so nothing is merged and one is suppressed.
    """
    x = 3
    crowd: Crowd = [(0, (0, x)), (1, (0,)), (2, (1, x)), (3, (1, x))]
    result = anonymize("lm-anon", crowd, line(4), {x}, KLmDiversity(k=2, l=2, m=1), None)
    assert result.merges == 0
    assert [len(trajectory) for _, trajectory in shown(crowd, result)] == [2, 1, 1, 2]


def test_what_was_chosen_first_and_is_not_needed_any_more_is_taken_back() -> None:
    """
    The first person lowers three shares at once and is chosen first; the next three, each needed for a share of their
    own, lower these as well.
    """
    own = [(0, 1, 2), (0, 3), (1, 4), (2, 5)]  # all of them at the sensitive location 7
    crowd: Crowd = [(user, (*labels, 7)) for user, labels in enumerate(own)]
    crowd += [(4, (0, 1, 2, 3, 4, 5)), *((user, (6,)) for user in range(5, 13))]
    carriers = Carriers.of(as_sequences(crowd), flags({7}, 8))
    shown_labels = as_sequences(klm_oracles.plain(crowd, {7}))
    suppressed = suppress_sensitive(shown_labels, carriers, KLmDiversity(k=2, l=3, m=1))
    assert suppressed.tolist() == [False, True, True, True]


def test_to_know_that_somebody_is_there_tells_no_secret_either() -> None:
    """
    Nobody has a nonsensitive visit, so every claim is of the empty subtrajectory: of five people two stay at x, l = 2.
    """
    x = 0
    crowd: Crowd = [(0, (x,)), (1, (x,)), (2, (x,)), (3, (1,)), (4, (2,))]
    result = anonymize("zga", crowd, line(3), {0, 1, 2}, KLmDiversity(k=2, l=2, m=1), None)
    left = [user for user, trajectory in shown(crowd, result) if trajectory == (frozenset([x]),)]
    # Whoever vanishes makes the crowd smaller: of four people two may be told.
    assert len(left) == 2
    assert result.clusters == 0


def test_fewer_than_k_people_are_not_released() -> None:
    """
    Their sensitive visits are not, however low the share of each.
    """
    result = anonymize("zga", [(0, (0,)), (1, (1,))], line(2), {0, 1}, KLmDiversity(k=3, l=2, m=1), None)
    assert not result.recoding.kept.any()
    result = anonymize("zga", [(0, (0,)), (1, (1,))], line(2), set(), KLmDiversity(k=3, l=2, m=1), None)
    assert not result.recoding.kept.any()


def test_an_empty_window_stays_empty() -> None:
    """
    Without visits there is nothing to merge, to suppress or to lose.
    """
    for model in ("zga", "sga", "lm-anon"):
        result = anonymize(model, [], [], set(), KLmDiversity(k=2, l=2, m=2), None)
        assert (result.recoding.labels, len(result.recoding.label_of), result.loss) == ((), 0, 0.0)


def test_a_share_that_merging_raised_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Sizes are gone through until nothing is merged: here a second round merges once more, and everything is released.
    Without it a sensitive visit would have to be suppressed instead, and would be.
    """
    crowd: Crowd = [
        (0, (3, 2, 0)), (1, (0,)), (2, (1, 1)), (3, (1,)), (4, (3, 3, 0)), (5, (5, 3)), (6, (2, 1)), (7, (2, 5)),
        (8, (1, 0, 1)),
    ]  # fmt: skip
    guarantee = KLmDiversity(k=2, l=3, m=2)
    result = anonymize("lm-anon", crowd, line(N), {5}, guarantee, None)
    assert result.recoding.labels == ((0, 1, 2, 3), (5,))
    assert result.recoding.kept.all()

    monkeypatch.setattr(core.models.klm.anonymize.merge, "_ROUNDS", 1)
    result = anonymize("lm-anon", crowd, line(N), {5}, guarantee, None)
    assert result.recoding.labels == ((0, 1), (2, 3), (5,))
    assert np.count_nonzero(~result.recoding.kept) == 1
    assert klm_oracles.violations(shown(crowd, result), {5}, guarantee) == (0, 0)


def test_a_subtrajectory_that_was_safe_is_looked_at_again_after_a_merge() -> None:
    """
    Half of those at 0 and half of those at 1 were at x; of the three at either, two were.
    """
    guarantee = KLmDiversity(k=2, l=2, m=1)
    crowd: Crowd = [(0, (0, 2)), (1, (0, 1)), (2, (1, 2))]
    carriers = Carriers.of(as_sequences(crowd), flags({2}, 3))
    table = subtrajectories(as_sequences(klm_oracles.plain(crowd, {2})), 1)
    index = _Index(table, carriers, np.ones(1, np.bool_), guarantee)
    assert not index.is_unprotected((0,))
    assert not index.is_unprotected((1,))
    index.merge(0, 1)
    assert index.is_unprotected((0,))
    assert not index.is_unprotected((1,))  # there is none any more


# ------------------------------------------------------------------- arguments


@pytest.mark.parametrize("xy_m", [np.zeros((1, 2)), np.array([(0, 0), (np.nan, 0)])])
def test_every_location_needs_a_finite_position(xy_m: FloatArray) -> None:
    """
    A missing or undefined position is refused at the door.
    """
    with pytest.raises(ValueError, match="xy_m"):
        zga(as_sequences([(0, (0, 1))]), xy_m, np.zeros(len(xy_m), np.bool_), KLmDiversity(k=2, l=2, m=1))


def test_every_location_is_sensitive_or_not() -> None:
    """
    Flags of another vocabulary are refused.
    """
    with pytest.raises(ValueError, match="sensitive has 1 entries"):
        lm_anon(as_sequences([(0, (0,))]), np.zeros((2, 2)), np.zeros(1, np.bool_), KLmDiversity(k=2, l=2, m=1))


def test_a_key_needs_a_subtrajectory() -> None:
    """
    K is at least 1.
    """
    with pytest.raises(ValueError, match="top is 0"):
        sga(as_sequences([]), np.zeros((0, 2)), np.zeros(0, np.bool_), KLmDiversity(k=2, l=2, m=1), top=0)


@pytest.mark.parametrize("wrong", [{"number": 0}, {"work": -1}])
def test_clusters_have_their_ranges(wrong: dict[str, int]) -> None:
    """
    No cluster at all, or a budget below nothing, is a mistake.
    """
    with pytest.raises(ValueError, match="must be at least"):
        ClusterSearch(**wrong)


@pytest.mark.parametrize("wrong", [{"k": 1}, {"l": 1}, {"m": 0}])
def test_the_guarantee_has_its_ranges(wrong: dict[str, int]) -> None:
    """
    k and l are at least 2, m at least 1.
    """
    with pytest.raises(ValueError, match="it must be at least"):
        KLmDiversity(**({"k": 2, "l": 2, "m": 1} | wrong))
