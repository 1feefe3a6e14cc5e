"""What may leave: counts that hide fewer than k people, identifiers that tell nothing, and the plan behind them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.models.common.plan
from core.models.common.plan import Plan
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.records.keys import keyed_generator, keyed_id, pseudonyms
from core.records.record import Kind
from core.release.counts import population_of, publishable
from core.release.outcome import Account, ReleaseRefused, Withheld, WithholdReason
from core.windows.window import WindowKey
from tests.builders.windows import SECRET, point_plan, rules, seal_of, sequence_plan, visits

KEY = WindowKey(20, Kind.CHECKINS, "all", 10)
COUNTS = st.integers(0, 50)
KS = st.integers(2, 20)


# ---------------------------------------------------------------- counts


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, None), (4, None), (5, 5), (6, 6)])
def test_a_count_is_published_if_it_is_nobody_or_at_least_k(count: int, shown: int | None) -> None:
    """
    With k = 5, one to four would point at somebody.
    """
    assert publishable(count, 5) == shown


@given(n_released=COUNTS, n_others=COUNTS, k=KS)
def test_a_published_population_hides_who_was_left_out(n_released: int, n_others: int, k: int) -> None:
    """
    Population and people are both public: neither they nor their difference may count one to k - 1 people.
    """
    n_users = n_released + n_others
    shown = population_of(n_users, n_released, k)
    if shown is None:
        assert n_users < k or 0 < n_others < k
    else:
        assert shown == n_users >= k
        assert not 0 < n_others < k


def test_a_population_is_told_where_everybody_is_released() -> None:
    """
    Where nobody is left out, and where k or more are, the population is known; in between it is not.
    """
    assert [population_of(10, n_released, 5) for n_released in (10, 9, 6, 5, 0)] == [10, None, None, 10, 10]
    assert population_of(4, 4, 5) is None


# ---------------------------------------------------------------- identifiers


def test_identifiers_never_change() -> None:
    """
    A window rebuilt by another version has the same release id and pseudonyms, or a consumer would see it twice.
    """
    assert keyed_id(SECRET, "release", "checkins", "all", 10, 20) == "0acc8f50b78b8f68"
    assert keyed_generator(SECRET, "release-1").integers(0, 2**32, 3).tolist() == [3963791090, 3776804906, 701224918]


@pytest.mark.parametrize("key", [b"", b"k" * 15, b"k" * 65])
def test_a_key_that_is_none_derives_nothing(key: bytes) -> None:
    """
    A hash without a key is one that everybody can compute: plans, rules and what they derive take 16 to 64 bytes.
    """
    for derive in (
        lambda: keyed_id(key, "release"),
        lambda: keyed_generator(key, "r1"),
        lambda: pseudonyms(key, "r1", 1),
        lambda: sequence_plan(secret=key),
        lambda: point_plan(secret=key),
        lambda: rules(user_key=key),
    ):
        with pytest.raises(ValueError, match=rf"has {len(key)} bytes: it must have 16 to 64$"):
            derive()


@given(
    secret=st.binary(min_size=16, max_size=64),
    purpose=st.sampled_from(["release", "pseudonym", "plan"]),
    parts=st.lists(st.text("ab:|", max_size=3) | st.integers(-9, 9), max_size=4),
)
def test_an_identifier_is_sixteen_digits_whatever_goes_in(secret: bytes, purpose: str, parts: list[str | int]) -> None:
    """
    Any secret of 16 to 64 bytes works, and the result shows nothing of the parts.
    """
    assert re.fullmatch("[0-9a-f]{16}", keyed_id(secret, purpose, *parts))


@given(st.lists(st.lists(st.text("ab1 |:", max_size=2), max_size=3).map(tuple), min_size=2, unique=True, max_size=6))
def test_different_parts_are_different_identifiers(all_parts: list[tuple[str, ...]]) -> None:
    """
    ("a", "b") is not ("ab",): where parts end is part of what is hashed.
    """
    assert len({keyed_id(SECRET, "p", *parts) for parts in all_parts}) == len(all_parts)


def test_purpose_and_secret_separate_identifiers() -> None:
    """
    Nobody can turn a release id into a pseudonym, or one deployment's into another's.
    """
    other = b"another secret of plans"
    ids = {keyed_id(secret, purpose, 1) for secret, purpose in product((SECRET, other), ("release", "pseudonym"))}
    assert len(ids) == 4


def test_chance_is_the_same_again_and_another_for_others() -> None:
    """
    The generator depends on secret and release id, on nothing else, and on both.
    """
    draws = [
        keyed_generator(secret, release_id).random(4).tolist()
        for secret, release_id in ((SECRET, "r1"), (SECRET, "r1"), (SECRET, "r2"), (SECRET[:-1] + b"!", "r1"))
    ]
    assert draws[0] == draws[1]
    assert len({tuple(draw) for draw in draws}) == 3


@given(st.integers(0, 60), st.text("0123456789abcdef", min_size=16, max_size=16))
def test_pseudonyms_come_sorted_and_each_trajectory_has_one(n: int, release_id: str) -> None:
    """
    The order of pseudonyms says nothing about the order of trajectories, which is that of user hashes.
    """
    given_out = pseudonyms(SECRET, release_id, n)
    names = [name for name, _ in given_out]
    assert names == sorted(set(names))
    assert sorted(i for _, i in given_out) == list(range(n))


def test_pseudonyms_shuffle() -> None:
    """
    Of a hundred trajectories hardly any stands where it stood.
    """
    order = [i for _, i in pseudonyms(SECRET, "r1", 100)]
    assert sum(i == at for at, i in enumerate(order)) < 10


def test_pseudonyms_are_fresh_in_every_release() -> None:
    """
    Whoever is in two releases cannot be followed by name from one to the other.
    """
    first, second = ({name for name, _ in pseudonyms(SECRET, release_id, 500)} for release_id in ("r1", "r2"))
    assert not first & second


# ---------------------------------------------------------------- plans


PLANS: list[Callable[..., Plan]] = [sequence_plan, point_plan]


@pytest.mark.parametrize("plan", PLANS)
def test_a_digest_tells_settings_secret_and_algorithms(
    plan: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    Where any of the three differs, a replay would differ, and the digest does.
    """
    digests = [plan().digest, plan(settings="others").digest, plan(secret=SECRET[::-1]).digest]
    assert plan().digest == digests[0]
    monkeypatch.setitem(core.models.common.plan.ALGORITHMS, "algorithms", "next version")
    digests.append(plan().digest)
    assert len(set(digests)) == 4


