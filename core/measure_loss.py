"""Measure in metres what a release lost, the same for every model, for whoever may see the raw window. Never published.

Models promise different things and are measured differently (``core/measure_*.py``). What all of them can be asked is
how far the visits that are released are from where they are released, and of whom nothing is. Like the other measures
both are computed from raw visits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from core.anonymize.p2ka import p2ka
from core.anonymize.recoding import SUPPRESSED, Label, Recoding
from core.anonymize.rt.result import BoundNotMet, RTResult
from core.assemble import PointWindow, SequenceWindow, assemble_points, assemble_sequences
from core.colocate import Colocated, Colocator
from core.guarantees import KDelta
from core.plan import AttributePlan, ClusterPlan, PairPlan, PatternPlan, Plan, PointPlan, SequencePlan, SetPlan
from core.records import Rows
from core.release import keyed_generator
from core.release_attributes import anonymized
from core.release_clusters import organize
from core.release_pairs import pair_window, suppressed
from core.release_sets import disassociated
from core.seal import Seal
from core.trajectory import IntArray, Sequences
from core.utility import dataset_distance, recoded_distance

__all__ = ["WindowLoss", "measure_loss", "promise_of", "remembering"]

_Parameters = dict[str, float | int | str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoss:
    """What the release of one window lost."""

    distance_m: float
    """Of check-ins D (Poulis et al. 2014, Definition 6): how far a released visit is on average from the members of
    what it is released as; 0 where places are released as they are. Of fragments the mean distance of a released point
    from its counterpart. Metres; NaN where nothing is released."""

    time_s: float
    """Of fragments the mean time between a released point and its counterpart, seconds; else 0."""

    people: int
    """Distinct people of whom something is released."""


def measure_loss(seal: Seal, rows: Rows, plan: Plan) -> WindowLoss:  # noqa: PLR0911 - one for each plan
    """Measure the release of a sealed window. The same arguments give the same figures.

    The window is anonymized once more, which gives the same result: no release ever carries raw visits along for
    somebody to measure.

    Args:
        seal: The window's first seal.
        rows: Its rows.
        plan: How it was released.
    """
    if isinstance(plan, PointPlan):
        return _of_points(seal, rows, plan)
    if isinstance(plan, PairPlan):
        return _of_pairs(seal, rows, plan)
    window = assemble_sequences(rows, plan.locator, plan.limits)
    sequences, xy_m = window.sequences, window.vocabulary.xy_m
    match plan:
        case SequencePlan():
            result = plan.generalizer.generalize(window, plan.guarantee)
            if result is None:
                return _NOTHING
            distance_m = dataset_distance(sequences, xy_m, result.group_of, result.kept)
            return WindowLoss(distance_m=distance_m, time_s=0.0, people=_distinct(sequences.owners[result.kept]))
        case ClusterPlan():
            return _of_recoding(window, organize(window, plan).recoding)
        case AttributePlan():
            told = anonymized(rows, window, plan)
            return _NOTHING if isinstance(told, BoundNotMet) else _of_recoding(window, _recoding(sequences, told))
        case PatternPlan():
            # What is released of somebody who was not there has no distance: SIM1 and SIM2 tell of that.
            return _exact(sequences.users[p2ka(sequences, plan.guarantee).kept > 0])
        case SetPlan():
            return _exact(sequences.owners[disassociated(window, seal, plan).kept])


_NOTHING = WindowLoss(distance_m=float("nan"), time_s=0.0, people=0)


def _distinct(users: IntArray) -> int:
    return len(np.unique(users))


def _exact(users: IntArray) -> WindowLoss:
    """Tell the loss where all that is released of these users is released as it is."""
    people = _distinct(users)
    return WindowLoss(distance_m=0.0, time_s=0.0, people=people) if people else _NOTHING


def _of_recoding(window: SequenceWindow, recoding: Recoding) -> WindowLoss:
    distance_m = recoded_distance(window.sequences, window.vocabulary.xy_m, recoding)
    return WindowLoss(distance_m=distance_m, time_s=0.0, people=_distinct(window.sequences.owners[recoding.kept]))


def _recoding(sequences: Sequences, result: RTResult) -> Recoding:
    """Write the sets of a release with attributes as what each visit is released as."""
    labels: list[Label] = []
    label_at: dict[tuple[int, int], int] = {}
    for group in result.groups:
        for user, visited, sensitive in zip(group.users, group.visited, group.sensitive, strict=True):
            for label in (*(group.generalized[index] for index in visited), *((place,) for place in sensitive)):
                label_at.update(dict.fromkeys(((user, place) for place in label), len(labels)))
                labels.append(label)
    label_of = np.full(len(sequences.locations), SUPPRESSED, np.int64)
    kept = np.flatnonzero(result.kept)
    at: Sequence[tuple[int, int]] = list(
        zip(sequences.owners[kept].tolist(), sequences.locations[kept].tolist(), strict=True)
    )
    label_of[kept] = [label_at[one] for one in at]
    return Recoding.of(labels, label_of)


def _of_pairs(seal: Seal, rows: Rows, plan: PairPlan) -> WindowLoss:
    window = pair_window(rows, plan, start_ms=seal.key.start_ms)
    return _exact(window.sequences.owners[suppressed(window, plan).kept])


def _of_points(seal: Seal, rows: Rows, plan: PointPlan) -> WindowLoss:
    colocated = plan.colocator.take() if isinstance(plan.colocator, _Remembering) else None
    if colocated is None:
        window = assemble_points(rows, plan.guarantee, plan.limits, plan.joining)
        generator = keyed_generator(plan.secret, seal.release_id)
        colocated = plan.colocator.colocate(window, plan.guarantee, generator)
    sets = colocated.sets
    if not len(sets.sources):
        return _NOTHING
    return WindowLoss(
        distance_m=sets.mean_space_translation_m,
        time_s=sets.mean_time_translation_s,
        people=_distinct(colocated.trajectories.users[sets.sources]),
    )


@dataclass(slots=True, eq=False)
class _Remembering:
    """A model of fragments that keeps what it made last until it is taken."""

    of: Colocator
    _last: Colocated | None = field(default=None, init=False)

    @property
    def model(self) -> str:
        return self.of.model

    @property
    def personal(self) -> bool:
        return self.of.personal

    @property
    def parameters(self) -> _Parameters:
        return self.of.parameters

    def colocate(self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator) -> Colocated:
        self._last = None  # if this fails, what was made of another window must not be taken for its
        self._last = self.of.colocate(window, guarantee, rng)
        return self._last

    def take(self) -> Colocated | None:
        last, self._last = self._last, None
        return last


def remembering(plan: Plan) -> Plan:
    """Return a plan that releases the same, of which the window released last is not anonymized again to be measured.

    For fragments, where that takes minutes: each release has to be measured before the next. For check-ins it is the
    plan itself.
    """
    return replace(plan, colocator=_Remembering(plan.colocator)) if isinstance(plan, PointPlan) else plan


def promise_of(plan: Plan) -> str:  # noqa: PLR0911 - one for each guarantee
    """Name what a plan promises, in a word, for what is listed or drawn side by side."""
    match plan:
        case SequencePlan():
            return "k^m"
        case ClusterPlan():
            return "(k,l)^m" if plan.sensitive else "k^m"
        case PairPlan():
            return "LKC"
        case PatternPlan():
            return "pattern-preserving k"
        case AttributePlan():
            return "(k,k^m)" if plan.guarantee.l is None else "(k,l^m)"
        case SetPlan():
            return "disassociated k^m"
        case PointPlan():
            return "(k,delta)"  # who demands more is given it or left out: nobody is given less
