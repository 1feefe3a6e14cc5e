"""Release the fragments of one window: assemble, anonymize by Wait for Me, verify (k,delta)-anonymity."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from core.anonymize.wait4me import Wait4MeResult, wait4me
from core.assemble import PointWindow, assemble_points
from core.guarantees import KDelta
from core.plan import PointPlan
from core.records import Rows
from core.release import (
    Account,
    Outcome,
    PointTrajectory,
    Release,
    WithholdReason,
    keyed_generator,
    population_of,
    pseudonyms,
    publishable,
)
from core.seal import Seal
from core.verify.kdelta import verify_kdelta

__all__ = ["release_points"]

_DEGREE_DIGITS = 6
"""Published coordinates are rounded to 1e-6 degrees, about 0.1 m; the anonymizer's margin allows for that."""


def release_points(seal: Seal, rows: Rows, plan: PointPlan) -> Outcome:
    """Anonymize and verify the points of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = assemble_points(rows, plan.guarantee, plan.limits, plan.joining)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)

    trajectories = window.trajectories
    result = wait4me(trajectories, window.demands, plan.wait4me, keyed_generator(plan.secret, seal.release_id))
    n_sets = len(set(result.sets.tolist()))
    if not n_sets:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)

    lat, lon = window.projection.to_degrees(result.xy_m)
    lat, lon = np.round(lat, _DEGREE_DIGITS), np.round(lon, _DEGREE_DIGITS)
    bounds = result.starts[1:-1]
    t_ms, lats, lons = np.split(result.t_ms, bounds), np.split(lat, bounds), np.split(lon, bounds)
    users = trajectories.users[result.sources].tolist()

    report = verify_kdelta(
        result.sets.tolist(),
        users,
        t_ms,
        lats,
        lons,
        plan.guarantee,
        k=window.demands.k[result.sources].tolist(),
        delta_m=window.demands.delta_m[result.sources].tolist(),
    )
    if not report.holds or report.smallest_set is None:
        finding = ", ".join(f"{count} {fault}" for fault, count in sorted(report.violations.items()))
        return plan.refuse(seal, f"(k,delta) is broken: {finding}", withheld=n_rows, duplicates=duplicates)

    n_people, n_released = len(set(users)), int(window.stands_for[result.kept].sum())
    unseen = _people_unseen(window, result)
    # Whoever is left out is in the trash or not: neither may be told where the other is fewer than k people.
    elsewhere = publishable(unseen.left_out - unseen.in_trash, k)
    trash = None if elsewhere is None else publishable(len(result.trash), k, people=unseen.in_trash)
    return Release(
        release_id=seal.release_id,
        key=seal.key,
        model=plan.model,
        parameters=plan.parameters,
        population=population_of(window.n_users, n_people, k),
        people=n_people,
        trajectories=tuple(
            PointTrajectory(pseudonym=pseudonym, t_ms=t_ms[i], lat_deg=lats[i], lon_deg=lons[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(users))
        ),
        locations=None,
        points_released=n_released,
        points_suppressed=publishable(n_rows - n_released, k, people=unseen.all_suppressed),
        smallest_support=report.smallest_set,
        information_loss={
            "mean_space_translation_m": round(result.mean_space_translation_m, 1),
            "mean_time_translation_s": round(result.mean_time_translation_s, 1),
            "points_published": len(result.t_ms),
            "points_created": publishable(result.points_created, k, people=int((result.created > 0).sum())),
            # Without the deleted ones the suppressed points would be those of who is left out.
            "points_deleted": None
            if publishable(unseen.left_out, k) is None
            else publishable(result.points_deleted, k, people=unseen.edited),
            "trash": trash,
            "sets": n_sets,
            "discernibility": None if trash is None else result.discernibility,
            **_demanding(window, plan.guarantee),
        },
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
    )


def _demanding(window: PointWindow, guarantee: KDelta) -> dict[str, int | None]:
    """Count the people who demanded more than everybody is given, if neither they nor the others are fewer than k."""
    if not guarantee.personal:
        return {}
    others = publishable(window.n_users - window.n_demanding, guarantee.k)
    return {"people_demanding_more": None if others is None else publishable(window.n_demanding, guarantee.k)}


class _Unseen(NamedTuple):
    """How many people some points stand behind that are not released."""

    edited: int
    """People in the release of whom points were deleted by editing."""

    in_trash: int
    """People of whom a trajectory is in the trash."""

    left_out: int
    """These, and people of whom a whole trajectory, or what was too much or too fast of it, was left out."""

    all_suppressed: int
    """Either."""


def _people_unseen(window: PointWindow, result: Wait4MeResult) -> _Unseen:
    trajectories = window.trajectories
    owner = np.repeat(trajectories.users, np.diff(trajectories.starts))
    left_out = window.curbed.copy()
    left_out[trajectories.users[result.trash]] = True
    edited, incomplete = np.zeros((2, trajectories.n_users), dtype=np.bool_)
    edited[owner[~result.kept]] = True
    incomplete[owner[~result.kept & (window.stands_for > 0)]] = True
    absent = window.n_users - trajectories.n_users  # they demanded more than they could be given
    return _Unseen(
        edited=int((edited & ~left_out).sum()),
        in_trash=len(set(trajectories.users[result.trash].tolist())),
        left_out=int(left_out.sum()) + absent,
        all_suppressed=int((left_out | incomplete).sum()) + absent,
    )
