"""Both sides of a workload: what a raw window answers to COUNT queries, what its release answers, and the error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from core.places.locate import Locator
from core.places.vocabulary import Vocabulary
from core.records.by_user import same_as_before
from core.records.record import Rows
from core.trajectories.assemble import SequenceWindow, vocabulary_of
from core.trajectories.recoding import Label
from core.trajectories.trajectory import Sequences
from core.utility.answers import Answers, AskedAttributes, PossibleVisits, VisitLabels
from core.utility.queries import draw_queries
from core.utility.window_measures import WindowMeasures
from core.utility.workload import CountQuery, LocationPlace, Spots, Workload

__all__ = [
    "QueryMeasures",
    "WindowAnswers",
    "draw_visit_queries",
    "measure_queries",
    "raw_visits",
    "sequence_answers",
    "spots_of",
    "visits_over",
]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WindowAnswers:
    """A window before and after, for the same queries."""

    people: int
    """People in the raw window."""

    raw: Answers = field(repr=False)
    released: Answers = field(repr=False)

    draw: Callable[[np.random.Generator, Workload], list[CountQuery]] = field(repr=False)
    """Draw the queries of a workload without any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryMeasures(WindowMeasures):
    """How exactly a release answers a workload."""

    queries_are: float
    """Average relative error of the queries that the release answers; NaN if it answers none."""

    queries_sanity_bound: float
    """Least number of people that an error is relative to."""

    queries_unanswered: float
    """Share of the queries that ask for what the release does not have."""

    queries_empty: float
    """Share of the answered queries that nobody in the raw window matches."""


def measure_queries(answers: WindowAnswers, workload: Workload, rng: np.random.Generator) -> QueryMeasures:
    """Ask all queries of the raw window and of its release.

    ``ARE = avg{|raw - released| / max(raw, sanity bound)}`` (Poulis et al. 2014, Section 5, where drawn queries are
    never empty and need no bound).

    Args:
        answers: The window, raw and released.
        workload: The queries, or how many to draw.
        rng: The only source of randomness, if queries are drawn.
    """
    queries = answers.draw(rng, workload) if workload.queries is None else workload.queries
    bound = workload.sanity_bound(answers.people)
    errors: list[float] = []
    empty = 0
    for query in queries:
        raw, released = answers.raw.count(query), answers.released.count(query)
        if raw is not None and released is not None:
            errors.append(abs(raw - released) / max(raw, bound))
            empty += raw == 0
    nan = float("nan")
    return QueryMeasures(
        queries_are=float(np.mean(errors)) if errors else nan,
        queries_sanity_bound=bound,
        queries_unanswered=1 - len(errors) / len(queries) if queries else nan,
        queries_empty=empty / len(errors) if errors else nan,
    )


def spots_of(vocabulary: Vocabulary) -> Spots:
    """Return the locations of a window as spots; a location's id is its number."""
    return Spots(lat_deg=vocabulary.lat_deg, lon_deg=vocabulary.lon_deg, names=vocabulary.names)


def raw_visits(rows: Rows, locator: Locator, attributes: AskedAttributes | None = None) -> PossibleVisits:
    """Return the visits of a window as they were, all of one person in one trajectory.

    No limit of a model applies, so every model is compared with the same answers.

    Args:
        rows: Rows of :data:`core.records.record.VISIT`, shape ``(n,)``, in any order.
        locator: The vocabulary of their locations.
        attributes: What is known of each person, in the order of the users' hashes.
    """
    vocabulary, location = vocabulary_of(rows, locator)
    order = np.lexsort((location, rows["ts_ms"], rows["user"]))
    user, ts_ms, location = rows["user"][order], rows["ts_ms"][order], location[order]
    again = same_as_before(user, ts_ms, location)
    user, ts_ms, location = user[~again], ts_ms[~again], location[~again]
    first = np.unique(user, return_index=True)[1]
    return PossibleVisits(
        users=np.arange(len(first)),
        starts=np.append(first, len(user)).astype(np.int64),
        spots=spots_of(vocabulary),
        labels=VisitLabels.alone(location, len(vocabulary.names)),
        times_ms=(ts_ms, ts_ms + 1),
        attributes=attributes,
    )


def visits_over(
    sequences: Sequences, vocabulary: Vocabulary, labels: Sequence[Label] | None = None, *, ordered: bool = True
) -> PossibleVisits:
    """Return released sequences as visits.

    Args:
        sequences: Released sequences over labels, or over locations if there are no labels.
        vocabulary: The locations of the window.
        labels: The locations that each label stands for.
        ordered: Whether the order of visits is released.
    """
    at = sequences.locations
    return PossibleVisits(
        users=sequences.users,
        starts=sequences.starts,
        spots=spots_of(vocabulary),
        labels=VisitLabels.alone(at, len(vocabulary.names)) if labels is None else VisitLabels.of(at, labels),
        ordered=ordered,
    )


def draw_visit_queries(
    raw: PossibleVisits, rng: np.random.Generator, workload: Workload, *, in_order: bool
) -> list[CountQuery]:
    """Draw queries by location names, by :func:`core.utility.queries.draw_queries`, from a raw window."""
    names = raw.spots.names or ()
    sequences = Sequences(users=raw.users, starts=raw.starts, locations=raw.labels.label_of)
    drawn = draw_queries(sequences, rng, n=workload.n_drawn, largest=workload.largest_drawn)
    return [
        CountQuery(places=tuple(LocationPlace(names[location]) for location in query), in_order=in_order)
        for query in drawn
    ]


def sequence_answers(
    rows: Rows,
    locator: Locator,
    window: SequenceWindow,
    released: Sequences,
    labels: Sequence[Label] | None = None,
) -> WindowAnswers:
    """Return the answers of a window and of its released sequences, which are in the order of time.

    Args:
        rows: The rows of the window.
        locator: The vocabulary of their locations.
        window: The window as it was anonymized.
        released: Sequences over labels, or over locations if there are no labels.
        labels: The locations that each label stands for.
    """
    raw = raw_visits(rows, locator)
    return WindowAnswers(
        people=window.n_users,
        raw=raw,
        released=visits_over(released, window.vocabulary, labels),
        draw=partial(draw_visit_queries, raw, in_order=True),
    )
