"""Simulated attacks, beside what looking at every trajectory finds, and beside what the guarantees promise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.release.attacks import risk
from core.release.attacks.risk import Attack, PublishedPoints, Risk, attack_points, attack_sequences, worst
from core.trajectories.trajectory import PointTrajectories, Sequences

NAMES = ("a", "b", "c", "d")


def generator() -> np.random.Generator:
    return np.random.default_rng(1)


def sequences(trajectories: list[tuple[int, list[int]]]) -> Sequences:
    """Trajectories of ``(user, locations)``; users are dense and ascend."""
    return Sequences(
        users=np.array([user for user, _ in trajectories], dtype=np.int64),
        starts=np.cumsum([0, *(len(visits) for _, visits in trajectories)]).astype(np.int64),
        locations=np.array([place for _, visits in trajectories for place in visits], dtype=np.int64),
    )


def contains(trajectory: list[int], places: tuple[int, ...], groups: list[int]) -> bool:
    """Whether places occur in a trajectory in this order, each as its generalized location."""
    rest = iter(groups[place] for place in trajectory)
    return all(groups[place] in rest for place in places)


class TestSequences:
    @pytest.mark.parametrize(
        ("groups", "m", "highest", "mean"),
        [
            # u0: a b, u1: a b, u2: b a. Exact: a b is of two people, b a of one.
            ([0, 1], 2, 1.0, (1 / 2 + 1 / 2 + 1) / 3),
            ([0, 0], 2, 1 / 3, 1 / 3),  # generalized to {a, b}
            ([0, 1], 1, 1 / 3, 1 / 3),
        ],
    )
    def test_worked_example(self, groups: list[int], m: int, highest: float, mean: float) -> None:
        """
        Three people, two places: the one who visited them the other way round stands alone, until they are merged.
        """
        truth = sequences([(0, [0, 1]), (1, [0, 1]), (2, [1, 0])])
        members = [tuple(NAMES[i] for i in range(2) if groups[i] == group) for group in range(2)]
        published = [tuple(members[groups[place]] for place in visits) for visits in ([0, 1], [0, 1], [1, 0])]
        found = attack_sequences(truth, NAMES[:2], published, [0, 1, 2], m=m, generator=generator())
        assert found.keys() == {Attack.PLACES}
        assert found[Attack.PLACES].people == 3
        assert found[Attack.PLACES].highest == pytest.approx(highest)
        assert found[Attack.PLACES].mean == pytest.approx(mean)

    @given(data=st.data(), m=st.integers(1, 3))
    def test_it_finds_what_looking_at_every_trajectory_finds(self, data: st.DataObject, m: int) -> None:
        """
        Everybody has one trajectory of exactly m visits, so that the attacker's knowledge is no matter of chance: the
        people behind what fits are those of every released trajectory that contains it.
        """
        trajectories = data.draw(st.lists(st.lists(st.integers(0, 3), min_size=m, max_size=m), min_size=1, max_size=8))
        groups = data.draw(st.lists(st.integers(0, 3), min_size=4, max_size=4))
        kept = data.draw(st.lists(st.booleans(), min_size=len(trajectories), max_size=len(trajectories)))
        members = [tuple(NAMES[i] for i in range(4) if groups[i] == group) for group in range(4)]
        owners = [user for user, one in enumerate(kept) if one]
        published = [tuple(members[groups[place]] for place in trajectories[user]) for user in owners]
        found = attack_sequences(
            sequences(list(enumerate(trajectories))), NAMES, published, owners, m=m, generator=generator()
        )[Attack.PLACES]

        expected = []
        for user, visits in enumerate(trajectories):
            people = {other for other in owners if contains(trajectories[other], tuple(visits), groups)}
            expected.append(1 / len(people) if user in people else 0.0)
        assert found.people == len(trajectories)
        assert found.highest == pytest.approx(max(expected))
        assert found.mean == pytest.approx(sum(expected) / len(expected))

    @given(
        trajectories=st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=4), min_size=1, max_size=8),
        m=st.integers(1, 3),
    )
    def test_it_never_exceeds_what_km_anonymity_promises(self, trajectories: list[list[int]], m: int) -> None:
        """
        Where every subtrajectory of up to m places has the support of at least k people, nobody is found with more
        than 1/k, whatever was drawn.
        """
        supports: dict[tuple[int, ...], set[int]] = {}
        for user, visits in enumerate(trajectories):
            for size in range(1, m + 1):
                for part in combinations(visits, size):
                    supports.setdefault(part, set()).add(user)
        k = min(len(people) for people in supports.values())
        published = [tuple((NAMES[place],) for place in visits) for visits in trajectories]
        found = attack_sequences(
            sequences(list(enumerate(trajectories))),
            NAMES,
            published,
            range(len(trajectories)),
            m=m,
            generator=generator(),
        )
        assert 0 < worst(found) <= 1 / k

    def test_pieces_of_one_person_are_one_person(self) -> None:
        """
        Two people, one of them in three pieces: who fits is two people, not four.
        """
        truth = sequences([(0, [0]), (0, [0]), (0, [0]), (1, [0])])
        found = attack_sequences(truth, NAMES, [(("a",),)] * 4, [0, 0, 0, 1], m=2, generator=generator())
        assert found[Attack.PLACES].highest == 1 / 2


def points(trajectories: list[list[tuple[int, float]]]) -> PointTrajectories:
    """Trajectories along a line, one a user, of ``(time, metres)``."""
    flat = [point for trajectory in trajectories for point in trajectory]
    return PointTrajectories(
        users=np.arange(len(trajectories)),
        starts=np.cumsum([0, *map(len, trajectories)]).astype(np.int64),
        t_ms=np.array([t for t, _ in flat], dtype=np.int64),
        xy_m=np.array([(x, 0.0) for _, x in flat]).reshape(-1, 2),
    )


def published(
    trajectories: list[list[tuple[int, float]]], owners: list[int], sets: list[int] | None
) -> PublishedPoints:
    found = points(trajectories)
    return PublishedPoints(
        starts=found.starts,
        t_ms=found.t_ms,
        xy_m=found.xy_m,
        owners=np.array(owners, dtype=np.int64),
        sets=None if sets is None else np.array(sets, dtype=np.int64),
    )


class TestPoints:
    def test_who_knows_when_finds_more(self) -> None:
        """
        Two people pass the same place at different times: by the place each is one of two, by the time as well alone.
        """
        #  u0  0 m at 0 ... 100 m at 100
        #  u1  0 m at 500 ... 100 m at 600
        true = [[(0, 0.0), (100, 100.0)], [(500, 0.0), (600, 100.0)]]
        found = attack_points(points(true), published(true, [0, 1], None), delta_m=10, generator=generator())
        assert found[Attack.PLACES] == Risk(highest=1 / 2, mean=1 / 2, people=2)
        assert found[Attack.TIMES] == Risk(highest=1.0, mean=1.0, people=2)

    def test_between_two_points_a_trajectory_goes_straight(self) -> None:
        """
        The truth has a point in the middle of a released segment; and a trajectory is nowhere before it begins.
        """
        true, released = [[(50, 50.0)], [(50, 50.0)]], [[(0, 0.0), (100, 100.0)], [(60, 50.0), (90, 50.0)]]
        found = attack_points(points(true), published(released, [0, 1], None), delta_m=1, generator=generator())
        assert found[Attack.TIMES] == Risk(highest=1.0, mean=1 / 2, people=2)

    def test_members_of_a_set_are_found_together_where_nobody_can_tell_them_apart(self) -> None:
        """
        One member of a set of three is near: alone where members differ, one of three where they do not.
        """
        true, released = [[(0, 0.0)]], [[(0, 0.0)], [(0, 50.0)], [(0, 90.0)], [(0, 5_000.0)]]
        for sets, expected in ((None, 1.0), ([7, 7, 7, 8], 1 / 3)):
            found = attack_points(
                points(true), published(released, [0, 1, 2, 3], sets), delta_m=10, generator=generator()
            )
            assert {one.highest for one in found.values()} == {expected}

    def test_who_was_moved_away_is_not_found(self) -> None:
        """
        Somebody else is now where the person was: whoever takes them is mistaken.
        """
        true, released = [[(0, 0.0)], [(0, 900.0)]], [[(0, 900.0)], [(0, 0.0)]]
        found = attack_points(points(true), published(released, [0, 1], None), delta_m=10, generator=generator())
        assert worst(found) == 0.0


def test_no_more_people_are_attacked_than_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    Cost is bounded by a sample, and the figures are of the sample.
    """
    monkeypatch.setattr(risk, "SAMPLE", 5)
    truth = sequences([(user, [0]) for user in range(20)])
    found = attack_sequences(truth, NAMES, [(("a",),)] * 20, range(20), m=2, generator=generator())
    assert (found[Attack.PLACES].highest, found[Attack.PLACES].people) == (1 / 20, 5)
    assert found[Attack.PLACES].mean == pytest.approx(1 / 20)


def test_a_place_with_several_labels_is_looked_for_in_each() -> None:
    """
    With local recoding the attacker takes everybody for a match who has a label with the place in it.
    """
    truth = sequences([(user, [0]) for user in range(4)])
    published = [(("a",),), (("a",),), (("a", "b"),), (("a", "b"),)]
    risk = attack_sequences(truth, ["a"], published, [0, 1, 2, 3], m=1, generator=generator())
    assert risk[Attack.PLACES] == Risk(highest=0.25, mean=0.25, people=4)


def test_whoever_has_nothing_to_know_is_not_found() -> None:
    """
    A person without a visit that the attacker may know is attacked by nothing.
    """
    truth = sequences([(0, []), (1, [0]), (2, [0])])
    risk = attack_sequences(truth, ["a"], [(("a",),), (("a",),)], [1, 2], m=1, generator=generator())
    assert risk[Attack.PLACES].highest == 0.5
    assert risk[Attack.PLACES].mean == pytest.approx(1 / 3)
