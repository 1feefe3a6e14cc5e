"""People with one past are clustered together, with room for those who leave."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.kdelta.anonymize.across import EarlierSets
from core.models.kdelta.anonymize.cluster.chunks import similar_chunks
from core.models.kdelta.anonymize.companions import Companions
from core.models.kdelta.anonymize.distance.distances import Distances
from core.models.kdelta.anonymize.distance.lstd import Lstd
from core.models.kdelta.anonymize.persistent import companions_of
from core.trajectories.trajectory import Demands, PointTrajectories
from tests.oracles.kdelta import data_sets, trajectories_of

SIZE_MS = 60_000


def measure(trajectories: PointTrajectories) -> Distances:
    return Lstd(trajectories, tolerance_s=10.0)


def earlier(number: int, *entries: tuple[int, int]) -> EarlierSets:
    users, sets = zip(*sorted(entries), strict=True)
    return EarlierSets(start_ms=number * SIZE_MS, users=np.array(users), sets=np.array(sets))


def companions(n_users: int, *windows: EarlierSets, windows_left: int = 1) -> Companions:
    return companions_of(windows, n_users, windows_left=windows_left, size_ms=SIZE_MS)


def test_people_of_one_block_were_in_the_same_sets_of_the_same_windows() -> None:
    """
    A window in which somebody was not released is missing in the past; equal numbers of two windows are other sets.
    """
    found = companions(5, earlier(0, (0, 7), (1, 7), (2, 7)), earlier(1, (0, 7), (1, 7), (3, 7)))
    assert found.block.tolist() == [0, 0, 1, 2, 3]
    both, first, second, nobody = found.pasts
    assert first < both
    assert second < both
    assert not first & second
    assert nobody == frozenset()
    assert not found.is_alone
    assert companions(5).is_alone


@given(feed=data_sets(), windows_left=st.integers(0, 2))
def test_people_are_compared_as_if_they_stayed_where_they_end(feed: PointTrajectories, windows_left: int) -> None:
    """
    Half as many points more, all at the last position, after everybody's end and within half a window.
    """
    ahead = companions(feed.n_users, windows_left=windows_left).ahead(feed)
    assert (ahead.users == feed.users).all()
    for i in range(len(feed.users)):
        own, longer = slice(*feed.starts[i : i + 2]), slice(*ahead.starts[i : i + 2])
        n = own.stop - own.start
        assert ahead.t_ms[longer][:n].tolist() == feed.t_ms[own].tolist()
        assert ahead.xy_m[longer][:n].tolist() == feed.xy_m[own].tolist()
        stays, stays_ms = ahead.xy_m[longer][n:], ahead.t_ms[longer][n:]
        assert len(stays) == (max(n // 2, 1) if windows_left else 0)
        assert (stays == feed.xy_m[own.stop - 1]).all()
        assert (np.diff(ahead.t_ms[longer]) > 0).all()
        assert (stays_ms > feed.t_ms.max()).all()
        assert (stays_ms <= feed.t_ms.max() + 1 + SIZE_MS // 2).all()


@pytest.mark.parametrize(
    ("windows_left", "n_people", "wanted"),
    [(0, 12, 2), (1, 12, 4), (2, 12, 7), (2, 20, 8), (5, 20, 8), (1, 3, 2), (1, 1, 2)],
)
def test_sets_have_room_for_those_who_will_leave(windows_left: int, n_people: int, wanted: int) -> None:
    """
    Twice k for each window that is left, up to four times k; a block that is too small for two such sets is one set.
    """
    feed = trajectories_of(*((user, [(0, float(user), 0.0)]) for user in range(n_people)))
    chunks = similar_chunks(feed, measure, largest=100)
    demands = Demands.alike(n_people, k=2, delta_m=100.0)
    found = companions(n_people, windows_left=windows_left).wanted(demands, chunks, within_m=1_000.0)
    assert found.k.tolist() == [wanted] * n_people


def test_people_far_from_others_want_no_more_than_there_are() -> None:
    """
    Three people in a village are a set of their own, however many a town has.
    """
    feed = trajectories_of(*((user, [(0, 5_000.0 * (user < 3), 0.0)]) for user in range(20)))
    chunks = similar_chunks(feed, measure, largest=100)
    demands = Demands.alike(20, k=2, delta_m=100.0)
    found = companions(20, windows_left=5).wanted(demands, chunks, within_m=1_000.0)
    assert found.k.tolist() == [3] * 3 + [8] * 17


@given(feed=data_sets(max_size=20), data=st.data(), largest=st.integers(1, 6))
def test_people_of_two_blocks_are_in_two_chunks(feed: PointTrajectories, data: st.DataObject, largest: int) -> None:
    """
    Each trajectory is in one chunk, no chunk is too large, and none has people with two pasts.
    """
    sets = data.draw(st.lists(st.integers(0, 2), min_size=feed.n_users, max_size=feed.n_users))
    found = companions(feed.n_users, earlier(0, *((user, set_) for user, set_ in enumerate(sets))))
    chunks = similar_chunks(feed, measure, largest=largest, apart=found.apart(feed))
    assert sorted(i for chunk in chunks for i in chunk.members.tolist()) == list(range(len(feed.users)))
    for chunk in chunks:
        assert 0 < len(chunk.members) <= largest
        assert len({sets[user] for user in feed.users[chunk.members].tolist()}) == 1
