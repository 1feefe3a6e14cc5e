"""Release the check-ins of one window with their slots of time: assemble, suppress, verify LKC-privacy, publish."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from core.models.common.family import Contents, Verdict
from core.models.lkc.anonymize.horizon import suppress_over_horizon
from core.models.lkc.anonymize.suppress import Suppression, suppress_pairs
from core.models.lkc.assemble import VALUE, PairCandidate, PairWindow, assemble_visits
from core.models.lkc.pairs import Cycle
from core.models.lkc.plan import LKCPlan
from core.models.lkc.released import PairTrajectory
from core.models.lkc.signature import UNPROTECTED, label_of, published
from core.models.lkc.verify import verify_lkc
from core.models.lkc.verify_horizon import Signed, verify_horizon
from core.records.arrays import numbered
from core.records.keys import pseudonyms
from core.records.profile import distinct_profiles
from core.records.record import Rows
from core.release.attacks.linked_places import VisitedPlaces
from core.release.attacks.risk import attack_sequences
from core.release.counts import Headcount
from core.release.locations import generalized_locations
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["anonymize", "assemble", "candidate", "publish", "verify"]


class _Stated(TypedDict, total=False):
    """What is stated of a person's sensitive values: fields of :class:`PairTrajectory`."""

    sensitive: tuple[str, ...]
    one_of: tuple[str | None, ...]


def assemble(seal: Seal, rows: Rows, plan: LKCPlan) -> PairWindow:
    """Assemble a window's visits with their slots, and the sensitive values of its people."""
    carried = _carried(rows, plan)
    return assemble_visits(rows, carried, plan.locator, plan.limits, plan.slots, start_ms=seal.key.start_ms)


def anonymize(seal: Seal, window: PairWindow, plan: LKCPlan) -> Suppression:
    """Suppress pairs, and people if the promise spans windows, until the rest keeps the guarantee."""
    sensitive = plan.sensitive_values
    if plan.horizon == 1:
        return suppress_pairs(
            window.sequences, window.values, plan.guarantee, sensitive=range(len(sensitive)), options=plan.options
        )
    return suppress_over_horizon(
        window.sequences,
        window.hashes,
        window.values,
        plan.guarantee,
        plan.history,
        sensitive=sensitive,
        options=plan.options,
        generator=plan.generator(seal),
    )


def candidate(window: PairWindow, result: Suppression, plan: LKCPlan) -> PairCandidate | None:
    """Write out the visits that are kept."""
    return window.candidate(result.kept, result.roles) if result.kept.any() else None


def verify(window: PairWindow, candidate: PairCandidate, plan: LKCPlan) -> Verdict:
    """Check LKC-privacy, in the window and over the horizon."""
    verdict = _verify_window(candidate, plan)
    if verdict.finding is not None or plan.horizon == 1:
        return verdict
    report = verify_horizon(_signed(window, candidate, plan), candidate.trajectories, plan.guarantee, plan.history)
    if not report.holds:
        return Verdict(
            finding=f"over a horizon of {plan.horizon} windows, {report.too_sure} sequences of at most "
            f"{plan.guarantee.l} pairs reveal a sensitive value with confidence above {plan.guarantee.c:g}, "
            f"{report.too_short} signatures are too short, {report.unequal} have entries with unequal numbers of "
            f"people, {report.untrue} people have an entry that is not theirs, {report.changed} another signature than "
            "before"
        )
    # The true shares are functions of values that are not released.
    return replace(verdict, information_loss={"highest_confidence": round(report.highest_confidence, 6)})


def _verify_window(candidate: PairCandidate, plan: LKCPlan) -> Verdict:
    guarantee = plan.guarantee
    sensitive = range(len(plan.sensitive_values))
    report = verify_lkc(candidate.users, candidate.trajectories, candidate.values, guarantee, sensitive=sensitive)
    if not report.holds or report.smallest_support is None:
        return Verdict(
            finding=f"{report.too_few} sequences of at most {guarantee.l} pairs have support below k={guarantee.k}, "
            f"{report.too_sure} reveal a sensitive value with confidence above {guarantee.c:g}, {report.disordered} "
            "trajectories are not in order"
        )
    confidence = {"highest_confidence": round(report.highest_confidence, 6)}
    return Verdict(smallest_support=report.smallest_support, information_loss=confidence)


