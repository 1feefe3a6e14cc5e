"""Rum-bound and Tum-bound on real feeds, with drawn attributes: every window's release is verified."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.models.kkm.anonymize.bounding import anonymize_rt
from core.models.kkm.anonymize.result import BoundNotMet, RTOptions
from core.models.kkm.guarantee import KKmAnonymity
from tests.benchmarks.bench_kkm import FEEDS, check, drawn_attributes, windows_of
from tests.paths import DATA

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not DATA.is_dir(),
        reason="the real feeds are not here: they belong into ../shared/data, beside the repository",
    ),
]


@pytest.mark.parametrize(
    "options",
    [{"bound": "ncp", "delta": 0.4}, {"bound": "ul", "delta": 0.65}, {"merge": "t", "distance": "ul", "n_measured": 3}],
    ids=["rum", "tum", "measured"],
)
@pytest.mark.parametrize("one_in", [None, 3])
@pytest.mark.parametrize("k", [3, 5])
@pytest.mark.parametrize("name", FEEDS)
def test_every_window_holds_what_it_promises(name: str, k: int, one_in: int | None, options: dict[str, Any]) -> None:
    """
    Each window of k people or more is released with everybody in it, or its bound is not met; what is released passes
    the verifier; without sensitive locations not one visit is suppressed.
    """
    guarantee = KKmAnonymity(k=k, m=2, l=one_in)
    released = 0
    for sequences, xy_m in windows_of(DATA / f"{name}.csv.gz", *FEEDS[name]):
        sensitive = None if one_in is None else np.arange(len(xy_m)) % 7 == 0
        attributes = drawn_attributes(sequences.n_users)
        result = anonymize_rt(sequences, attributes, xy_m, guarantee, RTOptions(**options), sensitive=sensitive)
        if isinstance(result, BoundNotMet):
            assert result.reached > result.delta
            continue
        assert check(result, len(xy_m), guarantee).holds
        enough = sequences.n_users >= k
        assert sum(len(group.users) for group in result.groups) == (sequences.n_users if enough else 0)
        if one_in is None:
            assert result.kept.all() == enough
        released += enough
    assert released > 0
