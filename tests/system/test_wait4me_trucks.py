"""Wait for Me on the trucks of Athens, beside what the authors' own program made of them.

The trucks are not part of the project: without them these tests are skipped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import pytest

from core.models.kdelta.anonymize.wait4me import Wait4MeOptions, wait4me
from core.models.kdelta.guarantee import KDelta
from core.trajectories.trajectory import Demands, PointTrajectories
from stream.replay.evaluation.sources import read_source
from tests.benchmarks.trajectory_inputs import trucks
from tests.benchmarks.wait4me.pairs import made_of
from tests.oracles.kdelta import verified
from tests.paths import DATA

TRUCKS = DATA / "athens_trucks_w4m.tsv.gz"
RELEASE = DATA / "w4m_reference_trucks_k5.out.gz"

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(not TRUCKS.is_file(), reason=f"the trucks of Athens are not here: {TRUCKS}"),
]

THEIR_TRASH = 2
THEIR_METRES = 4591.852
"""Mean spatial translation: 510,214,464 m over the 111,113 points of trajectories that are not in the trash."""
THEIR_CREATED_AND_DELETED = 13_917 + 3_140


@pytest.mark.parametrize("translation", ["exchangeable", "minimal"])
def test_trucks_move_three_fifths_of_what_the_authors_program_moves_them(
    translation: Literal["exchangeable", "minimal"],
) -> None:
    """
    K = 5, delta = 500 m, as few in the trash as they have, fewer points created and deleted, and the release verified
    as it leaves. The published translation, which leaves pivots alone, stays within three quarters.
    """
    whole = trucks(TRUCKS)
    # The verifier's projection is round the origin, and their plane is the Greek grid.
    here = PointTrajectories(
        users=whole.users, starts=whole.starts, t_ms=whole.t_ms, xy_m=whole.xy_m - whole.xy_m.mean(axis=0)
    )
    n = len(here.users)
    options = Wait4MeOptions(translation=translation, time_tolerance_s=60.0, trash_share=THEIR_TRASH / n)
    demands = Demands.alike(n, k=5, delta_m=500.0)

    result = wait4me(here, demands, options, np.random.default_rng(1))

    report = verified(here, result, KDelta(k=5, delta_m=500.0), (38.0, 23.7))
    assert report.holds, report
    assert len(result.trash) <= THEIR_TRASH
    assert result.points_created + result.distortion.points_deleted <= THEIR_CREATED_AND_DELETED
    n_points = int(np.diff(here.starts)[result.sources].sum())
    metres = result.distortion.space_translation_m / n_points
    assert metres <= {"exchangeable": 0.6, "minimal": 0.75}[translation] * THEIR_METRES
    plain = wait4me(here, demands, replace(options, refined=False), np.random.default_rng(1))
    assert len(result.trash) <= len(plain.trash)
    assert result.distortion.space_translation_m < plain.distortion.space_translation_m


@pytest.mark.skipif(not RELEASE.is_file(), reason=f"the release of the authors' program is not here: {RELEASE}")
def test_the_translation_in_the_log_of_the_authors_program_follows_from_its_release() -> None:
    """
    Every released point is on the line from its pivot to a raw point, and as many are moved as the log says. Metres and
    seconds are those of the log, but for points that may be of several raw ones, because the truck stood.
    """
    found = made_of(*(read_source(file).journeys for file in (TRUCKS, RELEASE)))
    assert (found.points, found.unexplained, found.moved) == (111_113, 0, 88_963)
    assert found.metres / found.points == pytest.approx(THEIR_METRES, rel=1e-4)
    assert found.seconds / found.points == pytest.approx(405.043, rel=5e-3)
