"""What a release lost in metres, of whatever model: it is what a slow look at the release finds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from core.models.common.plan import Plan
from core.models.kkm.anonymize.result import RTResult, published
from core.models.measures import measure_loss
from core.records.record import Rows
from core.release.outcome import Release
from core.trajectories.assemble import assemble_sequences
from core.utility.window_measures import MeasureOptions
from tests.builders import strategies
from tests.builders.windows import (
    anonymized,
    attribute_plan,
    cluster_plan,
    measured,
    messages,
    pair_plan,
    pattern_plan,
    point_plan,
    points,
    release,
    seal_of,
    sequence_plan,
    set_plan,
)

PLANS: tuple[Callable[..., Plan], ...] = (
    sequence_plan,
    cluster_plan,
    pattern_plan,
    pair_plan,
    attribute_plan,
    set_plan,
)


@given(rows=strategies.told_rows(max_users=8), k=st.integers(2, 3))
def test_sets_of_places_are_as_far_away_as_their_members_are(rows: Rows, k: int) -> None:
    """
    Of attributes and sets of places: for each person the mean, over the visits released, of the distance to all members
    of the place that stands for it; then the mean over people. One who visits a place often counts it as often.
    """
    plan = attribute_plan(k=k, l=2, sensitive={"market"})
    window = assemble_sequences(rows, plan.locator, plan.limits)
    assume(window.n_users >= k)
    result = anonymized(rows, plan)[1]
    assert isinstance(result, RTResult)
    told = published(result, window.vocabulary.names)
    at = dict(zip(window.vocabulary.names, window.vocabulary.xy_m.tolist(), strict=True))
    labels = {
        user: [*its, *((place,) for place in sensitive)]
        for user, its, sensitive in zip(told.users, told.locations, told.sensitive, strict=True)
    }
    names = window.vocabulary.names
    means = []
    for user in range(window.n_users):
        visited = [names[x] for x in window.sequences.locations[window.sequences.owners == user].tolist()]
        distances = [
            np.mean([math.dist(at[place], at[member]) for member in label])
            for place in visited
            for label in labels.get(user, [])
            if place in label
        ]
        means += [np.mean(distances)] if distances else []
    loss = measure_loss(seal_of(rows, plan), rows, plan)
    assert loss.people == len(means)
    assert loss.distance_m == pytest.approx(float(np.mean(means)) if means else math.nan, nan_ok=True)


@given(rows=strategies.told_rows(max_users=8), k=st.integers(2, 4), make=st.sampled_from(PLANS))
def test_loss_and_release_tell_of_the_same_people(rows: Rows, k: int, make: Callable[..., Any]) -> None:
    """
    Of whatever model: a released window has people and a distance of 0 or more; fewer than k are never behind it.
    """
    plan = make(k=k)
    outcome = release(rows, plan)
    assume(isinstance(outcome, Release))
    assert isinstance(outcome, Release)
    loss = measure_loss(seal_of(rows, plan), rows, plan)
    assert loss.distance_m >= 0
    assert loss.time_s == 0
    assert loss.people <= len(np.unique(rows["user"]))
    if outcome.people is not None and make is not pattern_plan:  # of which somebody may be given others' places alone
        assert loss.people >= k


@given(rows=strategies.visit_rows(max_users=8), k=st.integers(2, 4))
def test_sequences_and_clusters_have_the_distance_of_their_measures(rows: Rows, k: int) -> None:
    """
    D is that of ``replay --measure all``.
    """
    plan, clustered = sequence_plan(k=k), cluster_plan(k=k)
    options = MeasureOptions(queries=1, projections=1)
    measures = measured(rows, plan, options)
    if measures is not None:
        assert measure_loss(seal_of(rows, plan), rows, plan).distance_m == measures.distance_m
    of_clusters = measured(rows, clustered)
    if of_clusters is not None:
        assert measure_loss(seal_of(rows, clustered), rows, clustered).distance_m == of_clusters.distance_m


@given(rows=strategies.point_rows(max_users=8, max_rows=40), k=st.integers(2, 3), personal=st.booleans())
def test_what_is_remembered_is_what_would_be_made_again(rows: Rows, k: int, personal: bool) -> None:
    """
    Of fragments: a plan that remembers releases the same bytes and measures the same, also when nothing was released
    before, and never with what it made of another window.
    """
    plan = point_plan(k=k, personal=personal)
    again = plan.remembering()
    seal = seal_of(rows, plan)
    loss = measure_loss(seal, rows, plan)
    assert same(release(OTHERS, again), release(OTHERS, plan))
    assert measure_loss(seal_of(OTHERS, again), OTHERS, again) == measure_loss(seal_of(OTHERS, plan), OTHERS, plan)
    outcome = release(rows, again)
    assert same(outcome, release(rows, plan))
    told = measure_loss(seal, rows, again)
    assert (told.people, told.time_s) == (loss.people, loss.time_s)
    assert told.distance_m == pytest.approx(loss.distance_m, nan_ok=True)
    measures = measured(rows, plan, MeasureOptions(queries=1))
    if measures is not None:
        assert told.distance_m == measures.mean_space_translation_m


OTHERS = points(*((user, at, 52.5 + user * 1e-4, 13.4) for user in range(4) for at in range(0, 300, 30)))


def same(one: Any, other: Any) -> bool:
    """Compare by what leaves."""
    return [message.value for message in messages(one)] == [message.value for message in messages(other)]


def test_what_is_promised_is_named_by_the_guarantee() -> None:
    """
    Models of clusters promise k^m where no place is sensitive; attributes say whether one is.
    """
    assert [make().promise for make in PLANS] == [
        "k^m",
        cluster_plan().promise,
        "pattern-preserving k",
        "LKC",
        "(k,k^m)",
        "disassociated k^m",
    ]
    assert cluster_plan(sensitive=()).promise == "k^m"
    assert cluster_plan(sensitive={"park"}).promise == "(k,l)^m"
    assert attribute_plan(l=2, sensitive={"park"}).promise == "(k,l^m)"
    assert point_plan().promise == point_plan(personal=True).promise == "(k,delta)"
