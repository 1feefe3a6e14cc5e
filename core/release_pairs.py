"""Release the check-ins of one window with their slots of time: assemble, suppress, verify LKC-privacy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from core.anonymize.lkc.suppress import Suppression, suppress_pairs
from core.assemble_pairs import VALUE, PairWindow, assemble_visits
from core.pairs import Cycle
from core.places import generalized_locations
from core.plan import PairPlan
from core.profile import distinct_profiles
from core.records import Rows
from core.release import (
    Account,
    Headcount,
    Outcome,
    PairTrajectory,
    WithholdReason,
    keyed_generator,
    pseudonyms,
    publishable,
)
from core.risk import attack_sequences
from core.seal import Seal
from core.verify.lkc import verify_lkc

__all__ = ["pair_window", "release_pairs", "suppressed"]


def release_pairs(seal: Seal, rows: Rows, plan: PairPlan) -> Outcome:
    """Anonymize and verify the visits of a sealed window. The same arguments give the same bytes."""
    k = plan.guarantee.k
    window = pair_window(rows, plan, start_ms=seal.key.start_ms)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    if window.n_users < k:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    values = plan.sensitive_values
    sensitive = range(len(values))
    kept = suppressed(window, plan).kept
    if not kept.any():
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    candidate = window.published(kept)
    report = verify_lkc(candidate.users, candidate.trajectories, candidate.values, plan.guarantee, sensitive=sensitive)
    if not report.holds or report.smallest_support is None:
        finding = (
            f"{report.too_few} sequences of at most {plan.guarantee.l} pairs have support below k={k}, of "
            f"{report.too_sure} a sensitive value is surer than {plan.guarantee.c:g}, {report.disordered} trajectories "
            "are not in order"
        )
        return plan.refuse(seal, finding, withheld=n_rows, duplicates=duplicates)

    n_released = int(window.stands_for[kept].sum())
    shown = np.unique(window.pairs.locations[window.sequences.locations[kept]]).tolist()
    count = Headcount.of(candidate.users, window.n_users, report.smallest_support, k)
    begins_ms = plan.slots.begins_ms(window.pairs.slots, start_ms=seal.key.start_ms).tolist()
    begin_of = dict(zip(window.pairs.slots.tolist(), begins_ms, strict=True))
    return plan.release(
        seal,
        count,
        trajectories=tuple(
            PairTrajectory(
                pseudonym=pseudonym,
                visits=tuple((begin_of[slot], name) for slot, name in candidate.trajectories[i]),
                sensitive=tuple(values[code] for code in candidate.values[i]),
                of_day=plan.slots.cycle is Cycle.DAY,
            )
            for pseudonym, i in pseudonyms(plan.secret, seal.release_id, len(candidate.users))
        ),
        locations=generalized_locations(window.vocabulary, ([location] for location in shown)),
        points_released=int(kept.sum()),
        points_suppressed=publishable(n_rows - n_released, k, people=window.people_suppressed(kept)),
        information_loss={
            "released_locations": len(shown),
            "released_pairs": len(np.unique(window.sequences.locations[kept])),
            "highest_confidence": round(report.highest_confidence, 6),
        },
        account=Account(duplicates=duplicates, released=n_released, suppressed=n_rows - n_released),
        risks=attack_sequences(
            window.sequences,
            _names(window),
            [tuple((f"{slot} {name}",) for slot, name in one) for one in candidate.trajectories],
            candidate.users,
            m=plan.guarantee.l,
            generator=keyed_generator(plan.secret, seal.release_id, "attack"),
        ),
    )


def pair_window(rows: Rows, plan: PairPlan, *, start_ms: int) -> PairWindow:
    """Assemble a window's visits with their slots and what is sensitive of its people."""
    return assemble_visits(rows, _carried(rows, plan), plan.locator, plan.limits, plan.slots, start_ms=start_ms)


def suppressed(window: PairWindow, plan: PairPlan) -> Suppression:
    """Suppress pairs until what is left keeps the promise."""
    sensitive = range(len(plan.sensitive_values))
    return suppress_pairs(window.sequences, window.values, plan.guarantee, sensitive=sensitive, options=plan.options)


def _carried(rows: Rows, plan: PairPlan) -> npt.NDArray[np.void]:
    """Return the sensitive values of each user, rows of :data:`core.assemble_pairs.VALUE`."""
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