def _signed(window: PairWindow, candidate: PairCandidate, plan: LKCPlan) -> list[Signed]:
    """Return what is published of each person's values, and what is true, by names."""
    names, roles = plan.sensitive_values, candidate.roles or [UNPROTECTED] * len(candidate.users)
    return [
        Signed(int(window.hashes[user]), {names[code] for code in codes}, published(signature, names), entry)
        for user, codes, (signature, entry) in zip(candidate.users, candidate.values, roles, strict=True)
    ]


def publish(
    seal: Seal,
    window: PairWindow,
    result: Suppression,
    candidate: PairCandidate,
    count: Headcount,
    plan: LKCPlan,
) -> Contents:
    """Return what the release publishes: visits with the beginnings of their slots, in order."""
    kept = result.kept
    shown = np.unique(window.pairs.locations[window.sequences.locations[kept]]).tolist()
    begins_ms = plan.slots.begins_ms(window.pairs.slots, start_ms=seal.key.start_ms).tolist()
    begin_of = dict(zip(window.pairs.slots.tolist(), begins_ms, strict=True))
    return Contents(
        messages=tuple(
            PairTrajectory(
                pseudonym=pseudonym,
                visits=tuple((begin_of[slot], name) for slot, name in candidate.trajectories[i]),
                **_stated(candidate, i, plan),
                of_day=plan.slots.cycle is Cycle.DAY,
            )
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate.users))
        ),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown)),
        points_released=int(kept.sum()),
        rows_released=int(window.stands_for[kept].sum()),
        people_suppressed=window.people_suppressed(kept),
        information_loss={
            "released_locations": len(shown),
            "released_pairs": len(np.unique(window.sequences.locations[kept])),
        },
        extract=VisitedPlaces.of([(user,) for user in candidate.users], _shown(candidate, plan), window.hashes),
        risks=attack_sequences(
            window.sequences,
            _names(window),
            [tuple((f"{slot} {name}",) for slot, name in trajectory) for trajectory in candidate.trajectories],
            candidate.users,
            m=plan.guarantee.l,
            generator=plan.generator(seal, "attack"),
        ),
        roster=_roster(seal, window, candidate, plan),
    )


def _stated(candidate: PairCandidate, i: int, plan: LKCPlan) -> _Stated:
    """Return what a message states of its person's sensitive values."""
    names = plan.sensitive_values
    if candidate.roles is None:
        return {"sensitive": tuple(names[code] for code in candidate.values[i])}
    return {"one_of": published(candidate.roles[i][0], names)}


def _roster(seal: Seal, window: PairWindow, candidate: PairCandidate, plan: LKCPlan) -> Roster | None:
    """Return the roles of the released people, for later windows."""
    if candidate.roles is None:
        return None
    groups, roles = numbered(candidate.roles)
    labels = tuple(label_of(role, plan.sensitive_values) for role in roles)
    return Roster(key=seal.key, users=window.hashes[candidate.users], groups=groups, labels=labels)


def _shown(candidate: PairCandidate, plan: LKCPlan) -> list[list[tuple[str, ...]]]:
    """Return what each trajectory shows that later windows can show again: locations, slots of a day, values."""
    shown: list[list[tuple[str, ...]]] = []
    for i, trajectory in enumerate(candidate.trajectories):
        slots = [(f"{slot} {name}",) for slot, name in trajectory if plan.slots.cycle is Cycle.DAY]
        stated = _stated(candidate, i, plan)
        values = [(f"= {value}",) for value in stated.get("sensitive", ())]
        signature = [(f"one of {stated['one_of']}",)] if stated.get("one_of") else []
        shown.append([*((name,) for _, name in trajectory), *slots, *values, *signature])
    return shown


def _carried(rows: Rows, plan: LKCPlan) -> npt.NDArray[np.void]:
    """Return the sensitive values of each user, rows of :data:`core.models.lkc.assemble.VALUE`."""
    if plan.profile is None or plan.sensitive_field is None:
        return np.empty(0, dtype=VALUE)
    _, codes = plan.profile.part(rows["profile"], [plan.sensitive_field])
    users, starts, carried = distinct_profiles(rows["user"], codes)
    values = np.empty(len(carried), dtype=VALUE)
    values["user"], values["value"] = np.repeat(users, np.diff(starts)), carried.astype(np.int64) - 1
    return values


def _names(window: PairWindow) -> list[str]:
    names = window.vocabulary.names
    pairs = zip(window.pairs.slots.tolist(), window.pairs.locations.tolist(), strict=True)
    return [f"{slot} {names[location]}" for slot, location in pairs]
