"""The path of a record, in order. Read this first.

    ingest/intake.py      validate -> locate -> shard     a batch of records in, a chunk of rows per shard out
    windows/partition.py  window -> seal                  chunks in, the rows of one sealed window out
    divide_window         cells of the shard              a sealed window in, those parts out that are released alone
    trajectories/stops.py find                            the points of a window in, the stops that ended in it out
    release_window        assemble -> anonymize -> verify a sealed window in, its release out

The model decides how each step is done. ``models/registry.py`` lists the families of models, each in its folder.

    models/km/              check-ins:  sequences of generalized locations (SeqAnon), k^m-anonymity
    models/klm/             check-ins:  the same in clusters of similar people (ZGA, SGA), (k,l)^m-anonymity
    models/lkc/             check-ins:  visits with slots of time, LKC-privacy
    models/p2ka/            check-ins:  sequences as they are (BF-P2kA), pattern-preserving k-anonymity
    models/kkm/             check-ins:  attributes and sets of locations (Rum-bound, Tum-bound), (k,k^m)-anonymity
    models/km_sets/         check-ins:  sets of generalized locations (Apriori, COAT), k^m-anonymity
    models/disassociation/  check-ins:  sets of locations in parts, disassociated k^m-anonymity
    models/flows/           check-ins:  numbers of people from place to place, k-anonymous flows
    models/kdelta/          fragments:  GPS trajectories (Wait for Me), (k,delta)-anonymity

Stops of fragments are released by the models of check-ins.

``stream/ingest/`` and ``stream/windows/`` run these stages between Kafka topics; ``stream/replay/`` runs the same ones
on files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from core.models.common.family import Contents
from core.models.common.guarantee import Parameters
from core.models.common.plan import Plan
from core.models.registry import family_of
from core.records.arrays import FloatArray
from core.records.record import Kind, Rows
from core.release.counts import Headcount, publishable
from core.release.outcome import Account, Outcome, Release, WithholdReason
from core.trajectories.stops import FoundStops
from core.windows.draw import Counts
from core.windows.history import Roster
from core.windows.seal import Seal

__all__ = ["count_window", "divide_window", "release_window", "withhold_window"]


def divide_window(seal: Seal, rows: Rows, plan: Plan) -> Iterator[tuple[Seal, Rows]]:
    """Yield the parts of a sealed window that are released on their own, each with its rows and a seal of its own.

    If the plan has no cells, or the window must be withheld, the only part is the window. Otherwise the first part is
    the rest of the shard, which keeps the release id of the window: if it was sent, the window counts as released.
    The other parts are named after the shard and their cell, and have ids of their own.
    """
    is_as_sealed = seal.digest == plan.digest and seal.history == plan.history.digest and len(rows) == seal.n_rows
    if plan.shard_cells is None or not len(rows) or not is_as_sealed:
        yield seal, rows
        return
    for cell, its in plan.shard_cells.divide(rows["user"], *_positions(rows, seal, plan), k=plan.guarantee.k):
        if cell is None:
            yield replace(seal, n_rows=len(its)), rows[its]
        else:
            key = seal.key._replace(shard=f"{seal.shard}/{cell}")
            yield plan.seal(key, seal.last_offset, len(its), seal.writer), rows[its]


def _positions(rows: Rows, seal: Seal, plan: Plan) -> tuple[FloatArray, FloatArray]:
    """Return the latitude and longitude of each row: of a check-in those of its location's centre."""
    if seal.kind is Kind.FRAGMENTS:
        return rows["lat"], rows["lon"]
    if plan.locator is None:
        raise ValueError("the plan has no vocabulary: check-ins cannot be divided into cells without one")
    present, number = np.unique(rows["location"], return_inverse=True)
    _, lat, lon = plan.locator.describe(present)
    return lat[number], lon[number]


def release_window(seal: Seal, rows: Rows, plan: Plan) -> Outcome:
    """Anonymize and verify the rows of a sealed window. The same arguments give the same bytes on every machine.

    A window that was sealed under other settings or with another history, or that has lost records, is withheld: its
    first release may already have been emitted, and an adversary could compare the two.
    """
    if (fault := _fault(seal, rows, plan)) is not None:
        return withhold_window(seal, rows, plan, fault)
    if plan.stop_rule is None:
        return _release(seal, rows, plan)
    found = plan.find_stops(seal, rows)
    return _with_stops(_release(seal, found.visits, plan), found, n_points=len(rows))


