"""Release the fragments of one window: assemble, anonymize, verify (k,delta)-anonymity, publish."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from core.models.common.family import Contents, Verdict
from core.models.kdelta.algorithms import AnonymizedTrajectories
from core.models.kdelta.anonymize.across import Across, earlier_sets
from core.models.kdelta.anonymize.mixing import MixedBorders
from core.models.kdelta.anonymize.persistent import Persistence
from core.models.kdelta.assemble import PointWindow, assemble_points
from core.models.kdelta.guarantee import Mixing, Persistent
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.released import PointTrajectory
from core.models.kdelta.verify import verify_kdelta
from core.models.kdelta.verify_across import large_flows
from core.models.kdelta.verify_exchangeable import MOST_DEVIATIONS, deviations_from_chance
from core.models.kdelta.verify_persistent import broken_persistence
from core.records.arrays import FloatArray, IntArray
from core.records.keys import pseudonyms
from core.records.record import Rows
from core.release.attacks.linked_sets import SetEnds
from core.release.attacks.risk import PublishedPoints, attack_points
from core.release.counts import Headcount, publishable
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["PointCandidate", "anonymize", "assemble", "candidate", "publish", "roster", "verify"]

_DEGREE_DIGITS = 6
"""Published coordinates are rounded to 1e-6 degrees, about 0.1 m; the anonymizer's margin allows for that."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PointCandidate:
    """``r`` GPS trajectories as they would be published."""

    users: list[int] = field(repr=False)
    """User of each trajectory; not published."""

    sets: list[int] = field(repr=False)
    """Set of each trajectory; not published."""

    k: list[int] = field(repr=False)
    """k that each trajectory is given."""

    delta_m: list[float] = field(repr=False)
    """delta that each trajectory is given, metres."""

    t_ms: Sequence[IntArray] = field(repr=False)
    lat_deg: Sequence[FloatArray] = field(repr=False)
    lon_deg: Sequence[FloatArray] = field(repr=False)


def assemble(seal: Seal, rows: Rows, plan: KDeltaPlan) -> PointWindow:
    """Assemble a window's points as trajectories."""
    return assemble_points(rows, plan.guarantee, plan.limits, plan.joining)


def anonymize(seal: Seal, window: PointWindow, plan: KDeltaPlan) -> AnonymizedTrajectories:
    """Make sets of trajectories by the plan's model."""

    def make() -> AnonymizedTrajectories:
        return plan.algorithm.anonymize(window, plan.guarantee, plan.generator(seal), _across(window, plan))

    return make() if plan.last is None else plan.last.made(seal.release_id, make)


def _across(window: PointWindow, plan: KDeltaPlan) -> Across | None:
    """Return what makes the clusters of a window keep the promise across windows."""
    across = plan.guarantee.across
    if across is None or not len(window.trajectories.t_ms):
        return None
    earlier, is_one_crowd = earlier_sets(plan.history, window.hashes), _is_one_crowd(window, plan)
    if isinstance(across, Mixing):
        return MixedBorders(earlier=earlier, l=across.l, is_one_crowd=is_one_crowd)
    return Persistence.of(
        earlier,
        len(window.hashes),
        promise=across,
        within_ms=int(window.trajectories.t_ms[0]),
        is_one_crowd=is_one_crowd,
    )


def candidate(window: PointWindow, result: AnonymizedTrajectories, plan: KDeltaPlan) -> PointCandidate | None:
    """Write out the trajectories in degrees, rounded as they would be published."""
    sets = result.sets
    if not len(sets.sources):
        return None
    lat, lon = window.projection.to_degrees(sets.xy_m)
    lat, lon = np.round(lat, _DEGREE_DIGITS), np.round(lon, _DEGREE_DIGITS)
    bounds = sets.starts[1:-1]
    return PointCandidate(
        users=result.trajectories.users[sets.sources].tolist(),
        sets=sets.sets.tolist(),
        k=result.demands.k[sets.sources].tolist(),
        delta_m=result.demands.delta_m[sets.sources].tolist(),
        t_ms=np.split(sets.t_ms, bounds),
        lat_deg=np.split(lat, bounds),
        lon_deg=np.split(lon, bounds),
    )


