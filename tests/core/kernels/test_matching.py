"""The kernels of LSTD, compared with its definition to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.fragments import matching
from core.kernels.oracles import matching as oracle
from core.models.kdelta.anonymize.distance.matching import path_of
from core.trajectories.trajectory import PointTrajectories
from tests.oracles.kdelta import data_sets

TOLERANCES = st.sampled_from([0.0, 500.0, 5000.0, 20_000.0, 1e6])
NO_LIMIT = 1 << 62


@given(data_sets(), st.floats(-1e5, 1e5))
def test_a_path_holds_points_and_steps(trajectories: PointTrajectories, origin: float) -> None:
    """
    From each point to the next one of its trajectory; from the last one there is no step.
    """
    origin_ms, origin_m = int(trajectories.t_ms[0]), np.array([origin, -origin])
    asked = trajectories.starts, trajectories.t_ms, trajectories.xy_m, origin_ms, origin_m
    for lay_path in (matching.lay_path, matching.lay_path.definition):
        path = np.empty((len(trajectories.t_ms), 7))
        lay_path(*asked, path)
        assert path.tolist() == oracle.lay_path(*asked)


@given(data_sets(), TOLERANCES, st.data())
def test_the_nearest_moment_is_that_of_its_definition(
    trajectories: PointTrajectories, tolerance: float, data: st.DataObject
) -> None:
    """
    Compiled or not, searched from the trajectory's first segment on or from the last one that is not too late.
    """
    path, starts = path_of(trajectories), trajectories.starts.tolist()
    number = data.draw(st.integers(0, len(trajectories.users) - 1))
    begin, end = starts[number], starts[number + 1]
    t = data.draw(st.sampled_from(path[:, 0].tolist()) | st.floats(-1e4, 1e5))
    x, y = data.draw(st.tuples(st.floats(-1e5, 1e5), st.floats(-1e5, 1e5)) | st.sampled_from(path[:, 1:3].tolist()))
    expected = oracle.nearest_moment(path, begin, end, t, x, y, tolerance)
    late = [at for at in range(begin, max(end - 1, begin + 1)) if path[at, 0] <= t - tolerance] or [begin]
    for first_segment in (begin, late[-1]):
        asked = path, begin, end, first_segment, t, x, y, tolerance
        assert matching.nearest_moment(*asked) == matching.nearest_moment.definition(*asked) == expected


@given(data_sets(min_size=2), TOLERANCES, st.sampled_from([0.0, 1.0, 7.3]), st.data())
def test_lstd_is_that_of_its_definition(
    trajectories: PointTrajectories, tolerance: float, speed: float, data: st.DataObject
) -> None:
    """
    To the last millimetre; and with a limit below the distance a number between both.
    """
    path, starts = path_of(trajectories), trajectories.starts
    one, other = data.draw(st.tuples(*[st.integers(0, len(trajectories.users) - 1)] * 2))
    expected = oracle.lstd(starts, path, one, other, tolerance, speed)
    for asked in ((one, other), (other, one)):
        for measure in (matching.lstd, matching.lstd.definition):
            assert measure(starts, path, *asked, tolerance, speed, NO_LIMIT) == expected
    for limit in (expected, expected - 1, expected // 2):
        found = matching.lstd(starts, path, one, other, tolerance, speed, limit)
        assert found == expected if expected <= limit else limit < found <= expected
