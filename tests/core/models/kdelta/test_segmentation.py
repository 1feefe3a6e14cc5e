from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.models.kdelta.anonymize import voting
from core.models.kdelta.anonymize.segmentation import Segmentation, SegmentationOptions, segment
from core.models.kdelta.anonymize.voting import VOTE, segment_starts, segment_votes
from core.trajectories.trajectory import PointTrajectories
from tests.benchmarks.trajectory_inputs import Converging, converging_groups
from tests.oracles.kdelta import Point, cuts_of, data_sets, points_of, trajectories_of, votes_by_user

SIGMAS = st.sampled_from([0.5, 3.0, 10.0, 50.0])
OPTIONS = st.builds(
    SegmentationOptions,
    sigma_m=SIGMAS,
    window=st.integers(1, 3),
    threshold=st.sampled_from([1e-6, 0.05, 0.3, 1.0]),
)


def straight(
    n_points: int, *, x: float = 0.0, y: float = 0.0, start_s: int = 0, metres: float = 100.0, seconds: int = 10
) -> list[Point]:
    """Move east at a steady pace."""
    return [(1000 * (start_s + seconds * i), x + metres * i, y) for i in range(n_points)]


def random_walks(n: int, *, n_points: int, extent_m: float, seed: int) -> PointTrajectories:
    """Draw people who are not synchronized, every third with a second trajectory."""
    rng = np.random.default_rng(seed)
    t_ms = np.sort(rng.integers(0, 600_000, (n, n_points)), axis=1) + np.arange(n_points)
    steps = rng.normal(0.0, 60.0, (n, n_points, 2)).cumsum(axis=1)
    return PointTrajectories(
        users=np.arange(n) - (np.arange(n) + 1) // 4,
        starts=np.arange(n + 1) * n_points,
        t_ms=t_ms.ravel(),
        xy_m=(rng.uniform(0.0, extent_m, (n, 1, 2)) + steps).reshape(-1, 2),
    )


def assert_votes(trajectories: PointTrajectories, sigma_m: float) -> None:
    """Compare with the oracle; a vote within 1e-4 of half a millionth may be rounded either way."""
    votes = segment_votes(trajectories, sigma_m=sigma_m)
    expected = votes_by_user(trajectories, sigma_m)
    assert len(votes) == len(expected)
    for vote, by_user in zip(votes.tolist(), expected, strict=True):
        low, high = (sum(round(VOTE * one + slack) for one in by_user) for slack in (-1e-4, 1e-4))
        assert low <= vote <= high


def cut_times_ms(result: Segmentation, trajectories: PointTrajectories) -> dict[int, list[int]]:
    """Times at which each trajectory is cut."""
    found: dict[int, list[int]] = {index: [] for index in range(len(trajectories.users))}
    for (one, other), at in zip(itertools.pairwise(result.sources.tolist()), result.pieces.starts[1:-1], strict=True):
        if one == other:
            found[one].append(int(trajectories.t_ms[at]))
    return found


# ---------------------------------------------------------------- votes


@given(data_sets(), SIGMAS)
def test_votes_are_those_of_the_definition(trajectories: PointTrajectories, sigma_m: float) -> None:
    """
    A segment has a vote of exp(-d^2 / 2 sigma^2) from each other user, d exact, over the common time.
    """
    assert_votes(trajectories, sigma_m)


@pytest.mark.parametrize("extent_m", [10.0, 1_000.0, 100_000.0])
def test_votes_do_not_depend_on_what_the_grid_leaves_out(extent_m: float) -> None:
    """
    Whether everybody is in one cell or scattered over many, nobody who has a vote is missed or counted twice.
    """
    assert_votes(random_walks(16, n_points=7, extent_m=extent_m, seed=5), 40.0)


@given(data_sets(extent_m=200), SIGMAS, st.integers(1, 50))
def test_votes_do_not_depend_on_blocks(trajectories: PointTrajectories, sigma_m: float, at_once: int) -> None:
    """
    However few pairs are held at a time, the votes are the same.
    """
    expected = segment_votes(trajectories, sigma_m=sigma_m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voting, "_PAIRS_AT_ONCE", at_once)
        assert segment_votes(trajectories, sigma_m=sigma_m).tolist() == expected.tolist()


@given(data_sets(extent_m=200), SIGMAS)
def test_votes_do_not_depend_on_the_size_of_cells(trajectories: PointTrajectories, sigma_m: float) -> None:
    """
    A grid of one cell, which leaves nothing out, gives the same votes.
    """
    expected = segment_votes(trajectories, sigma_m=sigma_m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voting, "_CELLS_PER_SEGMENT", 1)
        assert segment_votes(trajectories, sigma_m=sigma_m).tolist() == expected.tolist()