def test_the_algorithms_versions_name_what_decides_the_bytes() -> None:
    """
    Another numpy may draw other numbers, another PROJ or H3 may place them elsewhere.
    """
    assert core.models.common.plan.ALGORITHMS.keys() == {"algorithms", "numpy", "proj", "h3"}
    assert core.models.common.plan.ALGORITHMS["numpy"] == np.__version__
    assert all(version for version in core.models.common.plan.ALGORITHMS.values())


def test_a_release_id_belongs_to_window_and_plan() -> None:
    """
    Two workers that seal one window name one release; any other window, shard, kind or plan has another.
    """
    plan = sequence_plan()
    seals = [
        plan.seal(KEY, last_offset=1, n_rows=2, writer="a"),
        plan.seal(KEY, last_offset=9, n_rows=8, writer="b"),
    ]
    assert len({seal.release_id for seal in seals}) == 1
    others = [
        plan.seal(other, last_offset=1, n_rows=2, writer="a")
        for other in (
            KEY._replace(end_ms=30),
            KEY._replace(start_ms=0),
            KEY._replace(shard="b"),
            KEY._replace(kind=Kind.FRAGMENTS),
        )
    ]
    others.append(sequence_plan(settings="others").seal(KEY, last_offset=1, n_rows=2, writer="a"))
    assert len({seal.release_id for seal in [*seals, *others]}) == 6


def test_a_seal_repeats_what_it_was_made_for() -> None:
    """
    Key, offset, number of rows, digest and writer are what a successor needs to rebuild the window.
    """
    plan = sequence_plan()
    seal = plan.seal(KEY, last_offset=41, n_rows=7, writer="w")
    assert (seal.key, seal.last_offset, seal.n_rows, seal.writer, seal.digest) == (KEY, 41, 7, "w", plan.digest)


@pytest.mark.parametrize(
    ("plan", "model", "parameters"),
    [
        (sequence_plan(k=4, m=3), "seqanon", {"k": 4, "m": 3}),
        (
            point_plan(k=4, delta_m=99.5, options=Wait4MeOptions(translation="minimal")),
            "w4m",
            {"k": 4, "delta_m": 99.5, "distance": "lstd", "translation": "minimal", "clustering": "refined"},
        ),
    ],
)
def test_the_promise_is_published_in_numbers(plan: Plan, model: str, parameters: dict[str, Any]) -> None:
    """
    Model and parameters say what is promised; a translation that leaves the pivot raw says so.
    """
    assert (plan.model, plan.parameters) == (model, parameters)


@pytest.mark.parametrize("plan", [sequence_plan(), point_plan()])
def test_what_is_withheld_says_why_and_is_accounted_for(plan: Plan) -> None:
    """
    A withheld window and a refused one keep the release id; the refused one always has the same reason.
    """
    seal = seal_of(visits(), plan)
    withheld = plan.withhold(seal, WithholdReason.TOO_FEW_PEOPLE, withheld=5, duplicates=2)
    refused = plan.refuse(seal, "3 too_far_apart", withheld=5, duplicates=2)
    for outcome in (withheld, refused):
        assert (outcome.release_id, outcome.key) == (seal.release_id, seal.key)
        assert (outcome.model, outcome.parameters) == (plan.model, plan.parameters)
        assert outcome.account == Account(withheld=5, duplicates=2)
    assert withheld.reason is WithholdReason.TOO_FEW_PEOPLE
    assert refused.reason is WithholdReason.VERIFICATION_FAILED
    assert isinstance(refused, Withheld)
    assert not isinstance(withheld, ReleaseRefused)


def test_plans_cannot_be_changed() -> None:
    """
    A plan decides what leaves; nobody alters it on the way.
    """
    plan = sequence_plan()
    with pytest.raises(FrozenInstanceError):
        plan.settings = "others"  # type: ignore[misc]
