"""Models of check-ins: each is built from its settings, each wrong one ends in a sentence, and what they release is
replayed, measured and shown."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from core.models.disassociation.anonymize.disassociate import DisassociationOptions
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.plan import DisassociationPlan
from core.models.flows.guarantee import KAnonymousFlows, TripRule
from core.models.flows.plan import FlowPlan
from core.models.kkm.anonymize.result import RTOptions
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.plan import KKmPlan
from core.models.klm.algorithms import SGA, ZGA, ClusterAlgorithm, LmAnon
from core.models.klm.anonymize.cluster import ClusterSearch
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.plan import KLmPlan
from core.models.km_sets.guarantee import KmSetAnonymity
from core.models.km_sets.plan import KmSetPlan
from core.models.lkc.anonymize.suppress import LKCOptions, Utility
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Cycle, Slots
from core.models.lkc.plan import LKCPlan
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.plan import P2kAPlan
from core.records.record import Kind
from core.release.outcome import Outcome
from stream.cli.main import main
from stream.feeds.feed import Feed
from stream.settings.errors import SettingsError
from stream.settings.load import load_settings
from stream.worker.shapes import shapes
from tests.builders.live_windows import PageServer, live, told
from tests.builders.windows import (
    VENUES,
    attribute_plan,
    cluster_plan,
    flow_plan,
    label_set_plan,
    messages,
    pair_plan,
    pattern_plan,
    profile_code,
    released,
    set_plan,
    visits,
)

SECRET = "a secret of the tests"  # noqa: S105 - of no real deployment
TREE = "category,parent\nhealth,\nhospital,health\nfood,\nbakery,food\n"
PLACES = "venue,lat,lon,category\nv1,52.5,13.3,bakery\nv2,52.51,13.31,hospital\nv3,52.52,13.32,health\n"
PLANS = "category,parent\npaid,\nplus,paid\ngold,paid\nbasic,\n"

OF_CLUSTERS = ("lm-anon", "zga", "sga")
OF_ATTRIBUTES = ("rum-bound", "tum-bound")
OF_SETS = ("sets-apriori", "sets-lra", "sets-vpa")
NEW_MODELS = (*OF_CLUSTERS, "lkc", *OF_ATTRIBUTES, *OF_SETS, "disassociation", "flows")


@dataclass(frozen=True)
class Files:
    """Venues, their taxonomy and a hierarchy that fit."""

    tree: Path
    places: Path
    plans: Path

    def feed(self, model: str, kind: Kind = Kind.CHECKINS, **given: object) -> Feed:
        """Wire check-ins at the venues; their people have an age and a plan."""
        base: dict[str, Any] = {
            "location.kind": "venues",
            "location.venues_file": str(self.places),
            "privacy.taxonomy": str(self.tree),
            "privacy.model": model,
            "privacy.k": 4,
            "privacy.attributes": {"age": "0..120", "plan": str(self.plans)},
        }
        named = {f"privacy.{name}" if "." not in name else name: value for name, value in given.items()}
        return Feed(load_settings(given=base | named), kind, secret=SECRET)

    def complaint(self, model: str, kind: Kind = Kind.CHECKINS, **given: object) -> str:
        """Return the sentence that the start ends with."""
        with pytest.raises(SettingsError) as fault:
            self.feed(model, kind, **given)
        return str(fault.value)


@pytest.fixture
def files(tmp_path: Path) -> Files:
    found = Files(tmp_path / "tree.csv", tmp_path / "places.csv", tmp_path / "plans.csv")
    for path, content in ((found.tree, TREE), (found.places, PLACES), (found.plans, PLANS)):
        path.write_text(content)
    return found


# ---------------------------------------------------------------- settings that fit


@pytest.mark.parametrize(
    ("model", "given", "algorithm"),
    [
        ("lm-anon", {}, LmAnon()),
        ("zga", {}, ZGA(ClusterSearch())),
        ("zga", {"clusters": 3}, ZGA(ClusterSearch(number=3))),
        ("sga", {"clusters": "none"}, SGA(ClusterSearch(), 10)),
        ("sga", {"clusters": 2, "key_patterns": 7}, SGA(ClusterSearch(number=2), 7)),
    ],
)
def test_clusters_are_built_with_their_options(
    model: str, given: dict[str, Any], algorithm: ClusterAlgorithm, files: Files
) -> None:
    """
    Each setting reaches the option that it is for; the sensitive locations are venues and those of categories.
    """
    plan = files.feed(model, l=3, m=1, sensitive_locations="v1, category:health", **given).plan
    assert isinstance(plan, KLmPlan)
    assert plan.guarantee == KLmDiversity(k=4, l=3, m=1)
    assert plan.algorithm == algorithm
    assert plan.model == model
    assert plan.sensitive == {"v1", "v2", "v3"}


@pytest.mark.parametrize(
    ("named", "sensitive"),
    [
        ([], set()),
        ("v3", {"v3"}),
        ("category:hospital", {"v2"}),
        ("category: health", {"v2", "v3"}),
        ("category:food,category:hospital", {"v1", "v2"}),
    ],
)
def test_a_category_stands_for_all_venues_below_it(named: object, sensitive: set[str], files: Files) -> None:
    """
    Those of its own, and of the categories below it.
    """
    plan = files.feed("zga", sensitive_locations=named).plan
    assert isinstance(plan, KLmPlan)
    assert plan.sensitive == sensitive


def test_pairs_are_built_with_their_options(files: Files) -> None:
    """
    Privacy.m is how many pairs are known; the values of the sensitive field are those that are bounded.
    """
    given: dict[str, Any] = {"time_slot": "30m", "slots_of": "day", "max_confidence": 0.4, "spare": "instances", "m": 3}
    given |= {"horizon": 5, "frequent_percent": 4, "longest_pattern": 2}
    plan = files.feed("lkc", sensitive_field="ward", sensitive_values="surgery,oncology", **given).plan
    assert isinstance(plan, LKCPlan)
    assert plan.guarantee == LKCPrivacy(l=3, k=4, c=0.4, horizon=5)
    assert plan.horizon == 5
    assert plan.slots == Slots(granularity_ms=1_800_000, cycle=Cycle.DAY)
    assert plan.options == LKCOptions(utility=Utility.INSTANCES, min_support_percent=4.0)
    assert plan.longest_sequence == 2
    assert plan.sensitive_values == ("surgery", "oncology")
    usual = files.feed("lkc", attributes={}).plan
    assert isinstance(usual, LKCPlan)
    assert (usual.profile, usual.sensitive_values, usual.horizon) == (None, (), 1)
    assert usual.slots == Slots(granularity_ms=3_600_000)


@pytest.mark.parametrize(("model", "bound"), [("rum-bound", "ncp"), ("tum-bound", "ul")])
def test_attributes_are_built_with_their_options(model: str, bound: Any, files: Files) -> None:
    """
    What is sensitive of a person is no attribute that is released; with sensitive locations there is an l.
    """
    given: dict[str, Any] = {"sensitive_field": "ward", "sensitive_values": "surgery"}
    plan = files.feed(model, l=3, max_loss=0.5, merge="t", sensitive_locations="v1", **given).plan
    assert isinstance(plan, KKmPlan)
    assert plan.guarantee == KKmAnonymity(k=4, m=2, l=3, horizon=8)
    assert plan.options == RTOptions(bound=bound, delta=0.5, merge="t")
    slow = files.feed(model, alike_by="ul", ul_candidates=3).plan
    assert isinstance(slow, KKmPlan)
    assert slow.options == RTOptions(bound=bound, delta=0.65, distance="ul", n_measured=3)
    assert slow.parameters.items() >= {"alike_by": "ul", "ul_candidates": 3}.items()
    assert "alike_by" not in plan.parameters
    assert [attribute.name for attribute in plan.schema] == ["age", "plan"]
    assert plan.profile.names == ("age", "plan", "ward")
    assert plan.model == model
    assert plan.sensitive == {"v1"}
    without = files.feed(model, l=3, attributes={"age": "7..7"}, horizon=1).plan
    assert isinstance(without, KKmPlan)
    assert without.guarantee == KKmAnonymity(k=4, m=2)  # nothing is sensitive
    assert (plan.horizon, without.horizon) == (8, 1)


@pytest.mark.parametrize(
    ("model", "given", "parameters"),
    [
        ("sets-apriori", {}, {"taxonomy": "tree"}),
        ("sets-vpa", {}, {"taxonomy": "tree"}),
        ("sets-lra", {}, {"taxonomy": "tree", "people_per_part": 40}),
        ("sets-lra", {"people_per_part": 4}, {"taxonomy": "tree", "people_per_part": 4}),
        ("coat", {"constraints": "level:1"}, {"constraints": "tree level 1", "suppression_percent": 5.0}),
        ("pcta", {"constraints": "level:2", "suppression_percent": 9}, {"constraints": "tree level 2"}),
    ],
)
def test_generalized_sets_are_built_with_their_options(
    model: str, given: dict[str, Any], parameters: dict[str, Any], files: Files
) -> None:
    """
    The windows message names the hierarchy or the constraints, and each setting reaches its option.
    """
    plan = files.feed(model, m=3, **given).plan
    assert isinstance(plan, KmSetPlan)
    assert (plan.guarantee, plan.model) == (KmSetAnonymity(k=4, m=3), model)
    told = {name: re.sub(":[0-9a-f]{8}", "", str(value)) for name, value in plan.parameters.items()}
    assert told.items() >= {name: str(value) for name, value in parameters.items()}.items()


def test_sets_that_cannot_be_made_are_refused(files: Files) -> None:
    """
    Without constraints, or with parts of fewer than k people: the sentence says what is allowed.
    """
    for model in ("coat", "pcta"):
        assert files.complaint(model) == (
            f"privacy.constraints is not set: privacy.model {model} needs level:N of the taxonomy, "
            "or a CSV with location,constraint"
        )
    assert files.complaint("sets-lra", people_per_part=3) == (
        "privacy.people_per_part is 3: with privacy.k 4 it must be at least 4, or none"
    )
    assert files.feed("sets-apriori", people_per_part=3).plan.model == "sets-apriori"


def test_flows_are_built_with_their_options(files: Files) -> None:
    """
    The taxonomy is that of the settings: its categories are the places.
    """
    plan = files.feed("flows", trips="first-last", max_suppressed_trips=20).plan
    assert isinstance(plan, FlowPlan)
    assert plan.guarantee == KAnonymousFlows(k=4, trips=TripRule.FIRST_LAST)
    assert (plan.max_suppressed_percent, plan.noise) == (20.0, None)
    assert plan.taxonomy.areas([(), ("food",)]).names == ["/", "/food"]


def test_sets_and_patterns_are_built_with_their_options(files: Files) -> None:
    """
    Each setting reaches the option that it is for.
    """
    plan = files.feed("disassociation", largest_cluster=7, rare_locations=True, m=3).plan
    assert isinstance(plan, DisassociationPlan)
    assert plan.guarantee == DisassociatedKm(k=4, m=3)
    assert plan.options == DisassociationOptions(largest_cluster=7, rare_locations=True)
    usual = files.feed("disassociation", largest_cluster="none").plan
    assert isinstance(usual, DisassociationPlan)
    assert usual.parameters["largest_cluster"] == 40
    patterns = files.feed("p2ka", alike=False, longest_pattern=4).plan
    assert isinstance(patterns, P2kAPlan)
    assert patterns.longest_pattern == 4
    assert patterns.guarantee == PatternPreservingK(k=4, alike=False)


# ---------------------------------------------------------------- settings that do not


@pytest.mark.parametrize(
    ("named", "says"),
    [
        ("v1,v9", "privacy.sensitive_locations names 'v9': it must be a venue of location.venues_file"),
        (
            "category:zoo",
            "privacy.sensitive_locations names the category 'zoo': it must be one of privacy.taxonomy",
        ),
    ],
)
@pytest.mark.parametrize("model", [*OF_CLUSTERS, *OF_ATTRIBUTES])
def test_a_sensitive_location_that_there_is_not_is_named(model: str, named: str, says: str, files: Files) -> None:
    """
    Taken for what it is not, it would protect nobody.
    """
    assert files.complaint(model, sensitive_locations=named) == says


def test_a_sensitive_category_needs_places_with_categories(files: Files) -> None:
    """
    Cells have none. Venues have those of their own file if no other says what is below what.
    """
    given: dict[str, Any] = {"sensitive_locations": "category:health", "taxonomy": "own"}
    assert files.complaint("zga", **given | {"location.kind": "grid"}) == (
        "privacy.sensitive_locations names a category: this needs location.kind pois or venues, whose files have "
        "categories, not grid"
    )
    plan = files.feed("zga", **given).plan
    assert isinstance(plan, KLmPlan)
    assert plan.sensitive == {"v3"}
    assert files.complaint("zga", **given | {"sensitive_locations": "category:heath"}) == (
        "privacy.sensitive_locations names the category 'heath': it must be a category of location.venues_file; did "
        "you mean 'health'?"
    )


@pytest.mark.parametrize("model", OF_ATTRIBUTES)
def test_a_model_of_attributes_needs_some(model: str, files: Files) -> None:
    """
    Also where something sensitive of people is told: that is not released.
    """
    variants: list[dict[str, Any]] = [{}, {"sensitive_field": "ward", "sensitive_values": "surgery"}]
    for more in variants:
        assert files.complaint(model, attributes={}, **more) == (
            f"privacy.attributes is not set: privacy.model {model} releases attributes of people; name them, such as "
            "age: 0..120"
        )


@pytest.mark.parametrize(
    ("slot", "slots_of", "shown"), [("7h", "day", "7h"), ("500ms", "window", "500ms"), ("2d", "day", "2d")]
)
def test_a_slot_that_does_not_fit_is_named(slot: str, slots_of: str, shown: str, files: Files) -> None:
    """
    Slots of a day divide it, and none is shorter than a second.
    """
    assert files.complaint("lkc", time_slot=slot, slots_of=slots_of) == (
        f"privacy.time_slot is {shown}: it must be at least 1s, and divide a day where privacy.slots_of is day"
    )
    files.feed("lkc", time_slot="7h")  # in a window any length will do


def test_a_cluster_that_is_too_small_is_named(files: Files) -> None:
    """
    Fewer than 2 k - 1 people cannot always be divided.
    """
    assert files.complaint("disassociation", largest_cluster=6) == (
        "privacy.largest_cluster is 6: with privacy.k 4 it must be at least 7, or none"
    )
    files.feed("disassociation", largest_cluster=7)
    assert files.complaint("disassociation", largest_cluster=8, l=5, sensitive_locations="v1") == (
        "privacy.largest_cluster is 8: with privacy.l 5 it must be at least 9, or none"
    )
    files.feed("disassociation", largest_cluster=8, l=5)


@pytest.mark.parametrize("model", [*NEW_MODELS, "p2ka"])
def test_a_model_of_the_other_kind_is_named(model: str, files: Files) -> None:
    """
    Fragments have none of them, and the sentence says what they have.
    """
    assert files.complaint(model, Kind.FRAGMENTS).startswith(
        f"privacy.model is {model}: fragments allow w4m or nwa or pw4m or pw4m-tr or bounded-pw4m"
    )
    assert f"or {model}" in files.complaint("w4m")


# ---------------------------------------------------------------- what a release depends on


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        ("zga", {"l": 3}),
        ("zga", {"sensitive_locations": "v1"}),
        ("zga", {"clusters": 3}),
        ("sga", {"key_patterns": 11}),
        ("lkc", {"time_slot": "30m"}),
        ("lkc", {"slots_of": "day"}),
        ("lkc", {"max_confidence": 0.4}),
        ("lkc", {"spare": "instances"}),
        ("lkc", {"horizon": 2}),
        ("lkc", {"sensitive_field": "ward", "sensitive_values": "surgery"}),
        ("rum-bound", {"max_loss": 0.5}),
        ("rum-bound", {"horizon": 2}),
        ("rum-bound", {"merge": "t"}),
        ("rum-bound", {"attributes": {"age": "0..120"}}),
        ("tum-bound", {"l": 3}),
        ("disassociation", {"largest_cluster": 7}),
        ("disassociation", {"rare_locations": True}),
        ("sets-lra", {"people_per_part": 7}),
        ("lkc", {"frequent_percent": 5}),
        ("rum-bound", {"alike_by": "ul"}),
        ("tum-bound", {"ul_candidates": 7}),
        ("seqanon", {"apriori": False}),
        ("seqanon", {"horizon": 2}),
        ("p2ka", {"alike": False}),
        ("flows", {"trips": "first-last"}),
        ("flows", {"max_suppressed_trips": 50}),
    ],
)
def test_each_setting_of_a_model_is_part_of_the_digest(model: str, changes: dict[str, Any], files: Files) -> None:
    """
    A window that was sealed under another value would come out differently: the digests differ, it is withheld.
    """
    assert files.feed(model, **changes).plan.digest != files.feed(model).plan.digest


def test_every_model_has_a_digest_of_its_own(files: Files) -> None:
    """
    Nothing sealed under one is released by another.
    """
    models = (*NEW_MODELS, "p2ka", "seqanon")
    assert len({files.feed(model).plan.digest for model in models}) == len(models)


def test_which_venues_are_sensitive_is_part_of_the_digest(files: Files) -> None:
    """
    A category stands for other venues where the taxonomy, or the category of a venue, has changed.
    """
    before = files.feed("zga", sensitive_locations="category:health").plan.digest
    files.tree.write_text(TREE.replace("hospital,health", "hospital,"))
    after = files.feed("zga", sensitive_locations="category:health").plan
    assert isinstance(after, KLmPlan)
    assert after.sensitive == {"v3"}
    assert after.digest != before
    files.tree.write_text(TREE)
    files.places.write_text(PLACES.replace("v1,52.5,13.3,bakery", "v1,52.5,13.3,hospital"))
    assert files.feed("zga", sensitive_locations="category:health").plan.digest != before


# ---------------------------------------------------------------- what people look at

ROWS = visits(
    *((user, 10 * step, place, profile_code()) for user in range(8) for step, place in enumerate((4, user % 2, 5)))
)
OUTCOMES: dict[str, Outcome] = {
    "zga": released(ROWS, cluster_plan(sensitive={"bakery"})),
    "p2ka": released(ROWS, pattern_plan()),
    "lkc": released(ROWS, pair_plan()),
    "rum-bound": released(ROWS, attribute_plan()),
    "sets-apriori": released(ROWS, label_set_plan()),
    "disassociation": released(ROWS, set_plan()),
    "flows": released(ROWS, flow_plan()),
}


@pytest.mark.parametrize("model", OUTCOMES)
def test_a_release_of_any_form_is_shown(model: str) -> None:
    """
    The page has its figures and its regions; as ways it draws sequences, and nothing that has no order or has times.
    """
    outcome = OUTCOMES[model]
    shown = live()
    shown.add(told(outcome))
    (figures,) = shown.windows()
    assert (figures.model, figures.outcome, figures.people) == (model, "released", 8)
    assert figures.on_map
    drawn = shown.shapes(figures.release)
    assert drawn is not None
    *sent, window = messages(outcome)
    assert drawn.n_trajectories == len(sent)
    assert drawn.n_regions == len(json.loads(window.value)["locations"]) == len(drawn.regions)
    assert len(drawn.trajectories) == {"zga": 8, "p2ka": 8, "flows": len(sent)}.get(model, 0)
    at_venues = shapes(window.value, [message.value for message in sent], VENUES)
    assert all(region.cells for region in at_venues.regions)


@pytest.mark.parametrize("model", [*NEW_MODELS, "p2ka"])
def test_status_tells_every_model_and_its_promise(model: str) -> None:
    """
    In a sentence, with its parameters, on the page and in a terminal.
    """
    shown = live({"checkins.privacy.model": model, "checkins.privacy.attributes": {"age": "0..9"}})
    (feed, _) = shown.status([]).feeds
    assert (feed.kind, feed.model) == ("checkins", model)
    assert feed.promise
    assert feed.parameters["k"] == 3
    with PageServer(shown) as server:
        result = CliRunner(env={"COLUMNS": "200"}).invoke(main, ["status", "--url", server.url])
    assert result.exit_code == 0, result.output
    assert model in result.stdout


# ---------------------------------------------------------------- replay

START_S = 1_600_000_200  # 2020-09-13T12:30:00Z, where a window of 15 minutes begins

FEED = [
    {
        "user": f"person-{user}",
        "ts": START_S + 900 * n + 60 * step + user,
        "lat": 52.5,
        "lon": 13.3,
        "venue": f"v{1 + (user % 2 if step else 2)}",
        "age": 20 + user,
        "plan": ("gold", "plus", "basic")[user % 3],
        "ward": "surgery" if user == 3 else "none of yours",
    }
    for n in range(2)
    for step in range(2)
    for user in range(12)
]
"""Twelve people in each of two windows, at the third venue and then at the first or the second."""

MEASURES = {
    "lkc": {"visits_kept_share", "pairs_kept_share", "people_kept_share", "sequences_kept_share"},
    "rum-bound": {"ncp", "ul", "groups", "visits_kept_share", "are_attributes", "are_locations", "are_both"},
    "tum-bound": {"ncp", "ul", "groups", "visits_kept_share", "are_attributes", "are_locations", "are_both"},
    "sets-lra": {"ncp", "ul", "are", "tkd_ml2", "labels", "visits_kept_share"},
    "disassociation": {"tkd", "re", "tlost", "tkd_ml2", "visits_kept_share"},
    "zga": {"distance_m", "distance_share", "clusters", "labels", "label_size", "sensitive_kept_share"},
}
OF_QUERIES = {"queries_are", "queries_sanity_bound", "queries_unanswered", "queries_empty"}
"""Every model answers queries."""


@pytest.mark.parametrize("model", MEASURES)
def test_a_feed_with_attributes_is_replayed_and_measured(
    model: str, files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    All people of both windows are released, each measure is told, and no message names a person or an unsensitive ward.
    A second run writes the same bytes, also without measures.
    """
    monkeypatch.chdir(tmp_path)
    Path("feed.ndjson").write_text("".join(json.dumps(record) + "\n" for record in FEED))
    Path("shoal.yaml").write_text(
        json.dumps(
            {
                "location": {"kind": "venues", "venues_file": str(files.places)},
                "privacy": {
                    "model": model,
                    "secret": SECRET,
                    "k": 3,
                    "max_loss": 0.9,
                    "attributes": {"age": "0..120", "plan": str(files.plans)},
                    "sensitive_field": "ward",
                    "sensitive_values": ["surgery"],
                },
            }
        )
    )
    written: list[list[bytes]] = []
    for more in (["--measure", "all"], []):
        out = tmp_path / f"out{len(written)}"
        command = ["replay", "feed.ndjson", "--kind", "checkins", "--config", "shoal.yaml", "--output", str(out)]
        result = CliRunner().invoke(main, [*command, "--json", *more], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        summary = json.loads(result.stdout)
        assert (summary["records"], summary["windows_released"], summary["points_released"]) == (48, 2, 48)
        assert summary.get("measures", {}).keys() == (MEASURES[model] | OF_QUERIES if more else set())
        written.append([(out / name).read_bytes() for name in ("anonymized.ndjson", "windows.ndjson")])
    assert written[0] == written[1]
    everything = b"".join(written[0])
    assert b"person-" not in everything
    assert b"none of yours" not in everything
    assert (b"surgery" in everything) == (model == "lkc")
    assert summary["trajectories_released"] == (2 if model == "disassociation" else 24)


@pytest.mark.parametrize("model", ["seqanon", "lkc", "p2ka", "sets-apriori"])
def test_sensitive_locations_that_nothing_protects_are_refused(files: Files, model: str) -> None:
    """
    Whoever sets them believes that they are protected: a model that looks at none says which ones do.
    """
    assert files.complaint(model, sensitive_locations="v1") == (
        f"privacy.sensitive_locations is set: privacy.model {model} does not protect them; "
        "lm-anon, zga, sga, rum-bound, tum-bound, disassociation do"
    )
