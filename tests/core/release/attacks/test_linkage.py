"""Attacks on two successive releases: worked examples with a known answer, and slow versions with sets and dicts."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.places.geo import geocentric
from core.release.attacks.linkage import LinkageExtract, LinkageRisk, Units, linkage_risk
from core.release.attacks.linked_places import VisitedPlaces
from core.release.attacks.linked_sets import SetEnds
from core.release.attacks.location_cosine import LabelSimilarity

METRE_DEG = 1 / 111_320
"""A metre on the equator, degrees of longitude."""


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


def risk_of(earlier: LinkageExtract, later: LinkageExtract) -> LinkageRisk:
    return linkage_risk(earlier, later, generator())


Member = tuple[int, list[tuple[int, float]]]
"""A person, and the points of a trajectory on the equator: ``(time, metres)``."""


def sets_of(*sets: list[Member]) -> SetEnds:
    """The ends of sets of trajectories."""
    flat = [(i, person, points) for i, members in enumerate(sets) for person, points in members]
    return SetEnds.of(
        np.array([i for i, _, _ in flat], np.int64),
        np.array([person for _, person, _ in flat], np.uint64),
        starts=np.cumsum([0, *(len(points) for _, _, points in flat)]).astype(np.int64),
        t_ms=np.array([t for _, _, points in flat for t, _ in points], np.int64),
        lat_deg=np.zeros(sum(len(points) for _, _, points in flat)),
        lon_deg=np.array([x * METRE_DEG for _, _, points in flat for _, x in points]),
    )


def walk(people: list[int], begin: tuple[int, float], end: tuple[int, float]) -> list[Member]:
    return [(person, [begin, end]) for person in people]


class TestSets:
    def test_people_who_stay_together_are_followed(self) -> None:
        """
        Two groups far apart, the same people in the next window where they ended: every guess is right.
        """
        earlier = sets_of(walk([1, 2, 3], (0, 0), (900, 500)), walk([4, 5, 6], (0, 90_000), (900, 90_500)))
        later = sets_of(walk([4, 5, 6], (1_000, 90_500), (1_900, 0)), walk([1, 2, 3], (1_000, 500), (1_900, 0)))
        found = risk_of(earlier, later)
        assert found == LinkageRisk(highest=1.0, mean=1.0, chance=0.5, people=6, stayed=6, company=3)
        assert found.right == 1.0

    def test_crossing_groups_mislead(self) -> None:
        """
        Each group is next seen where the other one ended: no guess is right.
        """
        earlier = sets_of(walk([1, 2], (0, 0), (900, 0)), walk([3, 4], (0, 9_000), (900, 9_000)))
        later = sets_of(walk([3, 4], (1_000, 0), (1_900, 0)), walk([1, 2], (1_000, 9_000), (1_900, 0)))
        assert risk_of(earlier, later) == LinkageRisk(
            highest=0.0, mean=0.0, chance=0.5, people=4, stayed=4, company=None
        )

    def test_mixed_people_are_found_with_the_share_that_stays_together(self) -> None:
        """
        Four sets of four whose members go to four sets, one each: 1/l = 1/4, whatever is guessed.
        """
        people = np.arange(16).reshape(4, 4)
        earlier = sets_of(*(walk(row.tolist(), (0, i * 50.0), (900, i * 50.0)) for i, row in enumerate(people)))
        later = sets_of(*(walk(row.tolist(), (1_000, i * 50.0), (1_900, 0)) for i, row in enumerate(people.T)))
        found = risk_of(earlier, later)
        assert (found.highest, found.mean, found.chance, found.company) == (0.25, 0.25, 0.25, 1)

    def test_people_who_leave_are_not_found(self) -> None:
        """
        Two of four people are in the next release: half of the set is followed, and all who stayed.
        """
        found = risk_of(sets_of(walk([1, 2, 3, 4], (0, 0), (900, 0))), sets_of(walk([1, 2, 8], (1_000, 0), (1_900, 0))))
        assert (found.mean, found.people, found.stayed, found.right) == (0.5, 4, 2, 1.0)

    def test_no_set_is_followed_faster_than_anybody_travels(self) -> None:
        """
        The only next set begins 500 km away a second later: nothing is named.
        """
        earlier, later = sets_of(walk([1], (0, 0), (900, 0))), sets_of(walk([1], (1_900, 500_000), (2_900, 0)))
        assert not len(earlier.guess(later, np.array([0])).to)
        assert risk_of(earlier, later).mean == 0.0

    def test_an_extract_leaves_out_whole_sets(self) -> None:
        """
        At most three people: of two sets of two, one is left, complete.
        """
        earlier = sets_of(walk([1, 2], (0, 0), (9, 0)), walk([3, 4], (0, 0), (9, 0)))
        assert len(earlier.units) == 2
        few = SetEnds.of(
            np.array([0, 0, 1, 1]),
            np.array([1, 2, 3, 4], np.uint64),
            starts=np.arange(5),
            t_ms=np.zeros(4, np.int64),
            lat_deg=np.zeros(4),
            lon_deg=np.zeros(4),
            most=3,
        )
        assert few.units.hashes.tolist() == [1, 2]

    @given(
        ends=st.lists(st.tuples(st.integers(0, 900), st.integers(0, 30_000)), min_size=1, max_size=6),
        begins=st.lists(st.tuples(st.integers(900, 2_000), st.integers(0, 30_000)), max_size=6),
    )
    def test_the_nearest_set_is_named(self, ends: list[tuple[int, int]], begins: list[tuple[int, int]]) -> None:
        """
        Beside a loop over all sets; places and times are whole metres and seconds.
        """
        earlier = sets_of(*(walk([i], (0, 0), (1000 * t, float(x))) for i, (t, x) in enumerate(ends)))
        later = sets_of(*(walk([i], (1000 * t, float(x)), (3_000_000, 0)) for i, (t, x) in enumerate(begins)))
        guesses = earlier.guess(later, np.arange(len(ends)))
        named = dict(zip(guesses.of.tolist(), guesses.to.tolist(), strict=True))
        for i, (end_s, end_x) in enumerate(ends):
            costs = []
            for begin_s, begin_x in begins:
                (a, b) = geocentric(np.zeros(2), np.array([end_x, begin_x]) * METRE_DEG)
                way = math.dist(a.tolist(), b.tolist())
                costs.append(math.inf if way > 60 * (begin_s - end_s) + 20_000 else way + 10 * (begin_s - end_s))
            if min(costs, default=math.inf) == math.inf:
                assert i not in named
            else:
                assert costs[named[i]] <= min(costs) + 0.002


def places_of(*units: tuple[list[int], list[str]]) -> VisitedPlaces:
    """Units of people and labels; the letters of a label are its members."""
    hashes = np.arange(100, dtype=np.uint64)
    return VisitedPlaces.of(
        [people for people, _ in units], [[tuple(label) for label in labels] for _, labels in units], hashes
    )


class TestPlaces:
    def test_a_rare_location_gives_a_person_away(self) -> None:
        """
        Everybody visits a; b, c and d are of one person each.
        """
        earlier = places_of(([1], ["a", "b"]), ([2], ["a", "c"]), ([3], ["a", "d"]))
        later = places_of(([3], ["d", "a"]), ([1], ["b", "a"]), ([2], ["c", "a"]))
        found = risk_of(earlier, later)
        assert (found.highest, found.mean, found.people, found.stayed, found.company) == (1.0, 1.0, 3, 3, 1)
        assert found.chance == pytest.approx(1 / 3)

    def test_identical_trajectories_hide_one_another(self) -> None:
        """
        Four people with one trajectory: each is one of four, and no guess is surer than another.
        """
        release = places_of(*(([person], ["ab", "c"]) for person in range(4)))
        found = risk_of(release, release)
        assert (found.mean, found.highest, found.right) == (0.25, 0.25, 0.25)
        assert not release.guess(release, np.arange(4)).sureness.any()

    def test_the_order_of_a_release_does_not_matter(self) -> None:
        """
        Thirty guesses, none surer than another, of which three are right: a tenth, wherever they stand.
        """
        nobody, right = np.zeros(30), np.array([1.0, 1.0, 1.0] + [0.0] * 27)
        release = places_of(([1], ["a"]))
        for found in (right, right[::-1]):
            assert release.highest(found, nobody) == pytest.approx(0.1)

    def test_a_generalized_location_fits_all_its_members(self) -> None:
        """
        Whoever shows {a, b} may have been at a: it is more similar than {c}.
        """
        earlier, later = places_of(([1], ["ab"]), ([2], ["c"])), places_of(([1], ["a"]), ([2], ["c"]))
        assert earlier.guess(later, np.array([0, 1])).to.tolist() == [0, 1]

    def test_nothing_in_common_names_nothing(self) -> None:
        """
        A trajectory without a location of the next release is not linked.
        """
        found = risk_of(places_of(([1], ["a"])), places_of(([1], ["b"])))
        assert (found.mean, found.stayed, found.company) == (0.0, 1, None)

    def test_the_surest_tenth_is_counted(self) -> None:
        """
        Of 100 people 20 have a location of their own: the surest tenth is right, and the mean is low.
        """
        release = places_of(*(([i], ["a", chr(1000 + i)]) for i in range(20)), *(([i], ["a"]) for i in range(20, 100)))
        found = linkage_risk(release, release, generator())
        assert found.highest == 1.0
        assert found.mean == pytest.approx((20 + 80 / 80) / 100)

    @given(
        earlier=st.lists(st.lists(st.sampled_from(["a", "b", "cd", "ef"]), max_size=4), min_size=1, max_size=6),
        later=st.lists(st.lists(st.sampled_from(["a", "bc", "d", "ef"]), max_size=4), max_size=6),
    )
    def test_similarities_are_cosines(self, earlier: list[list[str]], later: list[list[str]]) -> None:
        """
        Beside vectors written out as dictionaries; labels of one release share no member.
        """
        units = [*(set(one) for one in earlier), *(set(one) for one in later)]
        names = set("abcdef")
        shown = {name: sum(any(name in label for label in one) for one in units) for name in names}

        def vector(labels: list[str]) -> dict[str, float]:
            weight = {name: math.log((len(units) + 1) / max(count, 1)) for name, count in shown.items()}
            return {name: weight[name] / len(label) for label in set(labels) for name in label}

        def cosine(one: dict[str, float], other: dict[str, float]) -> float:
            dot = sum(value * other.get(name, 0.0) for name, value in one.items())
            return dot / (math.hypot(*one.values()) * math.hypot(*other.values())) if dot else 0.0

        before = places_of(*(([i], labels) for i, labels in enumerate(earlier)))
        after = places_of(*(([i], labels) for i, labels in enumerate(later)))
        found = LabelSimilarity(before, after).of(np.arange(len(earlier)))
        expected = [[cosine(vector(a), vector(b)) for b in later] for a in earlier]
        assert found.shape == (len(earlier), len(later))
        assert found == pytest.approx(np.array(expected).reshape(found.shape), abs=1e-8)

    def test_an_extract_keeps_the_same_people_in_every_window(self) -> None:
        """
        Too many labels: people with the lowest hashes stay, whatever their order in the release.
        """
        hashes = np.array([5, 1, 9, 3], np.uint64)
        few = VisitedPlaces.of([[0], [1], [2], [3]], [[("a",), ("b",)]] * 4, hashes, most=5)
        assert sorted(few.units.hashes.tolist()) == [1, 3]
        assert few.labels.tolist() == [0, 1, 0, 1]


@given(
    earlier=st.lists(st.sets(st.integers(0, 9), max_size=4), min_size=1, max_size=5),
    later=st.lists(st.sets(st.integers(0, 9), max_size=4), min_size=1, max_size=5),
)
def test_shared_people_are_counted_as_in_sets(earlier: list[set[int]], later: list[set[int]]) -> None:
    """
    For every pair of units.
    """

    def units(groups: list[set[int]]) -> Units:
        entries = [(i, person) for i, group in enumerate(groups) for person in [*group, *group]]
        numbers = np.array([i for i, _ in entries], np.int64)
        return Units.of(numbers, np.array([person for _, person in entries], np.uint64), len(groups))

    of, to = (axis.ravel() for axis in np.meshgrid(np.arange(len(earlier)), np.arange(len(later))))
    found = units(earlier).shared(units(later), of, to).tolist()
    assert found == [len(earlier[i] & later[j]) for i, j in zip(of.tolist(), to.tolist(), strict=True)]


@given(cut=st.integers(1, 4), data=st.data())
def test_cells_are_attacked_as_one_window(cut: int, data: st.DataObject) -> None:
    """
    A release in two cells, joined, is found as the same release in one piece.
    """
    label = st.sampled_from(["a", "b", "c", "d"])
    units = [([i], data.draw(st.lists(label, min_size=1, max_size=3))) for i in range(5)]
    whole = places_of(*units)
    joined = VisitedPlaces.joined([places_of(*units[:cut]), places_of(*units[cut:])])
    assert risk_of(whole, joined) == risk_of(whole, whole)
    assert risk_of(joined, whole) == risk_of(whole, whole)

    ends = [walk([i], (0, 0), (900, 700.0 * i)) for i in range(5)]
    begins = sets_of(*(walk([i], (1_000, 700.0 * i), (1_900, 0)) for i in range(5)))
    pieces = SetEnds.joined([sets_of(*ends[:cut]), sets_of(*ends[cut:])])
    assert risk_of(pieces, begins) == risk_of(sets_of(*ends), begins)


def test_only_releases_of_one_kind_are_linked() -> None:
    """
    Sets and trajectories of check-ins have nothing in common.
    """
    with pytest.raises(TypeError, match="SetEnds and VisitedPlaces cannot be linked"):
        risk_of(sets_of(walk([1], (0, 0), (1, 0))), places_of(([1], ["a"])))


def test_an_extract_is_small_and_says_nothing() -> None:
    """
    It goes from process to process with every window, and must not show anybody in a log.
    """
    release = places_of(*(([i], ["a", "b"]) for i in range(100)))
    assert len(pickle.dumps(release)) < 2 * release.n_bytes + 2_000
    assert "[" not in repr(release)


def test_units_fit_their_people() -> None:
    """
    A last start that is not the number of people is an error of the caller.
    """
    with pytest.raises(ValueError, match="2 people do not fit the units"):
        Units(starts=np.array([0, 1]), hashes=np.array([1, 2], np.uint64))