def test_a_long_gap_does_not_fill_the_grid() -> None:
    """
    Somebody who crosses the city in one segment of the whole window is listed in few cells, and still has votes.
    """
    crossing = [(0, 0.0, 0.0), (36_000_000, 1_000_000.0, 1_000_000.0)]
    near = straight(50, metres=1.0, seconds=1)
    assert_votes(trajectories_of((0, crossing), (1, near), (2, straight(50, y=5.0, metres=1.0, seconds=1))), 20.0)


def test_the_distance_is_the_smallest_in_the_common_time() -> None:
    """
    Two who cross one another's way midway between their points, at the same time, are at distance 0 there.
    """
    # 0 ->          x = 0..100, y = 0
    # 1 -> crosses  x = 50,     y = -50..50, at 5 s
    # 2 -> the same way, 10 s later
    trajectories = trajectories_of(
        (0, [(0, 0.0, 0.0), (10_000, 100.0, 0.0)]),
        (1, [(0, 50.0, -50.0), (10_000, 50.0, 50.0)]),
        (2, [(10_000, 50.0, -50.0), (20_000, 50.0, 50.0)]),
    )
    assert segment_votes(trajectories, sigma_m=1.0).tolist() == [VOTE, VOTE, 0]


def test_sigma_is_a_standard_deviation() -> None:
    """
    At one sigma a vote is exp(-1/2), at two exp(-2).
    """
    trajectories = trajectories_of((0, straight(3)), (1, straight(3, y=10.0)))
    assert segment_votes(trajectories, sigma_m=10.0).tolist() == [606_531] * 4
    assert segment_votes(trajectories, sigma_m=5.0).tolist() == [135_335] * 4


def test_pieces_of_one_user_have_one_vote_and_none_for_themselves() -> None:
    """
    A person in two trajectories is one person to others, and no company to themselves.
    """
    trajectories = trajectories_of((0, straight(5)), (1, straight(5)), (1, straight(5)))
    assert segment_votes(trajectories, sigma_m=10.0).tolist() == [VOTE] * 12


def test_a_single_point_has_no_vote() -> None:
    """
    Who has no segment neither votes nor is voted for, and stays whole.
    """
    trajectories = trajectories_of((0, straight(1)), (1, straight(9)), (2, straight(1)))
    result = segment(trajectories, SegmentationOptions(window=1, threshold=1e-6))
    assert result.votes.tolist() == [0] * 8
    assert result.pieces.starts.tolist() == [0, 1, 10, 11]
    assert result.representativeness.tolist() == [0, 0, 0]


@given(data_sets(), SIGMAS)
def test_votes_are_at_most_the_other_people(trajectories: PointTrajectories, sigma_m: float) -> None:
    """
    Representativeness is a number of people nearby: never more than there are.
    """
    votes = segment_votes(trajectories, sigma_m=sigma_m)
    assert ((votes >= 0) & (votes <= VOTE * (trajectories.n_users - 1))).all()


# ---------------------------------------------------------------- pieces


@given(data_sets(max_size=8), OPTIONS)
def test_cuts_are_those_of_the_definition(trajectories: PointTrajectories, options: SegmentationOptions) -> None:
    """
    A trajectory is cut where the votes change most among the points nearby, and by the threshold or more.
    """
    result = segment(trajectories, options)
    own = np.split(result.votes, segment_starts(trajectories.starts)[1:-1])
    expected = [
        int(start) + cut
        for start, its in zip(trajectories.starts[:-1], own, strict=True)
        for cut in [0, *cuts_of(its.tolist(), options.window, round(options.threshold * VOTE))]
    ]
    assert result.pieces.starts.tolist() == [*expected, len(trajectories.t_ms)]


@given(data_sets(), OPTIONS)
def test_pieces_partition_the_points(trajectories: PointTrajectories, options: SegmentationOptions) -> None:
    """
    The points of a trajectory's pieces, one piece after the other, are its points; they stay its user's.
    """
    result = segment(trajectories, options)
    pieces = result.pieces
    for index in range(len(trajectories.users)):
        its = np.flatnonzero(result.sources == index).tolist()
        assert [point for piece in its for point in points_of(pieces, piece)] == points_of(trajectories, index)
        assert all(pieces.users[piece] == trajectories.users[index] for piece in its)
    assert result.sources.tolist() == sorted(result.sources.tolist())
    assert pieces.n_users == trajectories.n_users


@given(data_sets(), OPTIONS)
def test_no_piece_is_shorter_than_the_window(trajectories: PointTrajectories, options: SegmentationOptions) -> None:
    """
    Each piece has as many segments as the window, or is a whole trajectory.
    """
    result = segment(trajectories, options)
    whole = np.bincount(result.sources)[result.sources] == 1
    assert (whole | (np.diff(result.pieces.starts) - 1 >= options.window)).all()


