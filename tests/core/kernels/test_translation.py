"""The kernel of the exchangeable translation, compared with its definition to the last bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.kernels.fragments import translation
from core.kernels.oracles import translation as oracle
from core.models.kdelta.anonymize.distance.matching import path_of
from core.records.arrays import starts_of
from core.trajectories.trajectory import PointTrajectories
from tests.oracles.kdelta import data_sets


@given(data_sets(min_size=2), st.sampled_from([0.0, 500.0, 20_000.0, 1e6]), st.data())
def test_members_are_represented_as_defined(
    trajectories: PointTrajectories, tolerance: float, data: st.DataObject
) -> None:
    """
    Several sets at once, with any times: before, inside and after the spans of their members.
    """
    n, first_ms, last_ms = len(trajectories.users), int(trajectories.t_ms.min()), int(trajectories.t_ms.max())
    times = st.integers(first_ms - 1000, last_ms + 1000) | st.sampled_from(trajectories.t_ms.tolist())
    set_of = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    sets = [members for c in range(3) if (members := [i for i in range(n) if set_of[i] == c])]
    pivots = [data.draw(st.sampled_from(members)) for members in sets]
    at_ms = [sorted(data.draw(st.sets(times, min_size=1, max_size=5))) for _ in sets]
    n_times, sizes = np.array([len(one) for one in at_ms]), np.array([len(one) for one in sets])
    q, path = int((n_times * sizes).sum()), path_of(trajectories)
    columns, origin_m = (trajectories.starts, trajectories.t_ms, trajectories.xy_m), trajectories.xy_m.mean(axis=0)
    for represent in (translation.represent, translation.represent.definition):
        found_t, found_m, mean_m = np.empty(q), np.empty((q, 2)), np.empty((int(n_times.sum()), 2))
        represent(
            *columns,
            path,
            first_ms,
            origin_m,
            tolerance,
            np.array(pivots),
            np.concatenate([np.array(one) for one in sets]),
            starts_of(sizes),
            np.concatenate([np.array(one) for one in at_ms]),
            starts_of(n_times),
            found_t,
            found_m,
            mean_m,
        )
        expected = [
            oracle.represent(*columns, path, first_ms, origin_m, tolerance, pivot, np.array(one), np.array(at))
            for pivot, one, at in zip(pivots, sets, at_ms, strict=True)
        ]
        assert found_t.tolist() == [t for one, _, _ in expected for t in one.ravel()]
        assert found_m.tolist() == [xy for _, one, _ in expected for xy in one.reshape(-1, 2).tolist()]
        assert mean_m.tolist() == [xy for _, _, one in expected for xy in one.tolist()]
