"""Measure what a release with attributes lost against the raw window. Operator only; never published."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from core.models.kkm.anonymize.result import RTResult
from core.models.kkm.attribute_queries import Wanted, share_of_values
from core.models.kkm.attributes import Value
from core.models.kkm.plan import KKmPlan
from core.models.kkm.queries import RTPerson, draw_rt_queries, rt_query_error
from core.models.kkm.release import AttributeWindow
from core.records.arrays import FloatArray
from core.records.record import Rows
from core.trajectories.location_sets import location_sets
from core.trajectories.recoding import SUPPRESSED, Label, Recoding
from core.trajectories.trajectory import Sequences
from core.utility.answers import PossibleVisits, VisitLabels
from core.utility.recoded import recoding_loss
from core.utility.window_answers import WindowAnswers, draw_visit_queries, raw_visits, spots_of
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["AttributeMeasures", "answers", "loss", "measure"]


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
    return [
        RTPerson(window.attributes.values(user), dict.fromkeys(own, 1.0))
        for user, own in enumerate(location_sets(window.visits.sequences).lists())
    ]


def _as_released(result: RTResult) -> Iterator[RTPerson]:
    """Yield the released people, with the probability of each location that they may have visited."""
    for _, values, labels in _shown(result):
        yield RTPerson(values, {location: 1 / len(label) for label in labels for location in label})


def _shown(result: RTResult) -> Iterator[tuple[int, tuple[Value, ...], list[Label]]]:
    """Yield the user, the generalized values and the generalized locations of each released person."""
    for group in result.groups:
        for user, visited, sensitive in zip(group.users, group.visited, group.sensitive, strict=True):
            yield user, group.values, [*(group.generalized[index] for index in visited), *((x,) for x in sensitive)]


def _recoding(sequences: Sequences, result: RTResult) -> Recoding:
    """Convert the sets of a release to the label that each visit is released as."""
    labels: list[Label] = []
    label_at: dict[tuple[int, int], int] = {}
    for user, _, its in _shown(result):
        for label in its:
            label_at.update(dict.fromkeys(((user, place) for place in label), len(labels)))
            labels.append(label)
    label_of = np.full(len(sequences.locations), SUPPRESSED, np.int64)
    kept = np.flatnonzero(result.kept)
    at: Sequence[tuple[int, int]] = list(
        zip(sequences.owners[kept].tolist(), sequences.locations[kept].tolist(), strict=True)
    )
    label_of[kept] = [label_at[visit] for visit in at]
    return Recoding.of(labels, label_of)


def answers(seal: Seal, rows: Rows, window: AttributeWindow, result: RTResult, plan: KKmPlan) -> WindowAnswers:
    """Answer queries by generalized attributes, and by the members of generalized locations, which have no order."""
    visits = window.visits
    own = [window.attributes.values(user) for user in range(window.n_users)]
    shown = list(_shown(result))
    labels = [label for _, _, its in shown for label in its]

    def asked(values: Sequence[tuple[Value, ...]], wanted: Mapping[str, Wanted]) -> FloatArray | None:
        return share_of_values(plan.schema, values, wanted)

    raw = raw_visits(rows, plan.locator, partial(asked, own))
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=PossibleVisits(
            users=np.array([user for user, _, _ in shown], np.int64),
            starts=np.cumsum([0, *(len(its) for _, _, its in shown)]),
            spots=spots_of(visits.vocabulary),
            labels=VisitLabels.of(np.arange(len(labels)), labels),
            ordered=False,
            attributes=partial(asked, [values for _, values, _ in shown]),
        ),
        draw=partial(draw_visit_queries, raw, in_order=False),
    )
