"""The running example of Terrovitis, Mamoulis, Kalnis 2008: see the note in ``sets_apriori_example.json``."""

from __future__ import annotations

import json
from typing import Any

from core.models.common.location_nodes import LocationNodes
from core.models.km_sets.anonymize.apriori import HierarchyCut
from core.models.km_sets.guarantee import KmSetAnonymity
from core.models.km_sets.verify import verify_km_sets
from tests.paths import EXAMPLES

CASE: Any = json.loads((EXAMPLES / "sets_apriori_example.json").read_text(encoding="utf-8"))


def test_apriori_generalizes_as_in_the_paper() -> None:
    """One node hides both rare pairs, and the other locations stay as they are."""
    names = sorted(CASE["paths"])
    visited = [tuple(sorted(map(names.index, own))) for own in CASE["sets"]]
    cut = HierarchyCut(visited, LocationNodes([tuple(CASE["paths"][name]) for name in names]))
    cut.anonymize(k=CASE["k"], m=CASE["m"])
    labels = cut.labels()
    sets = [sorted({tuple(names[i] for i in labels[location]) for location in own}) for own in visited]
    assert sets == [sorted(map(tuple, own)) for own in CASE["released"]]
    guarantee = KmSetAnonymity(k=CASE["k"], m=CASE["m"])
    assert verify_km_sets(range(4), sets, dict(enumerate(CASE["sets"])), guarantee).holds
