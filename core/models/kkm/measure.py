"""Measure what a release with attributes lost against the raw window. Operator only; never published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from core.models.kkm.anonymize.result import RTResult
from core.models.kkm.plan import KKmPlan
from core.models.kkm.release import AttributeWindow
from core.trajectories.recoding import SUPPRESSED, Label, Recoding
from core.trajectories.trajectory import Sequences
from core.utility.recoded import recoding_loss
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["AttributeMeasures", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributeMeasures(WindowMeasures):
    """The measures of one window. See :mod:`core.models.kkm.ncp` and :mod:`core.utility.utility_loss`."""

    ncp: float
    """Mean loss in attributes, in ``0..1``."""

    ul: float
    """Mean loss in locations, in ``0..1``; a person whose locations are all suppressed counts 1."""

    groups: float
    visits_kept_share: float


def loss(window: AttributeWindow, result: RTResult, plan: KKmPlan) -> WindowLoss:
    """Measure the loss that all models are compared by: D, for each visit to the members of its label."""
    return recoding_loss(window.visits, _recoding(window.visits.sequences, result))


def measure(
    seal: Seal, window: AttributeWindow, result: RTResult, plan: KKmPlan, inputs: MeasureInputs
) -> AttributeMeasures:
    """Measure the losses in attributes and in locations."""
    return AttributeMeasures(
        ncp=result.ncp, ul=result.ul_bounded, groups=len(result.groups), visits_kept_share=float(result.kept.mean())
    )


def _recoding(sequences: Sequences, result: RTResult) -> Recoding:
    """Convert the sets of a release to the label that each visit is released as."""
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
    label_of[kept] = [label_at[visit] for visit in at]
    return Recoding.of(labels, label_of)
