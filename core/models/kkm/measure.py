"""Measure what a release with attributes lost against the raw window. Operator only; never published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from core.models.kkm.anonymize.result import RTResult
from core.models.kkm.plan import KKmPlan
from core.models.kkm.queries import RTPerson, draw_rt_queries, rt_query_error
from core.models.kkm.release import AttributeWindow
from core.trajectories.location_sets import location_sets
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

    are_attributes: float
    """Average relative error of COUNT queries over a value of an attribute (:mod:`core.models.kkm.queries`)."""

    are_locations: float
    """The same over two locations."""

    are_both: float
    """The same over both together."""


def loss(window: AttributeWindow, result: RTResult, plan: KKmPlan) -> WindowLoss:
    """Measure the loss that all models are compared by: D, for each visit to the members of its label."""
    return recoding_loss(window.visits, _recoding(window.visits.sequences, result))


def measure(
    seal: Seal, window: AttributeWindow, result: RTResult, plan: KKmPlan, inputs: MeasureInputs
) -> AttributeMeasures:
    """Measure the losses in attributes and in locations, and the errors of queries."""
    schema, rng = plan.schema, plan.generator(seal, "measures")
    original, released = _as_they_are(window), list(_as_released(result))

    def error(*, attributes: bool, locations: bool) -> float:
        queries = draw_rt_queries(original, rng, n=inputs.options.queries, attributes=attributes, locations=locations)
        return rt_query_error(schema, original, released, queries)

    return AttributeMeasures(
        ncp=result.ncp,
        ul=result.ul_bounded,
        groups=len(result.groups),
        visits_kept_share=float(result.kept.mean()),
        are_attributes=error(attributes=True, locations=False),
        are_locations=error(attributes=False, locations=True),
        are_both=error(attributes=True, locations=True),
    )


def _as_they_are(window: AttributeWindow) -> list[RTPerson]:
    """Return the people of a window with their own values and locations."""
    sets = location_sets(window.visits.sequences)
    locations = sets.locations.tolist()
    return [
        RTPerson(window.attributes.values(user), dict.fromkeys(locations[start:end], 1.0))
        for user, (start, end) in enumerate(pairwise(sets.starts.tolist()))
    ]


def _as_released(result: RTResult) -> Iterator[RTPerson]:
    """Yield the released people, with the probability of each location that they may have visited."""
    for group in result.groups:
        for visited, sensitive in zip(group.visited, group.sensitive, strict=True):
            labels = [group.generalized[index] for index in visited]
            chances = {location: 1 / len(label) for label in labels for location in label}
            yield RTPerson(group.values, chances | dict.fromkeys(sensitive, 1.0))


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
