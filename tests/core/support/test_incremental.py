"""Supports counted as records arrive, against counting the window from scratch."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import core.support.incremental
from core.models.common.guarantee import Parameters
from core.models.km.anonymize.seqanon import Generalization, sd_seqanon, seqanon, u_seqanon
from core.models.km.guarantee import KmAnonymity
from core.places.locate import Area, AreaGrid
from core.places.taxonomy import LocationTree
from core.records.arrays import FloatArray, IntArray
from core.records.record import VISIT
from core.support.incremental import WindowSupports
from core.support.start import ClosedSupports, Recounted, Supports
from core.trajectories.assemble import Limits, SequenceWindow, assemble_sequences
from tests.budgets import examples
from tests.builders.windows import START_MS, limits, messages, release, sequence_plan
from tests.oracles import km as oracles
from tests.oracles.km import Crowd

NAMES = ("d", "a", "f", "c", "b", "e")
"""Names of the locations 0, 1, ...: their order is not that of the ids."""

Visit = tuple[int, int, int]
"""User, instant, and which location."""

Removal = int
"""A user who is removed."""

VISITS = st.tuples(st.integers(0, 7), st.integers(0, 5), st.integers(0, len(NAMES) - 1))
FEW = st.lists(VISITS | st.integers(0, 7), max_size=40)
MANY = st.lists(VISITS, min_size=25, max_size=60)
ONE_LONG = st.tuples(
    st.lists(st.tuples(st.integers(0, 6), st.just(0), st.integers(0, 3)), min_size=4, max_size=12),
    st.lists(st.tuples(st.just(7), st.integers(0, 5), st.integers(0, 3)), min_size=2, max_size=4),
).map(lambda drawn: [*drawn[0], *drawn[1]])
ARRIVALS = FEW | MANY | ONE_LONG
"""What happens to a window, in order: visits of few people at few places and instants, so that many coincide."""

CURBS = st.builds(Limits, points_per_user=st.integers(1, 9), trajectory_length=st.integers(1, 9)) | st.just(limits())
GUARANTEES = st.builds(KmAnonymity, k=st.integers(2, 4), m=st.integers(1, 4))


class Places(AreaGrid):
    """Locations whose ids and names are in different orders."""

    def __init__(self) -> None:
        super().__init__(Area(south=52, west=13, north=53, east=14), rows=1, columns=len(NAMES))

    def name(self, location: int) -> str:
        return NAMES[location]

    def describe(self, locations: IntArray) -> tuple[list[str], FloatArray, FloatArray]:
        _, lat_deg, lon_deg = super().describe(locations)
        return [self.name(location) for location in locations.tolist()], lat_deg, lon_deg


@dataclass
class Feed:
    """One window twice: its rows, and its supports as they arrive."""

    guarantee: KmAnonymity
    curbs: Limits
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.supports = WindowSupports(self.guarantee.k, self.guarantee.m, self.curbs, Places().name)

    def happen(self, arrivals: Sequence[Visit | Removal]) -> None:
        for arrival in arrivals:
            if isinstance(arrival, int):
                if any(user == arrival for _, user, _, _ in self.rows):
                    self.supports.remove_user(arrival)
                self.rows = [row for row in self.rows if row[1] != arrival]
            else:
                user, at_s, location = arrival
                row = (user, START_MS + 1000 * at_s, location)
                assert self.supports.add(*row) == (row not in {known[1:] for known in self.rows})
                self.rows.append((len(self.rows), *row))

    def window(self) -> SequenceWindow:
        return assemble_sequences(np.array([(*row, 0) for row in self.rows], dtype=VISIT), Places(), self.curbs)

    def crowd(self) -> Crowd:
        """The trajectories of the window, in the locator's ids."""
        window = self.window()
        locations = window.vocabulary.ids[window.sequences.locations].tolist()
        bounds = pairwise(window.sequences.starts.tolist())
        users = window.sequences.users.tolist()
        return [(user, tuple(locations[start:end])) for user, (start, end) in zip(users, bounds, strict=True)]

    def closed(self) -> ClosedSupports:
        return self.supports.close(self.window().vocabulary.ids)