def verify(window: PointWindow, candidate: PointCandidate, plan: KDeltaPlan) -> Verdict:
    """Check (k,delta)-anonymity, that members of a set are exchangeable, and what is promised of several windows."""
    report = verify_kdelta(
        candidate.sets,
        candidate.users,
        candidate.t_ms,
        candidate.lat_deg,
        candidate.lon_deg,
        plan.guarantee,
        k=candidate.k,
        delta_m=candidate.delta_m,
    )
    if not report.holds or report.smallest_set is None:
        faults = ", ".join(f"{count} {fault}" for fault, count in sorted(report.violations.items()))
        return Verdict(finding=f"(k,delta) is broken: {faults}")
    finding = _dependence(window, candidate) if _is_exchangeable(plan) else None
    finding = finding or _broken_across(window, candidate, plan)
    if finding is not None:
        return Verdict(finding=finding)
    return Verdict(smallest_support=report.smallest_set)


def _dependence(window: PointWindow, candidate: PointCandidate) -> str | None:
    """Return how far the offsets of the members depend on who is who; None if they look like chance."""
    truth = window.trajectories
    deviations = deviations_from_chance(
        candidate.sets,
        candidate.users,
        candidate.t_ms,
        candidate.lat_deg,
        candidate.lon_deg,
        true_users=np.repeat(truth.users, np.diff(truth.starts)),
        true_t_ms=truth.t_ms,
        true_xy_m=truth.xy_m,
    )
    if abs(deviations) <= MOST_DEVIATIONS:
        return None
    return f"offsets depend on who is who: {deviations:.1f} standard deviations from chance"


def _broken_across(window: PointWindow, candidate: PointCandidate, plan: KDeltaPlan) -> str | None:
    """Return how the candidate breaks what is promised of several windows together; None if it does not."""
    across, sets, rosters = plan.guarantee.across, candidate.sets, plan.history.rosters
    people, is_one_crowd = window.hashes[candidate.users].tolist(), _is_one_crowd(window, plan)
    if isinstance(across, Persistent):
        within_ms = int(window.trajectories.t_ms[0])
        k = [max(plan.guarantee.k, demanded) for demanded in candidate.k]
        return broken_persistence(sets, people, k, rosters, across, within_ms=within_ms, is_one_crowd=is_one_crowd)
    if across is None:
        return None
    n_large = large_flows(sets, people, rosters, across, is_one_crowd=is_one_crowd)
    return f"mixing is broken: {n_large} large_flows" if n_large else None


def _is_one_crowd(window: PointWindow, plan: KDeltaPlan) -> bool:
    """Return whether a window has too few people for two sets; a region is never all of a window."""
    return plan.shard_cells is None and window.n_users < 2 * plan.guarantee.k


def _is_exchangeable(plan: KDeltaPlan) -> bool:
    return plan.parameters.get("translation") == "exchangeable"