def withhold_window(seal: Seal, rows: Rows, plan: Plan, reason: WithholdReason) -> Outcome:
    """Withhold the rows of a sealed window. The stops that go on at its end are handed on all the same."""
    # Rows that were located under other settings cannot be read any more; the seal says how many there are.
    n_rows = max(len(rows), seal.n_rows) if reason is WithholdReason.SETTINGS_CHANGED else len(rows)
    if plan.stop_rule is None:
        return plan.withhold(seal, reason, withheld=n_rows)
    found = plan.find_stops(seal, rows)
    return _with_stops(plan.withhold(seal, reason, withheld=len(found.visits)), found, n_points=n_rows)


def _with_stops(outcome: Outcome, found: FoundStops, *, n_points: int) -> Outcome:
    """Return the outcome of stops as that of the points in which they were found."""
    account = replace(outcome.account, condensed=n_points, nowhere=found.n_nowhere)
    # Whatever becomes of the window, the next one must know where people are.
    roster = replace(outcome.roster or Roster.of_nobody(outcome.key), carried=found.runs)
    return replace(outcome, account=account, roster=roster)


def _fault(seal: Seal, rows: Rows, plan: Plan) -> WithholdReason | None:
    """Return why a window cannot be released as it was sealed, or None."""
    if seal.digest != plan.digest:
        return WithholdReason.SETTINGS_CHANGED
    if len(rows) != seal.n_rows:
        return WithholdReason.RECORDS_MISSING
    return WithholdReason.HISTORY_MISSING if seal.history != plan.history.digest else None


def count_window(seal: Seal, rows: Rows, plan: Plan) -> Counts:
    """Return the exact counts of a sealed window, of which each person changes a bounded number, each by 1.

    Noise is added to them outside, because it cannot be repeated; :attr:`Plan.noisy` has the result. They never leave.

    Raises:
        ValueError: The plan adds no noise.
    """
    family = family_of(plan.model)
    if plan.noise is None or family.count is None:
        raise ValueError("the plan adds no noise: there is nothing to count")
    visits = rows if plan.stop_rule is None else plan.find_stops(seal, rows).visits
    return family.count(seal, family.assemble(seal, visits, plan), plan)


def _release(seal: Seal, rows: Rows, plan: Plan) -> Outcome:
    """Take a complete window through the steps of its model."""
    family, k = family_of(plan.model), plan.guarantee.k
    if not len(rows):  # nobody stopped
        # With noise, the reason must be that of a window with so few people that noise leaves nothing of it.
        reason = WithholdReason.TOO_FEW_PEOPLE if plan.noise is None else WithholdReason.NOTHING_LEFT
        return plan.withhold(seal, reason, withheld=0)
    window = family.assemble(seal, rows, plan)
    duplicates, n_rows = window.duplicates, len(rows) - window.duplicates
    # With noise, whether a window is released must not depend on a single person.
    if window.n_users < k and plan.noise is None:
        return plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=n_rows, duplicates=duplicates)
    result = family.anonymize(seal, window, plan)
    if result is None:
        reason = WithholdReason.CONSTRAINTS_NOT_SATISFIED
        return plan.withhold(seal, reason, withheld=n_rows, duplicates=duplicates)
    candidate = family.candidate(window, result, plan)
    if candidate is None:
        return plan.withhold(seal, WithholdReason.NOTHING_LEFT, withheld=n_rows, duplicates=duplicates)
    verdict = family.verify(window, candidate, plan)
    if verdict.finding is not None:
        return plan.refuse(seal, verdict.finding, withheld=n_rows, duplicates=duplicates)

    count = Headcount.of(candidate.users, window.n_users, verdict.smallest_support, k)
    contents: Contents = family.publish(seal, window, result, candidate, count, plan)
    n_suppressed = n_rows - contents.rows_released
    # If models were compared, the parameters state the chosen one, which is the first.
    chosen: Parameters = {"chosen": next(iter(contents.compared))} if contents.compared else {}
    return Release(
        release_id=seal.release_id,
        key=seal.key,
        model=plan.model,
        parameters=plan.parameters | chosen,
        population=None if contents.has_noise else count.population,
        people=None if contents.has_noise else count.people,
        trajectories=contents.messages,
        locations=contents.locations,
        points_released=contents.points_released,
        points_suppressed=None
        if contents.has_noise
        else publishable(n_suppressed, k, people=contents.people_suppressed),
        smallest_support=k if contents.has_noise else count.smallest_support,
        information_loss=contents.information_loss | dict(verdict.information_loss),
        account=Account(duplicates=duplicates, released=contents.rows_released, suppressed=n_suppressed),
        risks=contents.risks,
        compared=contents.compared,
        extract=contents.extract,
        roster=contents.roster,
    )