def counted(crowd: Crowd, size: int) -> dict[tuple[int, ...], int]:
    return {part: oracles.support(part, crowd) for part in oracles.all_subtrajectories(crowd, size)}


@settings(deadline=None, max_examples=examples(150))
@given(parts=st.lists(ARRIVALS, min_size=1, max_size=3), guarantee=GUARANTEES, curbs=CURBS)
def test_supports_are_those_of_the_window(
    parts: list[list[Visit | Removal]], guarantee: KmAnonymity, curbs: Limits
) -> None:
    """
    Whenever they are read, whatever has come out of order, twice, or gone again, and however trajectories are cut.
    """
    feed = Feed(guarantee, curbs)
    for arrivals in parts:
        feed.happen(arrivals)
        crowd = feed.crowd()
        for size in range(1, guarantee.m + 1):
            assert feed.supports.supports(size) == counted(crowd, size)
        assert feed.supports.n_visits == sum(len(trajectory) for _, trajectory in crowd)
        assert feed.supports.n_users == len({user for user, _ in crowd})


@settings(deadline=None, max_examples=examples(150))
@given(
    arrivals=ARRIVALS, guarantee=GUARANTEES, curbs=CURBS, groups=st.lists(st.integers(-1, 2), min_size=6, max_size=6)
)
def test_an_index_starts_with_the_infrequent_subtrajectories_of_the_window(
    arrivals: list[Visit | Removal], guarantee: KmAnonymity, curbs: Limits, groups: list[int]
) -> None:
    """
    Also when some locations have been generalized together, and some suppressed (-1), before it starts.
    """
    feed = Feed(guarantee, curbs)
    feed.happen(arrivals)
    ids = feed.window().vocabulary.ids
    group_of = np.array(groups, np.int64)[: len(ids)]
    shown = dict(zip(ids.tolist(), group_of.tolist(), strict=True))
    crowd = [(user, tuple(shown[x] for x in t if shown[x] >= 0)) for user, t in feed.crowd()]
    for supports in (feed.closed(), Recounted(feed.window().sequences)):
        for size in range(1, guarantee.m + 1):
            index = supports.index(size, k=guarantee.k, group_of=group_of)
            assert index.infrequent() == oracles.infrequent(crowd, guarantee.k, size)


def taxonomy(n_locations: int) -> LocationTree:
    return LocationTree([(f"half {row % 2}",) for row in range(n_locations)])


def anonymized(
    window: SequenceWindow, guarantee: KmAnonymity, supports: Supports | None
) -> list[Generalization | None]:
    """What each algorithm of the family makes of a window."""
    sequences, xy_m = window.sequences, window.vocabulary.xy_m
    half = np.arange(len(xy_m)) % 2
    return [
        seqanon(sequences, xy_m, guarantee, supports=supports),
        sd_seqanon(sequences, xy_m, guarantee, taxonomy(len(xy_m)), supports=supports),
        *(
            u_seqanon(sequences, xy_m, guarantee, half, max_suppressed_percent=percent, supports=supports)
            for percent in (0, 40, 100)
        ),
    ]


@settings(deadline=None, max_examples=examples(150))
@given(arrivals=ARRIVALS, guarantee=GUARANTEES, curbs=CURBS)
def test_from_scratch_and_incremental_generalize_alike(
    arrivals: list[Visit | Removal], guarantee: KmAnonymity, curbs: Limits
) -> None:
    """
    Every algorithm merges and suppresses the same, byte for byte, in whatever order the records came.
    """
    feed = Feed(guarantee, curbs)
    feed.happen(arrivals)
    window = feed.window()
    from_scratch = anonymized(window, guarantee, None)
    incremental = anonymized(window, guarantee, feed.closed())
    for a, b in zip(from_scratch, incremental, strict=True):
        assert (a is None) == (b is None)
        if a is not None and b is not None:
            assert (a.group_of.tobytes(), a.kept.tobytes()) == (b.group_of.tobytes(), b.kept.tobytes())
            assert a.merges == b.merges