@given(data_sets(), OPTIONS, st.randoms(use_true_random=False))
def test_the_order_of_users_does_not_matter(
    trajectories: PointTrajectories, options: SegmentationOptions, random: Any
) -> None:
    """
    The same people in another order are cut at the same points.
    """
    order = list(range(trajectories.n_users))
    random.shuffle(order)
    moved = [index for user in order for index in np.flatnonzero(trajectories.users == user).tolist()]
    rank = {user: at for at, user in enumerate(order)}
    permuted = trajectories_of(*((rank[int(trajectories.users[i])], points_of(trajectories, i)) for i in moved))
    one, other = segment(trajectories, options), segment(permuted, options)
    assert other.representativeness.tolist() == one.representativeness[moved].tolist()
    cuts, cuts_permuted = cut_times_ms(one, trajectories), cut_times_ms(other, permuted)
    assert [cuts_permuted[at] for at in range(len(moved))] == [cuts[index] for index in moved]


@given(data_sets(), OPTIONS)
def test_representativeness_is_the_mean_of_the_votes(
    trajectories: PointTrajectories, options: SegmentationOptions
) -> None:
    """
    Of a trajectory and of a piece alike; a piece's votes, taken anew among whole trajectories, are the same.
    """
    result = segment(trajectories, options)
    own = np.split(result.votes, segment_starts(trajectories.starts)[1:-1])
    means = [int(its.sum() / len(its) + 0.5) if len(its) else 0 for its in own]
    assert result.representativeness.tolist() == means
    for piece, source in enumerate(result.sources.tolist()):
        first, last = result.pieces.starts[piece : piece + 2] - trajectories.starts[source]
        its = own[source][first : last - 1]
        assert result.piece_representativeness[piece] == (int(its.sum() / len(its) + 0.5) if len(its) else 0)


# ---------------------------------------------------------------- scenes


def test_a_trajectory_is_cut_where_company_begins() -> None:
    """
    Three people join somebody half-way: the piece alone and the piece together.
    """
    # 0: -----------+-----------
    # 1, 2, 3:       -----------
    alone_then_together = straight(21)
    joining = straight(11, x=1_000.0, start_s=100)
    trajectories = trajectories_of((0, alone_then_together), (1, joining), (2, joining), (3, joining))
    result = segment(trajectories, SegmentationOptions(sigma_m=20.0))
    assert result.pieces.starts.tolist() == [0, 10, 21, 32, 43, 54]
    assert result.sources.tolist() == [0, 0, 1, 2, 3]
    assert result.piece_representativeness.tolist() == [0, *[3 * VOTE] * 4]


@pytest.mark.parametrize(("threshold", "pieces"), [(3.0, 2), (3.000001, 1)])
def test_a_change_as_large_as_the_threshold_is_a_cut(threshold: float, pieces: int) -> None:
    """
    Three people come: a threshold of three still cuts, a millionth more does not.
    """
    joining = straight(11, x=1_000.0, start_s=100)
    trajectories = trajectories_of((0, straight(21)), *((user, joining) for user in (1, 2, 3)))
    result = segment(trajectories, SegmentationOptions(sigma_m=20.0, threshold=threshold))
    assert result.sources.tolist() == [0] * pieces + [1, 2, 3]


def test_of_equal_changes_the_earlier_is_the_cut() -> None:
    """
    When company comes little by little, the change is the same at several points: one cut, at the first.
    """
    trajectories = trajectories_of(
        (0, straight(21)),
        *((n + 1, straight(16 - n, x=500.0 + 100 * n, start_s=50 + 10 * n)) for n in range(12)),
    )
    result = segment(trajectories, SegmentationOptions(sigma_m=1.0, window=2))
    assert result.votes[:20].tolist() == [VOTE * n for n in [0] * 5 + list(range(1, 13)) + [12] * 3]
    assert cut_times_ms(result, trajectories)[0] == [60_000]


def test_a_crowd_that_moves_together_is_not_cut() -> None:
    """
    Where the company stays the same there is nothing to cut, however large it is.
    """
    rng = np.random.default_rng(4)
    rows = [(user, straight(30, x=float(rng.normal(0, 20)), y=float(rng.normal(0, 20)))) for user in range(40)]
    result = segment(trajectories_of(*rows), SegmentationOptions())
    assert result.sources.tolist() == list(range(40))
    assert (result.representativeness > 35 * VOTE).all()


def test_a_lone_trajectory_is_not_cut() -> None:
    """
    Without others there are no votes, whatever the threshold.
    """
    result = segment(trajectories_of((0, straight(40))), SegmentationOptions(window=1, threshold=1e-6))
    assert result.pieces.starts.tolist() == [0, 40]
    assert result.representativeness.tolist() == [0]


