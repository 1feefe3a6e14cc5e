"""Utility of locations: queries, supports, patterns and sets of a release beside those of its raw feed.

A generalized location stands for exactly one of its members, each equally likely. Where no two generalized locations
overlap, counts are expectations; otherwise, and for sets, one projection is drawn and measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from core.models.p2ka.pattern_similarity import pattern_similarity
from core.records.arrays import IntArray, starts_of
from core.trajectories.journeys import Journeys
from core.trajectories.location_sets import location_sets
from core.trajectories.trajectory import Sequences
from core.utility.divergence import draw_subtrajectories, support_divergence
from core.utility.itemsets import pair_error, top_deviation
from core.utility.patterns import pattern_shares, project
from core.utility.queries import average_relative_error, draw_queries
from core.utility.utility_loss import mean_utility_loss
from core.utility.window_measures import MeasureOptions
from stream.replay.evaluation.draws import generator_of
from stream.replay.summary import Means

__all__ = ["LabelledFigures"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Vocabulary:
    """The locations of both, numbered by name, and the generalized location of each, as a member's number."""

    n: int
    raw: Sequences
    released: Sequences
    """Over generalized locations, or over locations if a projection was drawn."""

    group_of: IntArray


class LabelledFigures:
    """Measures a release of locations against its raw feed, part by part; windows are measured alone.

    Args:
        k: Fewest people behind a pattern that counts as frequent.
        options: Sizes of the samples.
        seed: Draws queries and projections.
    """

    def __init__(self, *, k: int, options: MeasureOptions, seed: int) -> None:
        self._k, self._options, self._seed = k, options, seed
        self._measured = Means()
        self._have_names_in_common = False
        self._records = _ReleasedRecords()

    def add(self, raw: Journeys, released: Journeys) -> None:
        """Add whole windows, which are in no other part.

        Args:
            raw: The raw feed; every visit has a location that is not generalized.
            released: The release.
        """
        if raw.label_of is None or released.label_of is None or any(len(label) != 1 for label in raw.labels):
            return
        raw_names = {label[0] for label in raw.labels}
        if not raw_names.isdisjoint(chain.from_iterable(released.labels)):
            self._have_names_in_common = True
        self._records.add(raw, released)
        for window in np.unique(released.windows_ms).tolist():
            before = raw.only(np.flatnonzero(raw.windows_ms == window))
            after = released.only(np.flatnonzero(released.windows_ms == window))
            if before.n_visits and after.n_visits:
                generator = generator_of(self._seed, window)
                figures = _compare_window(before, after, k=self._k, options=self._options, generator=generator)
                self._measured.add(figures, len(after))

    @property
    def figures(self) -> dict[str, float]:
        """Means over the windows, weighted by released journeys; NaN where no window has a value.

        Empty if no name of a released location is one of the raw feed.
        """
        means = self._measured.values
        if not self._have_names_in_common or not means:
            return {}
        return means | {"ul": self._records.mean_loss}


def _compare_window(
    raw: Journeys, released: Journeys, *, k: int, options: MeasureOptions, generator: np.random.Generator
) -> dict[str, float]:
    vocabulary = _vocabulary(raw, released, generator)
    before, after, group_of = vocabulary.raw, vocabulary.released, vocabulary.group_of
    projection = after if _is_identity(group_of) else project(after, group_of, generator)
    sets, other_sets = location_sets(before), location_sets(projection)
    figures = {
        "tkd": top_deviation(sets, other_sets),
        "re": pair_error(sets, [other_sets]),
    }
    if not (raw.is_ordered and released.is_ordered):
        # Ascending ids take the place of an order: a set is then contained in the sets of the same people.
        before, after, group_of = sets, other_sets, np.arange(vocabulary.n)
    queries = draw_queries(before, generator, n=options.queries, largest=options.largest_query)
    locations = draw_subtrajectories(before, generator, size=1, n=vocabulary.n)
    pairs = draw_subtrajectories(before, generator, size=2, n=options.queries)
    of_locations = support_divergence(before, after, group_of, locations)
    of_pairs = support_divergence(before, after, group_of, pairs)
    patterns = pattern_shares(
        before,
        after,
        group_of,
        generator,
        projections=1 if _is_identity(group_of) else options.projections,
        min_support=options.min_support(before.n_users, k),
        longest=options.longest_pattern,
    )
    similar = pattern_similarity(
        before,
        projection if raw.is_ordered and released.is_ordered else after,
        min_support=k,
        longest=options.longest_pattern,
    )
    return figures | {
        "are": average_relative_error(before, after, group_of, queries),
        "kl_locations": of_locations.nats,
        "kl_locations_lost": of_locations.lost_share,
        "kl_pairs": of_pairs.nats,
        "kl_pairs_lost": of_pairs.lost_share,
        "patterns_frequent": float(patterns.frequent),
        "patterns_kept": patterns.kept,
        "patterns_invented": patterns.invented,
        "sim1": similar.support,
        "sim2": similar.size,
    }


def _vocabulary(raw: Journeys, released: Journeys, generator: np.random.Generator) -> _Vocabulary:
    used_raw, used = (np.unique(_label_of(one)) for one in (raw, released))
    labels = [released.labels[i] for i in used.tolist()]
    members = [name for label in labels for name in label]
    names = sorted({raw.labels[i][0] for i in used_raw.tolist()} | set(members))
    number = {name: i for i, name in enumerate(names)}
    numbers = np.full(len(raw.labels), -1, np.int64)
    numbers[used_raw] = [number[raw.labels[i][0]] for i in used_raw.tolist()]
    before = raw.sequences(numbers.tolist())
    own = np.zeros(len(released.labels), np.int64)
    own[used] = np.arange(len(used))
    after = released.sequences(own.tolist())
    group_of = np.arange(len(names))
    if len(set(members)) == len(members):
        for label in labels:
            ids = [number[name] for name in label]
            group_of[ids] = min(ids)
        first = np.array([min(number[name] for name in label) for label in labels], np.int64)
        locations = first[after.locations]
    else:
        sizes = np.array([len(label) for label in labels], np.int64)
        of_label = np.array([number[name] for name in members], np.int64)
        drawn = generator.integers(0, sizes[after.locations])
        locations = of_label[starts_of(sizes)[after.locations] + drawn]
    after = Sequences(users=after.users, starts=after.starts, locations=locations)
    return _Vocabulary(n=len(names), raw=before, released=after, group_of=group_of)


def _label_of(journeys: Journeys) -> IntArray:
    if journeys.label_of is None:
        raise ValueError("the journeys have no labels: they cannot be compared by locations")
    return journeys.label_of


def _is_identity(group_of: IntArray) -> bool:
    return bool((group_of == np.arange(len(group_of))).all())


class _ReleasedRecords:
    """UL over the raw journeys of the release's windows; who is not released has lost everything."""

    def __init__(self) -> None:
        self._lost = 0.0
        self._kept = self._released = self._raw = 0

    def add(self, raw: Journeys, released: Journeys) -> None:
        """Add whole windows."""
        sizes = np.array([len(label) for label in released.labels], np.int64)
        rows = _label_of(released).tolist()
        records = [[int(sizes[i]) for i in dict.fromkeys(rows[a:b])] for a, b in pairwise(released.starts.tolist())]
        kept = [record for record in records if record]
        self._lost += mean_utility_loss(kept) * len(kept)
        self._kept += len(kept)
        self._released += len(records)
        self._raw += int(np.isin(raw.windows_ms, released.windows_ms).sum())

    @property
    def mean_loss(self) -> float:
        """UL of the release."""
        people = max(self._raw, self._released, 1)
        return (self._lost + people - self._kept) / people