@dataclass(frozen=True)
class SeqAnonFrom:
    """SeqAnon, started from supports."""

    supports: Supports | None
    model: str = "seqanon"

    @property
    def parameters(self) -> Parameters:
        return {}

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        return seqanon(window.sequences, window.vocabulary.xy_m, guarantee, supports=self.supports)


@settings(deadline=None, max_examples=examples(50))
@given(orders=MANY.flatmap(lambda drawn: st.tuples(st.just(drawn), st.permutations(drawn))), k=st.integers(2, 3))
def test_from_scratch_and_incremental_give_the_same_release(orders: tuple[list[Visit], list[Visit]], k: int) -> None:
    """
    The messages of a window are the same bytes, counted from scratch or as the records came, in two orders.
    """
    made = []
    for arrivals in orders:
        feed = feed_of(*arrivals, k=k)
        for supports in (None, feed.closed()):
            plan = sequence_plan(k=k, m=2, locator=Places(), algorithm=SeqAnonFrom(supports))
            made.append(messages(release(np.array([(*row, 0) for row in feed.rows], dtype=VISIT), plan)))
    assert made[0] == made[1] == made[2] == made[3]


def feed_of(*arrivals: Visit | Removal, k: int = 2, m: int = 2, **curbs: int) -> Feed:
    feed = Feed(KmAnonymity(k=k, m=m), limits(**curbs))
    feed.happen(arrivals)
    return feed


def test_a_late_visit_goes_where_its_time_is() -> None:
    """
    A record in the middle of a sequence pairs with what is before it and with what is after it.
    """
    #  u1   0(t=1)  2(t=2, came last)  1(t=3)
    feed = feed_of((1, 1, 0), (1, 3, 1), (1, 2, 2))
    assert feed.supports.supports(2) == {(0, 1): 1, (0, 2): 1, (2, 1): 1}


def test_visits_of_one_instant_are_in_the_order_of_names() -> None:
    """
    Neither the order of arrival nor the locator's ids matter: location 1 is called a, location 0 is called d.
    """
    for arrivals in [((1, 1, 0), (1, 1, 1)), ((1, 1, 1), (1, 1, 0))]:
        assert feed_of(*arrivals).supports.supports(2) == {(1, 0): 1}


def test_a_subtrajectory_met_again_is_not_counted_again() -> None:
    """
    A person who goes the same way twice is one person, frequent subtrajectory or not.
    """
    twice = ((1, 1, 0), (1, 2, 1), (1, 3, 0), (1, 4, 1))
    assert feed_of(*twice).supports.supports(2) == {(0, 0): 1, (0, 1): 1, (1, 0): 1, (1, 1): 1}
    others = ((2, 1, 0), (2, 2, 1), (3, 1, 0), (3, 2, 1))
    assert feed_of(*others, *twice).supports.supports(2)[0, 1] == 3


def test_a_removed_user_leaves_nothing() -> None:
    """
    A subtrajectory that falls below k has its people known again, and one without people is gone.
    """
    feed = feed_of((1, 1, 0), (1, 2, 1), (2, 1, 0), (2, 2, 1), (3, 1, 0), (3, 2, 1), (3, 3, 2), 3, k=3)
    assert (feed.supports.supports(1), feed.supports.supports(2)) == ({(0,): 2, (1,): 2}, {(0, 1): 2})
    apart, together = np.arange(2), np.zeros(2, np.int64)
    assert feed.closed().index(2, k=3, group_of=apart).infrequent() == [(2, (1, 0))]  # rows by name: 1 is a, 0 is d
    assert feed.closed().index(2, k=3, group_of=together).infrequent() == [(2, (0, 0))]
    feed.happen([1, 2])
    assert (feed.supports.supports(1), feed.supports.supports(2), feed.supports.n_users) == ({}, {}, 0)


