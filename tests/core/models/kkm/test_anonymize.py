"""Rum-bound and Tum-bound against their definition, their pseudo-code, and people made to break them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.models.kkm.anonymize.transactions
from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import BoundNotMet, RTOptions, RTResult, published
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.ncp import mean_certainty_penalty
from core.models.kkm.verify import KKmReport, verify_kkm
from core.trajectories.trajectory import Sequences
from core.utility.utility_loss import mean_utility_loss
from tests.budgets import examples
from tests.oracles import kkm as oracles
from tests.oracles.kkm import SCHEMA, Person, attributes_of, people, visits_of
from tests.oracles.km import Point, maps, positions

NAMES = ("a", "b", "c", "d", "e", "f")
KS, MS = st.integers(2, 4), st.integers(1, 3)

OPTIONS = st.builds(
    RTOptions,
    bound=st.sampled_from(["ncp", "ul"]),
    delta=st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.65, 0.8, 1.0]),
    merge=st.sampled_from(["r", "t", "rt"]),
    distance=st.sampled_from(["btd", "ul"]),
    n_measured=st.sampled_from([1, 20]),
)
# Always possible: everybody may be one group.
FREE = OPTIONS.map(lambda options: replace(options, delta=1.0 if options.bound == "ul" else options.delta))


def anonymize(
    crowd: Sequence[Person], points: Sequence[Point], options: RTOptions, *, k: int, m: int, one_in: int | None = None
) -> RTResult | BoundNotMet:
    sensitive = None if one_in is None else np.isin(np.arange(len(points)), [x for p in crowd for x in p.hidden])
    guarantee = KKmAnonymity(k=k, m=m, l=one_in)
    found = attributes_of(crowd), positions(points), guarantee, options
    return anonymize_rt(visits_of(crowd), *found, sensitive=sensitive)


def verify(result: RTResult, *, k: int, m: int, one_in: int | None = None) -> KKmReport:
    records = published(result, NAMES)
    guarantee = KKmAnonymity(k=k, m=m, l=one_in)
    sensitive = None if one_in is None else records.sensitive
    return verify_kkm(records.users, records.attributes, records.locations, guarantee, sensitive=sensitive)


def released(result: RTResult) -> oracles.Released:
    return {
        group.values: (frozenset(group.users), frozenset(map(frozenset, group.generalized))) for group in result.groups
    }


@settings(deadline=None, max_examples=examples(400))
@given(crowd=people(), points=maps(), k=KS, m=MS, options=OPTIONS)
def test_it_is_the_published_algorithm(
    crowd: list[Person], points: list[Point], k: int, m: int, options: RTOptions
) -> None:
    """
    The same groups and generalized locations as by the pseudo-code, all recounted at each step; and where that
    returns false, the bound is said not to be met.
    """
    options = replace(options, n_measured=20)
    result = anonymize(crowd, points, options, k=k, m=m)
    literal = oracles.literal_rt(
        crowd,
        points,
        k,
        m,
        bound=options.bound,
        delta=options.delta,
        merge=options.merge,
        distance=options.distance,
    )
    assert (released(result) if isinstance(result, RTResult) else None) == literal


@settings(deadline=None, max_examples=examples(300))
@given(crowd=people(max_people=14, n_sensitive=2), points=maps(), k=KS, m=MS, one_in=st.none() | KS, options=OPTIONS)
def test_the_result_holds_the_guarantee(
    crowd: list[Person], points: list[Point], k: int, m: int, one_in: int | None, options: RTOptions
) -> None:
    """
    Every release passes the verifier, of everybody or, with fewer than k people, of nobody.
    """
    if one_in is None:
        crowd = [Person(p.age, p.origin, p.visited | p.hidden) for p in crowd]
    result = anonymize(crowd, points, options, k=k, m=m, one_in=one_in)
    if isinstance(result, RTResult):
        report = verify(result, k=k, m=m, one_in=one_in)
        assert report.holds, report
        users = sorted(user for group in result.groups for user in group.users)
        assert users == (list(range(len(crowd))) if len(crowd) >= k else [])


@settings(deadline=None, max_examples=examples(200))
@given(crowd=people(max_people=12, fewest=2), points=maps(), k=st.integers(2, 3), m=MS, options=FREE)
def test_whoever_knows_a_person_finds_k_people(
    crowd: list[Person], points: list[Point], k: int, m: int, options: RTOptions
) -> None:
    """
    Definition 1 from the adversary's side: all true attributes of a person and up to m true locations match nobody
    or the records of k people, the person's own among them.
    """
    result = anonymize(crowd, points, options, k=k, m=m)
    if isinstance(result, BoundNotMet) or not result.groups:
        return
    records = published(result, NAMES)
    for user, person in enumerate(crowd):
        for size in range(m + 1):
            for known in combinations(sorted(person.visited), size):
                found = oracles.matching(records, person, [NAMES[x] for x in known])
                assert user in found
                assert len(found) >= k


@settings(deadline=None, max_examples=examples(200))
@given(crowd=people(max_people=12, n_sensitive=2, fewest=2), points=maps(), k=KS, m=MS, one_in=KS, options=FREE)
def test_a_release_is_truthful(
    crowd: list[Person], points: list[Point], k: int, m: int, one_in: int, options: RTOptions
) -> None:
    """
    Attributes cover the true ones; a record holds exactly the generalized locations of what its person visited, and
    sensitive locations that are the person's; `kept` says which visits these are.
    """
    result = anonymize(crowd, points, options, k=k, m=m, one_in=one_in)
    if isinstance(result, BoundNotMet):
        return
    kept = set()
    for group in result.groups:
        assert group.values == oracles.generalized(crowd[user] for user in group.users)
        everything = {x for user in group.users for x in crowd[user].visited}
        assert {x for members in group.generalized for x in members} in (everything, set())
        for user, visited, sensitive in zip(group.users, group.visited, group.sensitive, strict=True):
            its = {group.generalized[index] for index in visited}
            assert its == {members for members in group.generalized if crowd[user].visited & set(members)}
            assert len(its) == len(visited)
            assert set(sensitive) <= crowd[user].hidden
            kept |= {(user, x) for x in crowd[user].visited if any(x in members for members in its)}
            kept |= {(user, x) for x in sensitive}
    window = visits_of(crowd)
    owner = np.repeat(window.users, np.diff(window.starts)).tolist()
    assert result.kept.tolist() == [v in kept for v in zip(owner, window.locations.tolist(), strict=True)]


@settings(deadline=None, max_examples=examples(300))
@given(crowd=people(max_people=12, n_sensitive=2, fewest=4), points=maps(), k=KS, m=MS, one_in=KS, options=FREE)
def test_no_suppression_is_idle(
    crowd: list[Person], points: list[Point], k: int, m: int, one_in: int, options: RTOptions
) -> None:
    """
    Nonsensitive locations of a group are suppressed only where fewer than k of its people have any, and all of them;
    one suppressed occurrence of a sensitive location more in the release would break (k,l^m)-diversity.
    """
    result = anonymize(crowd, points, options, k=k, m=m, one_in=one_in)
    if isinstance(result, BoundNotMet):
        return
    for number, group in enumerate(result.groups):
        assert bool(group.generalized) == (sum(bool(crowd[user].visited) for user in group.users) >= k)
        for place, user in enumerate(group.users):
            for x in crowd[user].hidden - set(group.sensitive[place]):
                more = list(group.sensitive)
                more[place] = (*more[place], x)
                groups = list(result.groups)
                groups[number] = replace(group, sensitive=tuple(more))
                assert not verify(replace(result, groups=tuple(groups)), k=k, m=m, one_in=one_in).holds


@settings(deadline=None, max_examples=examples(200))
@given(crowd=people(max_people=12, n_sensitive=1), points=maps(), k=KS, m=MS, options=OPTIONS)
def test_the_bound_is_kept(crowd: list[Person], points: list[Point], k: int, m: int, options: RTOptions) -> None:
    """
    NCP, or UL with people who lost all their locations counted in full, is at most delta, as recomputed from the
    release; what is said to be out of reach is above.
    """
    result = anonymize(crowd, points, options, k=k, m=m, one_in=2)
    if isinstance(result, BoundNotMet):
        assert result.bound == options.bound
        assert result.reached > result.delta == options.delta
        return
    records = published(result, NAMES)
    ncp = mean_certainty_penalty(SCHEMA, records.attributes)
    sizes = [[len(place) for place in locations] for locations in records.locations]
    lost = sum(bool(crowd[u].visited) and not its for u, its in zip(records.users, records.locations, strict=True))
    assert result.ncp == ncp
    assert result.ul == mean_utility_loss(sizes)
    assert result.ul_bounded == pytest.approx(result.ul + lost / max(len(sizes), 1), abs=1e-8)
    assert (result.ncp if options.bound == "ncp" else result.ul_bounded) <= options.delta + 2e-9


@settings(deadline=None, max_examples=examples(100))
@given(crowd=people(max_people=12, n_sensitive=1), points=maps(), m=MS, options=FREE, draw=st.data())
def test_the_numbers_of_people_change_nothing(
    crowd: list[Person], points: list[Point], m: int, options: RTOptions, draw: st.DataObject
) -> None:
    """
    Renumbering the people gives the same records.
    """
    order = draw.draw(st.permutations(range(len(crowd))))
    found = []
    for people_ in (crowd, [crowd[i] for i in order]):
        result = anonymize(people_, points, options, k=2, m=m, one_in=2)
        if isinstance(result, BoundNotMet):
            found.append([result])
            continue
        records = published(result, NAMES)
        found.append(sorted(zip(records.attributes, records.locations, records.sensitive, strict=True)))  # type: ignore[arg-type]
    assert found[0] == found[1]


@settings(deadline=None, max_examples=examples(100))
@given(crowd=people(max_people=10), points=maps(), m=MS, options=FREE, draw=st.data())
def test_only_the_set_of_locations_counts(
    crowd: list[Person], points: list[Point], m: int, options: RTOptions, draw: st.DataObject
) -> None:
    """
    Order, repetition, and how a person's visits are cut into trajectories change nothing.
    """
    users, pieces = [], []
    for user, person in enumerate(crowd):
        again = draw.draw(st.lists(st.sampled_from(sorted(person.visited)), max_size=5))
        visits = draw.draw(st.permutations([*person.visited, *again]))
        cut = draw.draw(st.integers(0, len(visits)))
        users += [user, user]
        pieces += [visits[:cut], visits[cut:]]
    window = Sequences(
        users=np.array(users, np.int64),
        starts=np.cumsum([0, *map(len, pieces)], dtype=np.int64),
        locations=np.array([x for piece in pieces for x in piece], np.int64),
    )
    whole = anonymize(crowd, points, options, k=2, m=m)
    cut_up = anonymize_rt(window, attributes_of(crowd), positions(points), KKmAnonymity(k=2, m=m), options)
    if isinstance(whole, BoundNotMet) or isinstance(cut_up, BoundNotMet):
        assert whole == cut_up
    else:
        assert released(whole) == released(cut_up)
        assert cut_up.kept.all() == whole.kept.all()


@pytest.mark.parametrize("limit", ["_CELLS_KEPT", "_ROWS_AT_ONCE"])
@settings(deadline=None, max_examples=examples(60))
@given(crowd=people(max_people=14, fewest=6), points=maps(), options=FREE)
def test_what_bounds_memory_changes_nothing(
    limit: str, crowd: list[Person], points: list[Point], options: RTOptions
) -> None:
    """
    Forgetting measured rows, and measuring them one by one, gives the same release.
    """
    options = replace(options, merge="rt")
    usual = anonymize(crowd, points, options, k=2, m=2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(core.models.kkm.anonymize.transactions, limit, 1)
        frugal = anonymize(crowd, points, options, k=2, m=2)
    if isinstance(usual, BoundNotMet) or isinstance(frugal, BoundNotMet):
        assert usual == frugal
    else:
        assert released(usual) == released(frugal)


def test_fewer_than_k_people_release_nothing() -> None:
    """
    There is no group, every visit is suppressed, and no loss to be bounded.
    """
    for bound in ("ncp", "ul"):
        crowd = [Person(1, "at", frozenset({0, 1}))] * 2
        result = anonymize(crowd, [(0, 0)] * 6, RTOptions(bound=bound, delta=0.0), k=3, m=2)
        assert isinstance(result, RTResult)
        assert (result.groups, result.kept.tolist(), result.ncp, result.ul) == ((), [False] * 4, 0.0, 0.0)


LINE = [(x, 0) for x in range(6)]


def test_tum_bound_stops_as_soon_as_it_may() -> None:
    """
    Two groups of people alike keep apart with any bound on UL, since none is lost; with a bound on NCP they merge.
    """
    crowd = [Person(1, "at", frozenset({0}))] * 3 + [Person(17, "ng", frozenset({5}))] * 3
    tum = anonymize(crowd, LINE, RTOptions(bound="ul", delta=0.0), k=3, m=1)
    rum = anonymize(crowd, LINE, RTOptions(bound="ncp", delta=1.0), k=3, m=1)
    assert isinstance(tum, RTResult)
    assert isinstance(rum, RTResult)
    assert (len(tum.groups), len(rum.groups)) == (2, 1)


def test_the_merges_prefer_what_they_are_named_for() -> None:
    """
    Of a cluster near in age and one with the same locations, R takes the first and T the second.
    """
    crowd = [
        *[Person(1, "at", frozenset({0, 1}))] * 2,
        *[Person(2, "at", frozenset({4, 5}))] * 2,
        *[Person(9, "at", frozenset({0, 1}))] * 2,
    ]
    partner = {}
    for merge in ("r", "t"):
        # One merge is affordable: of 1 with 2 NCP is 0.025 * 4 / 6, of 1 with 9 it is 0.2 * 4 / 6.
        result = anonymize(crowd, LINE, RTOptions(bound="ncp", delta=0.15, merge=merge), k=2, m=2)
        assert isinstance(result, RTResult)
        partner[merge] = next(set(group.users) for group in result.groups if 0 in group.users)
    assert partner == {"r": {0, 1, 2, 3}, "t": {0, 1, 4, 5}}


def test_a_share_that_a_merge_raises_is_seen() -> None:
    """
    What was well hidden when it was looked at may not be after a merge for the sake of another set: sizes below m are
    looked at again.
    """
    visited = [{0, 3}, {0, 1, 4}, {1, 3}, {0}, {3}]
    crowd = [Person(1, "at", frozenset(its), frozenset({5} if i in {0, 2} else ())) for i, its in enumerate(visited)]
    result = anonymize(crowd, [(x * x, 0) for x in range(6)], RTOptions(), k=2, m=2, one_in=2)
    assert isinstance(result, RTResult)
    assert verify(result, k=2, m=2, one_in=2).holds


def test_what_the_whole_group_reveals_is_suppressed_and_no_more() -> None:
    """
    Of four people at a sensitive location with l = 2, two stay: no generalization hides what all of a group share.
    """
    crowd = [Person(1, "at", frozenset({0}), frozenset({5}))] * 4
    result = anonymize(crowd, LINE, RTOptions(), k=2, m=1, one_in=2)
    assert isinstance(result, RTResult)
    assert sum(map(len, result.groups[0].sensitive)) == 2
    assert int((~result.kept).sum()) == 2


def test_who_visits_nothing_that_may_be_known_counts_in_the_group() -> None:
    """
    Three of five at a sensitive location with l = 2: one is suppressed, though none of them is at any other location.
    """
    crowd = [Person(1, "at", frozenset({0}))] * 2 + [Person(1, "at", frozenset(), frozenset({5}))] * 3
    result = anonymize(crowd, LINE, RTOptions(), k=2, m=1, one_in=2)
    assert isinstance(result, RTResult)
    assert sum(map(len, result.groups[0].sensitive)) == 2
    assert verify(result, k=2, m=1, one_in=2).holds


def test_a_location_visited_often_is_one_location() -> None:
    """
    T merges those who visit 0 alone with others who do, though six times, not with those who visit 1 as well.
    """
    crowd = [Person(age, "at", frozenset(its)) for age, its in ((1, {0}), (2, {0}), (3, {0, 1})) for _ in range(2)]
    visits = [[0]] * 2 + [[0] * 6] * 2 + [[0, 1]] * 2
    window = Sequences(
        users=np.arange(6),
        starts=np.cumsum([0, *map(len, visits)], dtype=np.int64),
        locations=np.array([x for its in visits for x in its], np.int64),
    )
    options, guarantee = RTOptions(delta=0.04, merge="t"), KKmAnonymity(k=2, m=1)
    result = anonymize_rt(window, attributes_of(crowd), positions(LINE), guarantee, options)
    assert isinstance(result, RTResult)
    assert sorted(sorted(group.users) for group in result.groups) == [[0, 1, 2, 3], [4, 5]]


def test_groups_that_a_merge_makes_alike_are_one() -> None:
    """
    Two clusters whose merge is generalized as a third one are united with it: no two groups have the same values.
    """
    rows = ["9 de 12", "9 at 2", "1 at 3", "5 eu 1", "9 eu 2", "5 eu 23", "9 de 03", "5 eu 3"]
    crowd = [Person(int(age), origin, frozenset(map(int, its))) for age, origin, its in map(str.split, rows)]
    result = anonymize(crowd, LINE, RTOptions(delta=0.3, merge="r"), k=2, m=1)
    assert isinstance(result, RTResult)
    assert len({group.values for group in result.groups}) == len(result.groups) == 2
    assert verify(result, k=2, m=1).holds


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bound": "rum"}, "bound is rum: it must be one of ncp, ul"),
        ({"merge": "x"}, "merge is x: it must be one of r, t, rt"),
        ({"distance": "x"}, "distance is x: it must be one of btd, ul"),
        ({"delta": -0.1}, "delta is -0.1: it must be in 0..1"),
        ({"delta": float("nan")}, "delta is nan"),
        ({"n_measured": 0}, "n_measured is 0: it must be at least 1"),
    ],
)
def test_options_are_checked(changes: dict[str, Any], says: str) -> None:
    """
    A bad option is named with what is allowed.
    """
    with pytest.raises(ValueError, match=says):
        RTOptions(**changes)


@pytest.mark.parametrize(
    ("changes", "says"),
    [({"k": 1}, "k is 1"), ({"m": 0}, "m is 0"), ({"l": 1}, "l is 1: it must be at least 2")],
)
def test_the_guarantee_is_checked(changes: dict[str, Any], says: str) -> None:
    """
    k and l below 2 and m below 1 promise nothing.
    """
    with pytest.raises(ValueError, match=says):
        KKmAnonymity(**{"k": 2, "m": 1, **changes})


def test_inputs_that_do_not_fit_together_are_refused() -> None:
    """
    Attributes of other people, missing positions, and l without sensitive locations are mistakes of the caller.
    """
    crowd = [Person(1, "at", frozenset({0, 1}))] * 3
    window, attributes, xy_m, g = visits_of(crowd), attributes_of(crowd), positions(LINE), KKmAnonymity(k=2, m=1)
    options = RTOptions()
    with pytest.raises(ValueError, match="attributes of 2 people: the window has 3"):
        anonymize_rt(window, attributes_of(crowd[:2]), xy_m, g, options)
    with pytest.raises(ValueError, match="a location id is 1: xy_m has 1 rows"):
        anonymize_rt(window, attributes, xy_m[:1], g, options)
    with pytest.raises(ValueError, match="not finite"):
        anonymize_rt(window, attributes, np.full((6, 2), np.nan), g, options)
    with pytest.raises(ValueError, match="belong together"):
        anonymize_rt(window, attributes, xy_m, g, options, sensitive=np.zeros(6, np.bool_))
    with pytest.raises(ValueError, match="belong together"):
        anonymize_rt(window, attributes, xy_m, KKmAnonymity(k=2, m=1, l=2), options)
    with pytest.raises(ValueError, match="sensitive has 5 entries"):
        anonymize_rt(window, attributes, xy_m, KKmAnonymity(k=2, m=1, l=2), options, sensitive=np.zeros(5, np.bool_))
