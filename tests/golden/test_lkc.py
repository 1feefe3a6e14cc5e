"""The worked example of Mohammed, Fung, Debbabi 2009, Tables 1 to 4."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from core.models.lkc.anonymize.frequent import maximal_frequent
from core.models.lkc.anonymize.suppress import LKCOptions, suppress_pairs
from core.models.lkc.anonymize.violating import Requirement, minimal_violating
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Values
from core.models.lkc.verify import Pair, verify_lkc
from core.trajectories.trajectory import Sequences
from tests.paths import EXAMPLES

GOLDEN = EXAMPLES / "lkc_example.json"


class Case:
    """The example, as columns."""

    def __init__(self) -> None:
        self.published: dict[str, Any] = json.loads(GOLDEN.read_text())
        records = self.published["records"]
        self.paths = [[pair_of(visit) for visit in record["path"]] for record in records]
        self.pairs = sorted({pair for path in self.paths for pair in path})
        self.names = sorted({record["sensitive"] for record in records})
        self.codes = [self.names.index(record["sensitive"]) for record in records]
        self.sensitive = [self.names.index(name) for name in self.published["sensitive"]]
        self.guarantee = LKCPrivacy(l=self.published["L"], k=self.published["K"], c=self.published["C"])
        self.sequences = Sequences(
            users=np.arange(len(records)),
            starts=np.cumsum([0, *map(len, self.paths)]),
            locations=np.array([self.pairs.index(pair) for path in self.paths for pair in path]),
        )
        self.values = Values(users=np.arange(len(records)), codes=np.array(self.codes))

    def written(self, ids: list[int]) -> str:
        return " ".join(f"{name}{slot}" for slot, name in (self.pairs[i] for i in ids))


def pair_of(visit: str) -> Pair:
    return int(visit[1:]), visit[0]


@pytest.fixture
def case() -> Case:
    return Case()


def test_the_published_minimal_violating_sequences_are_found(case: Case) -> None:
    """
    Example 4.3 and Table 3: five of two pairs, none of one.
    """
    requirement = Requirement(case.sequences, case.values, case.guarantee, case.sensitive)
    (found,) = minimal_violating(case.sequences, requirement, most=2)
    assert sorted(case.written(row) for row in found.tolist()) == case.published["minimal_violating"]


def test_maximal_frequent_sequences_of_the_example(case: Case) -> None:
    """
    With K' = 3, counted by hand in Table 1: of the pairs of d3 and c5 none is in three records.
    """
    found = maximal_frequent(case.sequences, min_support=case.published["min_support_frequent"], most_work=1000)
    assert found.complete
    written = [case.written(row) for table in found.tables for row in table.tolist()]
    assert sorted(written) == ["b2 f6 c7", "c5", "c7 e8", "d3", "f6 e8"]


def test_the_published_pairs_are_suppressed_in_the_published_order(case: Case) -> None:
    """
    Tables 3 and 4: c4 first, then b2; Table 2 is what is left, and it holds the guarantee.
    """
    percent = 100 * case.published["min_support_frequent"] / len(case.paths)
    result = suppress_pairs(
        case.sequences,
        case.values,
        case.guarantee,
        sensitive=case.sensitive,
        options=LKCOptions(min_support_percent=percent),
    )
    assert [case.written([pair]) for pair in result.suppressed] == case.published["suppressed_in_order"]
    kept = iter(result.kept.tolist())
    left = [[pair for pair in path if next(kept)] for path in case.paths]
    assert left == [[pair_of(visit) for visit in path] for path in case.published["paths"].values()]

    values = [(code,) for code in case.codes]
    report = verify_lkc(range(len(left)), left, values, case.guarantee, sensitive=case.sensitive)
    assert report.holds
    before = verify_lkc(range(len(left)), case.paths, values, case.guarantee, sensitive=case.sensitive)
    assert (before.too_few, before.too_sure) == (4, 4)


def test_the_attacks_of_the_introduction_are_seen(case: Case) -> None:
    """
    Example 1.1: b2 and d3 find one record; b2 and f6 find three, of which two carry the value: 67 %.
    """
    values = [(code,) for code in case.codes]
    users = range(len(case.paths))
    alice = [[pair for pair in path if pair in {(2, "b"), (3, "d")}] for path in case.paths]
    assert verify_lkc(users, alice, values, case.guarantee, sensitive=case.sensitive).smallest_support == 1
    bob = [path if {(2, "b"), (6, "f")} <= set(path) else [] for path in case.paths]
    bob = [[pair for pair in path if pair in {(2, "b"), (6, "f")}] for path in bob]
    report = verify_lkc(users, bob, values, case.guarantee, sensitive=case.sensitive)
    assert report.smallest_support == 3
    assert report.highest_confidence == pytest.approx(2 / 3)
    assert report.too_sure == 3