def publish(
    seal: Seal,
    window: PointWindow,
    result: AnonymizedTrajectories,
    candidate: PointCandidate,
    count: Headcount,
    plan: KDeltaPlan,
) -> Contents:
    """Return what the release publishes: GPS trajectories."""
    sets, k = result.sets, plan.guarantee.k
    lat, lon = np.concatenate(candidate.lat_deg), np.concatenate(candidate.lon_deg)
    return Contents(
        messages=tuple(
            PointTrajectory(
                pseudonym=pseudonym,
                t_ms=candidate.t_ms[i],
                lat_deg=candidate.lat_deg[i],
                lon_deg=candidate.lon_deg[i],
            )
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate.users))
        ),
        locations=None,
        # Points in the release, not points of the window that they stand for. The difference (under minimal
        # translation, the created points) may come from one person.
        points_released=len(sets.t_ms),
        rows_released=int(window.stands_for[sets.kept].sum()),
        people_suppressed=_n_incomplete(window, result),
        information_loss={
            **_translation(result, k),
            "sets": len(set(candidate.sets)),
            **(
                _demanding(window, result, k, is_population_published=count.population is not None)
                if plan.guarantee.personal
                else {}
            ),
        },
        extract=SetEnds.of(
            sets.sets if _is_exchangeable(plan) else np.arange(len(sets.sets)),
            window.hashes[result.trajectories.users[sets.sources]],
            starts=sets.starts,
            t_ms=sets.t_ms,
            lat_deg=lat,
            lon_deg=lon,
        ),
        risks=attack_points(
            window.trajectories,
            PublishedPoints(
                starts=sets.starts,
                t_ms=sets.t_ms,
                xy_m=sets.xy_m,  # before they are rounded for publication, by less than 0.1 m
                owners=result.trajectories.users[sets.sources],
                sets=sets.sets if _is_exchangeable(plan) else None,
            ),
            delta_m=plan.guarantee.delta_m,
            generator=plan.generator(seal, "attack"),
        ),
        roster=roster(seal, window, candidate) if plan.horizon > 1 else None,
    )


def roster(seal: Seal, window: PointWindow, candidate: PointCandidate) -> Roster:
    """Return who is released in which set, for later windows."""
    entries = np.unique(np.column_stack((candidate.users, candidate.sets)).astype(np.int64), axis=0)
    return Roster(key=seal.key, users=window.hashes[entries[:, 0]], groups=entries[:, 1])


def _translation(result: AnonymizedTrajectories, k: int) -> dict[str, float | None]:
    """Return how far points were moved on average; None if fewer than k people have points that were moved."""
    sets = result.sets
    counterparts = np.diff(sets.starts) > sets.created  # (r,) trajectories with points that were not created
    n_people = len(set(result.trajectories.users[sets.sources[counterparts]].tolist()))
    means = {
        "mean_space_translation_m": sets.mean_space_translation_m,
        "mean_time_translation_s": sets.mean_time_translation_s,
    }
    return {name: _coarse(mean) if n_people >= k else None for name, mean in means.items()}


def _demanding(
    window: PointWindow, result: AnonymizedTrajectories, k: int, *, is_population_published: bool
) -> dict[str, int | None]:
    """Count the people who demanded more than everybody is given, and those of them who were relaxed.

    Both counts are None if the people relaxed, the people given more, or the others are 1 to k-1. They are also None
    if the population is not published: it could be the sum of published counts.
    """
    relaxed = 0 if result.relaxed is None else int(result.relaxed.sum())
    parts = relaxed, window.n_demanding - relaxed, window.n_users - window.n_demanding
    is_published = is_population_published and all(publishable(part, k) is not None for part in parts)
    counts: dict[str, int | None] = {"people_demanding_more": window.n_demanding if is_published else None}
    if result.relaxed is not None:
        counts["people_relaxed"] = relaxed if is_published else None
    return counts


def _n_incomplete(window: PointWindow, result: AnonymizedTrajectories) -> int:
    """Count the people with at least one point that is not released, whatever the reason."""
    trajectories, sets = result.trajectories, result.sets
    owner = np.repeat(trajectories.users, np.diff(trajectories.starts))
    incomplete = window.curbed.copy()
    incomplete[owner[~sets.kept & (window.stands_for > 0)]] = True
    return int(incomplete.sum()) + window.n_users - trajectories.n_users  # left out: they demand more than is given


def _coarse(mean: float) -> float:
    """Round to tenths and two significant digits: an exact mean over true positions could confirm a guess at them."""
    return float(f"{round(mean, 1):.2g}")