def test_identical_trajectories_are_one_crowd() -> None:
    """
    Each of n people on the same way at the same time has n - 1 votes all along, and none is cut.
    """
    result = segment(trajectories_of(*((user, straight(12)) for user in range(7))), SegmentationOptions())
    assert result.votes.tolist() == [6 * VOTE] * 77
    assert result.sources.tolist() == list(range(7))


def test_nobody_at_all() -> None:
    """
    A window without trajectories has no pieces.
    """
    result = segment(trajectories_of(), SegmentationOptions())
    assert result.pieces.starts.tolist() == [0]
    assert len(result.sources) == len(result.votes) == len(result.representativeness) == 0


@pytest.mark.deep
def test_many_users() -> None:
    """
    Two thousand people in a city: blocks and cells by the hundred, and a sample of votes is right.
    """
    trajectories = random_walks(2_000, n_points=8, extent_m=8_000.0, seed=6)
    votes = segment_votes(trajectories, sigma_m=50.0).reshape(-1, 7)
    expected = votes_by_user(trajectories, 50.0, of=(777,))
    assert votes[777].tolist() == [sum(round(VOTE * one) for one in by_user) for by_user in expected]
    assert votes[777].min() > 0


@pytest.fixture(scope="module")
def converging() -> Converging:
    return converging_groups()


def test_the_converging_groups_are_as_described(converging: Converging) -> None:
    """
    25 trajectories, 1,392 points, 91 square kilometres, 30 minutes (Theodosopoulos 2013, section 6.1).
    """
    trajectories = converging.trajectories
    assert (len(trajectories.users), len(trajectories.t_ms)) == (25, 1_392)
    assert np.ptp(trajectories.xy_m, axis=0).prod() / 1e6 == pytest.approx(91.0, abs=1.0)
    assert np.ptp(trajectories.t_ms) / 60_000 == pytest.approx(30.0, abs=0.1)
    inside = np.diff(trajectories.t_ms) > 0
    inside[trajectories.starts[1:-1] - 1] = True
    assert inside.all()


@pytest.mark.parametrize("sigma_m", [200.0, 350.0, 500.0])
def test_groups_that_converge_are_cut_where_they_do(converging: Converging, sigma_m: float) -> None:
    """
    Every vehicle of the three groups is cut near the place where they meet, and then has the others for company.
    """
    result = segment(converging.trajectories, SegmentationOptions(sigma_m=sigma_m))
    for index, cuts in cut_times_ms(result, converging.trajectories).items():
        meeting = [at for at in cuts if abs(at - converging.meet_ms) <= 3 * 60_000]
        assert len(meeting) == 1, (index, cuts)
        before, after = result.piece_representativeness[result.sources == index][:2]
        assert before < 12 * VOTE < after
    assert 50 <= len(result.sources) <= 55


# ---------------------------------------------------------------- options


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"sigma_m": 0.0}, r"^sigma_m is 0\.0: it must be a number of metres in 0\.01\.\.1e7$"),
        ({"sigma_m": float("nan")}, "^sigma_m is nan: it must be a number of metres"),
        ({"sigma_m": 1e8}, "^sigma_m is 100000000.0: it must be a number of metres"),
        ({"window": 0}, "^window is 0: it must be a number of segments, at least 1$"),
        ({"threshold": 0.0}, r"^threshold is 0\.0: it must be a finite number of votes, at least 1e-6$"),
        ({"threshold": float("inf")}, "^threshold is inf: it must be a finite number of votes"),
        ({"threshold": float("nan")}, "^threshold is nan: it must be a finite number of votes"),
    ],
)
def test_an_option_out_of_range_is_named(option: dict[str, Any], message: str) -> None:
    """
    A bad option stops at once, with its name, its value and what is allowed.
    """
    with pytest.raises(ValueError, match=message):
        SegmentationOptions(**option)


@pytest.mark.parametrize("options", [{"threshold": 1e300}, {"window": 10**9}])
def test_options_may_rule_out_any_cut(options: dict[str, Any]) -> None:
    """
    No threshold and no window is too large: nothing is cut.
    """
    trajectories = trajectories_of((0, straight(21)), (1, straight(11, x=1_000.0, start_s=100)))
    assert segment(trajectories, SegmentationOptions(**options)).sources.tolist() == [0, 1]
    assert segment(trajectories, SegmentationOptions(threshold=0.5)).sources.tolist() == [0, 0, 1]


def test_a_trajectory_without_points_is_refused() -> None:
    """
    It would have neither segments nor a piece.
    """
    with pytest.raises(ValueError, match=r"^a trajectory without points cannot be segmented: leave it out$"):
        segment(trajectories_of((0, straight(3)), (1, [])), SegmentationOptions())
