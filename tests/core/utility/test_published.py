"""What a windows message tells of its information loss is a function of the release."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from core.models.km.algorithms import SDSeqAnon
from core.places.geo import LocalProjection
from core.places.locate import Venues
from core.places.meaning import OwnTaxonomy
from core.places.vocabulary import Vocabulary
from core.utility.published import published_loss
from tests.builders.windows import VENUES, messages, release, released, sequence_plan, visits
from tests.oracles.km import Crowd, as_sequences, crowds

BAKERY, CINEMA, MARKET, MUSEUM, PARK, STATION = range(6)

NAMES = ("a", "aa", "b", "c", "cc", "d", "e", "f")
"""Eight places; those of two letters are far from all others."""

PLACES = Venues(
    NAMES,
    np.array([52.50, -33.9, 52.51, 52.53, 70.1, 52.54, 52.56, 52.57]),
    np.array([13.30, 151.2, 13.37, 13.31, -8.0, 13.44, 13.35, 13.40]),
)
NEAR = [i for i, name in enumerate(NAMES) if len(name) == 1]


def vocabulary(ids: list[int]) -> Vocabulary:
    lat, lon = PLACES.lat_deg[ids], PLACES.lon_deg[ids]
    return Vocabulary(
        ids=np.array(ids),
        names=tuple(NAMES[i] for i in ids),
        lat_deg=lat,
        lon_deg=lon,
        xy_m=LocalProjection.around(lat, lon).to_metres(lat, lon),
    )


@settings(deadline=None)
@given(crowd=crowds(), groups=st.lists(st.integers(0, 5), min_size=6, max_size=6), data=st.data())
def test_windows_with_the_same_release_tell_the_same(crowd: Crowd, groups: list[int], data: st.DataObject) -> None:
    """
    Other members visited, people in another order, suppressed visits to far places that nobody else saw: not a digit
    of the published figures changes.
    """
    assume(any(trajectory for _, trajectory in crowd))
    alone = [(user, trajectory) for user, (_, trajectory) in enumerate(crowd)]
    named = np.array([groups.index(group) for group in groups])
    here = vocabulary(NEAR)
    kept = np.ones(sum(len(trajectory) for _, trajectory in alone), np.bool_)
    told = published_loss(as_sequences(alone), here, named, kept, OwnTaxonomy(PLACES))

    other: Crowd = []
    other_kept: list[bool] = []
    for user, (_, trajectory) in enumerate(data.draw(st.permutations(alone))):
        visits: list[int] = []
        for location in trajectory:
            far = data.draw(st.lists(st.sampled_from([1, 4]), max_size=1))
            members = [NEAR[x] for x in range(6) if groups[x] == groups[location]]
            visits += [*far, data.draw(st.sampled_from(members))]
            other_kept += [*(False for _ in far), True]
        other.append((user, tuple(visits)))
    everywhere = np.arange(len(NAMES))
    everywhere[NEAR] = np.array(NEAR)[named]
    again = published_loss(
        as_sequences(other), vocabulary(list(range(8))), everywhere, np.array(other_kept), OwnTaxonomy(PLACES)
    )
    assert again == told


def test_a_release_does_not_tell_how_many_were_at_a_member() -> None:
    """
    Eight people at {bakery, cinema, market}, six of them at the one in the middle or at its end: the same bytes leave.
    """

    def window(*counts: int) -> Any:
        where = [place for place, count in zip((BAKERY, CINEMA, MARKET), counts, strict=True) for _ in range(count)]
        return messages(release(visits(*((user, 0, place) for user, place in enumerate(where))), sequence_plan(m=1)))

    one, other = window(1, 6, 1), window(1, 1, 6)
    assert len(one) == 9
    assert one == other


def test_figures_of_a_release_worked_out() -> None:
    """
    Places every 1 km: {0, 1} is 0.5 km from the truth as expected, 3 is exact, and 3 km is the widest.
    """
    step_deg = 1000 / 111_319.49
    line = Venues(("p0", "p1", "p2", "p3"), np.zeros(4), np.array([0, step_deg, 2 * step_deg, 3 * step_deg]))
    names = vocabulary_of(line)
    window = as_sequences([(0, (0, 3)), (1, (1,)), (2, (2,))])
    loss = published_loss(window, names, np.array([0, 0, 2, 3]), np.array([True, True, True, False]))
    assert loss == {
        "distance_m": pytest.approx(375.0, abs=0.2),
        "distance_share": pytest.approx(0.125, abs=1e-5),
        "generalized_locations": 1,
        "original_locations": 1,
        "generalized_size": 2.0,
        "generalized_distance_share": pytest.approx(1 / 3, abs=1e-5),
    }


def vocabulary_of(venues: Venues) -> Vocabulary:
    lat, lon = venues.lat_deg, venues.lon_deg
    ids = np.arange(len(lat))
    xy_m = LocalProjection.around(lat, lon).to_metres(lat, lon)
    return Vocabulary(ids=ids, names=tuple(venues.names), lat_deg=lat, lon_deg=lon, xy_m=xy_m)


def test_without_generalized_locations_there_is_no_size() -> None:
    """
    A mean over nothing is null, not a number.
    """
    window = as_sequences([(0, (0,)), (1, (0,))])
    loss = published_loss(window, vocabulary(NEAR), np.arange(6), np.ones(2, np.bool_))
    assert (loss["generalized_locations"], loss["original_locations"]) == (0, 1)
    assert (loss["generalized_size"], loss["generalized_distance_share"]) == (None, None)
    assert (loss["distance_m"], loss["distance_share"]) == (0.0, 0.0)


def test_the_penalty_is_told_where_meaning_was_used() -> None:
    """
    SD-SeqAnon names its taxonomy and tells P; SeqAnon knows of no meaning.
    """
    rows = visits(*((user, 10 * step, place) for user in range(6) for step, place in enumerate((PARK, STATION))))
    semantic = released(rows, sequence_plan(algorithm=SDSeqAnon(OwnTaxonomy(VENUES))))
    assert semantic.information_loss["semantic_penalty"] == 0.5
    assert "semantic_penalty" not in released(rows, sequence_plan()).information_loss
