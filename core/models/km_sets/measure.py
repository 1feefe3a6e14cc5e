"""Measure what a release of sets lost against the raw window. Operator only; never published."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.plan import KmSetPlan
from core.models.km_sets.release import shown_sets
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow
from core.trajectories.location_sets import location_sets
from core.trajectories.recoding import Recoding
from core.utility.multilevel import multilevel_deviation
from core.utility.queries import draw_queries
from core.utility.recoded import recoding_loss
from core.utility.set_queries import set_query_error
from core.utility.utility_loss import mean_utility_loss
from core.utility.window_answers import WindowAnswers, draw_visit_queries, raw_visits, visits_over
from core.utility.window_measures import MeasureInputs, WindowLoss, WindowMeasures
from core.windows.seal import Seal

__all__ = ["KmSetMeasures", "answers", "loss", "measure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KmSetMeasures(WindowMeasures):
    """The measures of one window; NaN if there is nothing to measure."""

    ncp: float
    """Mean share of the window's locations below the node that stands for a visited location: NCP (Terrovitis,
    Mamoulis, Kalnis 2008), in ``0..1``; 1 for a suppressed one. A generalized location counts as the lowest node of the
    taxonomy above all of its members."""

    ul: float
    """Mean loss of people's sets, in ``0..1`` (:mod:`core.utility.utility_loss`); 1 for an empty one."""

    are: float
    """Average relative error of COUNT queries (:mod:`core.utility.set_queries`)."""

    tkd_ml2: float
    """Share of the most frequent sets of nodes that are not found in the release (:mod:`core.utility.multilevel`)."""

    labels: float
    """Number of distinct generalized locations."""

    visits_kept_share: float


def loss(window: SequenceWindow, result: Recoding, plan: KmSetPlan) -> WindowLoss:
    """Measure the loss by which all models are compared: D, for each visit to the members of its label."""
    return recoding_loss(window, result)


def measure(
    seal: Seal, window: SequenceWindow, result: Recoding, plan: KmSetPlan, inputs: MeasureInputs
) -> KmSetMeasures:
    """Measure losses, queries and frequent sets.

    Raises:
        ValueError: The inputs have no taxonomy.
    """
    if inputs.taxonomy is None:
        raise ValueError("the inputs have no taxonomy: these measures need the hierarchy of locations")
    nodes = LocationNodes(inputs.taxonomy.paths(window.vocabulary))
    node_of = [nodes.common(label) for label in result.labels]
    shown = shown_sets(window, result).lists()
    original = location_sets(window.sequences)
    options, rng = inputs.options, plan.generator(seal, "measures")
    return KmSetMeasures(
        ncp=_certainty_penalty(window, result, [len(nodes.members[node]) for node in node_of], nodes.n_locations),
        # An empty set has lost everything: as if one generalized location stood for it.
        ul=mean_utility_loss([[len(result.labels[label]) for label in own] or [2] for own in shown]),
        are=set_query_error(
            original,
            [[result.labels[label] for label in own] for own in shown],
            draw_queries(original, rng, n=options.queries, largest=options.largest_query),
        ),
        tkd_ml2=multilevel_deviation(
            original.lists(), [[node_of[label] for label in own] for own in shown], nodes.above
        ),
        labels=len(result.labels),
        visits_kept_share=float(result.kept.mean()),
    )


def answers(seal: Seal, rows: Rows, window: SequenceWindow, result: Recoding, plan: KmSetPlan) -> WindowAnswers:
    """Answer queries by the members of generalized locations, which have no order."""
    raw = raw_visits(rows, plan.locator)
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=visits_over(shown_sets(window, result), window.vocabulary, result.labels, ordered=False),
        draw=partial(draw_visit_queries, raw, in_order=False),
    )


def _certainty_penalty(window: SequenceWindow, result: Recoding, sizes: list[int], n_locations: int) -> float:
    """Return the mean of the shares over the distinct pairs of a person and a visited location."""
    share = [size / n_locations if size > 1 else 0.0 for size in sizes]
    penalty = np.array([*share, 1.0])[result.label_of]  # the last one for -1
    pairs = window.sequences.owners * n_locations + window.sequences.locations
    _, first = np.unique(pairs, return_index=True)
    return float(penalty[first].mean())