def test_people_are_found_again_by_their_trajectories_as_they_are_cut() -> None:
    """
    Whoever visits all locations of a subtrajectory, but in two pieces, does not support it.
    """
    #  u1   0 2 | 1 2    u2, u3   0 1
    feed = feed_of(*((1, at_s, location) for at_s, location in enumerate((0, 2, 1, 2))), trajectory_length=2)
    feed.happen([(2, 1, 0), (2, 2, 1), (3, 1, 0), (3, 2, 1)])
    assert feed.supports.supports(2)[0, 1] == 2
    feed.happen([3])
    assert feed.supports.supports(2)[0, 1] == 1


def test_what_was_counted_before_a_cut_is_not_used_after_it() -> None:
    """
    Only one person has two visits, so one of them is suppressed, and location 1 is left with one visitor.
    """
    feed = feed_of((1, 1, 0), (1, 2, 1), (2, 1, 0), (3, 1, 1))
    window = feed.window()
    for supports in (None, feed.closed()):
        result = seqanon(window.sequences, window.vocabulary.xy_m, feed.guarantee, supports=supports)
        assert (result.kept.tolist(), result.merges) == ([True, False, True, True], 1)


def test_a_user_nobody_knows_cannot_be_removed() -> None:
    """
    Removing twice is a mistake of the caller's, who would believe that it did something.
    """
    supports = feed_of((1, 1, 0), 1).supports
    with pytest.raises(KeyError):
        supports.remove_user(1)


def test_a_person_with_very_many_visits_is_counted_once_not_with_every_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    From the visit that makes a cut necessary on, nothing is enumerated for that person until somebody reads.
    """
    feed = feed_of(*((1, at_s, at_s % 6) for at_s in range(4)), trajectory_length=3)
    enumerate_once = core.support.incremental._subtrajectories
    monkeypatch.setattr(core.support.incremental, "_subtrajectories", None)
    feed.happen([(1, at_s, at_s % 6) for at_s in range(40, 4, -1)])
    monkeypatch.setattr(core.support.incremental, "_subtrajectories", enumerate_once)
    assert feed.supports.supports(2) == counted(feed.crowd(), 2)


def test_supports_of_another_guarantee_are_refused() -> None:
    """
    Whom a subtrajectory needs to be known for depends on k; larger sizes than m are not counted.
    """
    feed = feed_of((1, 1, 0), (2, 1, 0), k=2, m=1)
    window = feed.window()
    for guarantee in (KmAnonymity(k=3, m=1), KmAnonymity(k=2, m=2)):
        with pytest.raises(ValueError, match="the supports are for k=2, m=1"):
            feed.closed().index(guarantee.m, k=guarantee.k, group_of=np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="size is 2"):
        feed.supports.supports(2)
    assert seqanon(window.sequences, window.vocabulary.xy_m, feed.guarantee, supports=feed.closed()).kept.all()


def test_supports_of_another_window_are_refused() -> None:
    """
    They would give a release that only the verifier could stop.
    """
    feed, other = feed_of((1, 1, 0), (2, 1, 0)), feed_of((1, 1, 0), (2, 1, 0), (2, 2, 0))
    window = feed.window()
    with pytest.raises(ValueError, match="another window"):
        seqanon(window.sequences, window.vocabulary.xy_m, feed.guarantee, supports=other.closed())
    with pytest.raises(ValueError, match="another window"):
        feed.supports.close(np.array([5]))


def test_closed_supports_can_be_sent_to_another_process() -> None:
    """
    They anonymize there as here, and tell nothing of people in their repr.
    """
    feed = feed_of((1, 1, 0), (1, 2, 1), (2, 1, 0), (2, 2, 3), (3, 1, 3))
    window = feed.window()
    there = pickle.loads(pickle.dumps(feed.closed()))  # noqa: S301 - our own bytes
    results = [
        seqanon(window.sequences, window.vocabulary.xy_m, feed.guarantee, supports=supports)
        for supports in (None, there)
    ]
    assert results[0].group_of.tolist() == results[1].group_of.tolist()
    assert repr(there) == "ClosedSupports(k=2, m=2, n_visits=5)"
