"""Release the fragments of one window: assemble, colocate, verify (k,delta)-anonymity."""

from __future__ import annotations

import numpy as np

from core.assemble import PointWindow, assemble_points
from core.colocate import Colocated
from core.plan import PointPlan
from core.records import Rows
from core.release import (
    Account,
    Headcount,
    Outcome,
    PointTrajectory,
    WithholdReason,
    keyed_generator,
    pseudonyms,
    publishable,
)
from core.risk import PublishedPoints, attack_points
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

    colocated = plan.colocator.colocate(window, plan.guarantee, keyed_generator(plan.secret, seal.release_id))
    trajectories, result = colocated.trajectories, colocated.sets
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
        k=colocated.demands.k[result.sources].tolist(),
        delta_m=colocated.demands.delta_m[result.sources].tolist(),
    )
    if not report.holds or report.smallest_set is None:
        finding = ", ".join(f"{count} {fault}" for fault, count in sorted(report.violations.items()))
        return plan.refuse(seal, f"(k,delta) is broken: {finding}", withheld=n_rows, duplicates=duplicates)

    n_released = int(window.stands_for[result.kept].sum())
    count = Headcount.of(users, window.n_users, report.smallest_set, k)
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            PointTrajectory(pseudonym=pseudonym, t_ms=t_ms[i], lat_deg=lats[i], lon_deg=lons[i])
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(users))
        ),
        locations=None,
        # What is in the release, and not how many points of the window that stands for: the difference, under minimal
        # translation what was created, may be of one person.
        points_released=len(result.t_ms),
        points_suppressed=publishable(n_rows - n_released, k, people=_n_incomplete(window, colocated)),
        information_loss={
            **_translation(colocated, k),
            "sets": n_sets,
            **(
                {}
                if not plan.guarantee.personal
                else _demanding(window, colocated, k, told=count.population is not None)
            ),
        },
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
        risks=attack_points(
            window.trajectories,
            PublishedPoints(
                starts=result.starts,
                t_ms=result.t_ms,
                xy_m=window.projection.to_metres(lat, lon),
                owners=trajectories.users[result.sources],
                sets=result.sets if plan.parameters.get("translation") == "exchangeable" else None,
            ),
            delta_m=plan.guarantee.delta_m,
            generator=keyed_generator(plan.secret, seal.release_id, "attack"),
        ),
    )


def _translation(colocated: Colocated, k: int) -> dict[str, float | None]:
    """Tell how far points were moved on average, if at least k people have points that were."""
    sets = colocated.sets
    counterparts = np.diff(sets.starts) > sets.created  # (r,) trajectories with points that were not created
    n_people = len(set(colocated.trajectories.users[sets.sources[counterparts]].tolist()))
    means = {
        "mean_space_translation_m": sets.mean_space_translation_m,
        "mean_time_translation_s": sets.mean_time_translation_s,
    }
    return {name: _coarse(mean) if n_people >= k else None for name, mean in means.items()}


def _demanding(window: PointWindow, colocated: Colocated, k: int, *, told: bool) -> dict[str, int | None]:
    """Count who demanded more than everybody is given, and of these who was not given it.

    Neither these, nor those who were given it, nor the others may be fewer than k people. And where the population is
    not told, nothing of this is: it could be the sum of what is.
    """
    relaxed = 0 if colocated.relaxed is None else int(colocated.relaxed.sum())
    parts = relaxed, window.n_demanding - relaxed, window.n_users - window.n_demanding
    told = told and all(publishable(part, k) is not None for part in parts)
    counts: dict[str, int | None] = {"people_demanding_more": window.n_demanding if told else None}
    if colocated.relaxed is not None:
        counts["people_relaxed"] = relaxed if told else None
    return counts


def _n_incomplete(window: PointWindow, colocated: Colocated) -> int:
    """Count the people of whom something is not released, whatever it was lost to."""
    trajectories, sets = colocated.trajectories, colocated.sets
    owner = np.repeat(trajectories.users, np.diff(trajectories.starts))
    incomplete = window.curbed.copy()
    incomplete[owner[~sets.kept & (window.stands_for > 0)]] = True
    return int(incomplete.sum()) + window.n_users - trajectories.n_users  # who demanded more than they could be given


def _coarse(mean: float) -> float:
    """Round to tenths and two significant digits: a mean over true positions, known exactly, would confirm a guess."""
    return float(f"{round(mean, 1):.2g}")
