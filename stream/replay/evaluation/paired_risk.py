"""Attacks on a release with knowledge of the raw feed: where ids are the same, whether the right person is found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from core.places.geo import LocalProjection
from core.release.attacks.risk import Attack, PublishedPoints, Risk, attack_points, attack_sequences
from core.trajectories.journeys import Journeys
from stream.replay.evaluation.placed import in_metres, numbered_alike

__all__ = ["paired_risks"]


def paired_risks(
    raw: Journeys, released: Journeys, *, known: int, delta_m: float, seed: int, plane: LocalProjection | None
) -> dict[str, float]:
    """Attack a release as a replay attacks its own (:mod:`core.release.attacks.risk`).

    Args:
        raw: The raw feed; locations are not generalized.
        released: The release.
        known: Most places that the adversary knows, of locations.
        delta_m: Precision of a known position, metres, of points.
        seed: Draws people and knowledge.
        plane: In which positions are compared; None if they are metres.

    Returns:
        Highest and mean probability; empty if ids are not in both, or locations are sets.
    """
    if raw.people is None or released.people is None or set(raw.people).isdisjoint(released.people):
        return {}
    generator = np.random.default_rng([seed, 4])
    if raw.label_of is not None and released.label_of is not None:
        if not (raw.is_ordered and released.is_ordered) or any(len(label) != 1 for label in raw.labels):
            return {}
        number = {name: i for i, name in enumerate(raw.people)}
        published = [
            [released.labels[i] for i in released.label_of[a:b].tolist()]
            for a, b in zip(released.starts[:-1], released.starts[1:], strict=True)
        ]
        owners = [number.get(released.people[user], -1) for user in released.users.tolist()]
        found = attack_sequences(
            raw.sequences(),
            [label[0] for label in raw.labels],
            published,
            owners,
            m=known,
            generator=generator,
        )
        return _figures("risk_paired", found[Attack.PLACES])
    planes = in_metres(raw, released, plane=plane)
    if planes is None or raw.t_ms is None or released.t_ms is None:
        return {}
    truth, points = numbered_alike(raw, released, planes)
    dense = np.unique(truth.users)
    owners_of = np.searchsorted(dense, points.users)
    same = owners_of < len(dense)
    same[same] = dense[owners_of[same]] == points.users[same]
    release = PublishedPoints(
        starts=points.starts,
        t_ms=points.t_ms,
        xy_m=points.xy_m,
        owners=np.where(same, owners_of, len(dense) + np.arange(len(owners_of))).astype(np.int64),
        sets=None,
    )
    truth = replace(truth, users=np.arange(len(dense)))
    risks = attack_points(truth, release, delta_m=delta_m, generator=generator)
    return _figures("risk_paired", risks[Attack.PLACES]) | _figures("risk_paired_times", risks[Attack.TIMES])


def _figures(name: str, risk: Risk) -> dict[str, float]:
    return {f"{name}_highest": risk.highest, f"{name}_mean": risk.mean}
