"""Making sets, and what a release states of it: models keep their promise, no figure points at fewer than k people."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.models.common.guarantee import Parameters
from core.models.kdelta.algorithms import (
    AnonymizedTrajectories,
    BoundedWaitForMe,
    NeverWalkAlone,
    SegmentedWaitForMe,
    TrajectoryAlgorithm,
    WaitForMe,
)
from core.models.kdelta.anonymize.across import Across
from core.models.kdelta.anonymize.bounding import BoundedOptions
from core.models.kdelta.anonymize.never_walk_alone import NeverWalkAloneOptions
from core.models.kdelta.anonymize.segmentation import SegmentationOptions
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.assemble import PointWindow
from core.models.kdelta.guarantee import KDelta
from core.models.kdelta.plan import KDeltaPlan
from core.models.kdelta.verify import verify_kdelta
from core.records.arrays import BoolArray
from core.records.record import Rows
from core.release.outcome import Outcome, Release, ReleaseRefused, Withheld
from core.trajectories.joining import Joining
from tests.budgets import examples
from tests.builders import strategies
from tests.builders.windows import SECRET, limits, messages, point_plan, points, release, released, window_message

DELTA_M = 300.0
Name = Literal["nwa", "w4m lstd", "w4m edr", "pw4m", "pw4m-tr", "bounded-pw4m"]
NAMES: tuple[Name, ...] = ("nwa", "w4m lstd", "w4m edr", "pw4m", "pw4m-tr", "bounded-pw4m")
PERSONAL: tuple[Name, ...] = ("pw4m", "pw4m-tr", "bounded-pw4m")


def model_of(name: Name, chance: Random) -> TrajectoryAlgorithm:
    """Choose one way or another to run a model, such that some of a small window is left out."""
    shared: dict[str, Any] = {
        "translation": chance.choice(["exchangeable", "minimal"]),
        "time_step_ms": chance.choice([15_000, 30_000]),
        "max_radius_m": chance.choice([5.0, 30.0, 200.0, 5_000.0]),
        "trash_share": chance.choice([0.0, 0.3, 1.0]),
        "refined": chance.choice([False, True]),
    }
    if name == "nwa":
        return NeverWalkAlone(options=NeverWalkAloneOptions(granularity_ms=chance.choice([30_000, 60_000]), **shared))
    options = Wait4MeOptions(
        distance="edr" if name == "w4m edr" else "lstd",
        time_tolerance_s=chance.choice([0.0, 60.0]),
        space_tolerance_m=chance.choice([None, 30.0]),
        chunk_size=chance.choice([None, None, 4, 6]),
        **shared,
    )
    sigma_m = chance.choice([5.0, 30.0, 200.0])
    if name == "pw4m-tr":
        cuts = SegmentationOptions(sigma_m=sigma_m, window=chance.choice([1, 2]), threshold=chance.choice([0.05, 1.0]))
        return SegmentedWaitForMe(options=options, segmentation=cuts)
    if name == "bounded-pw4m":
        bound = BoundedOptions(
            improvement=chance.choice([0.05, 0.9]), edit_factor=chance.choice([0.0, 0.25]), step_percent=25
        )
        return BoundedWaitForMe(options=options, sigma_m=sigma_m, bound=bound)
    return WaitForMe(options=options, personal=name == "pw4m")


Demand = tuple[int, float]
NOTHING: Demand = (0, np.inf)


Row = tuple[int, int, float, float, int, float]
"""User, seconds, latitude, longitude, k and delta."""


def walks(chance: Random) -> Rows:
    """Let people walk north in up to three groups, some at other times, with gaps, or faster than anybody can."""
    rows: list[Row] = []
    n_groups, step_s = chance.choice([1, 2, 3]), chance.choice([15, 30])
    demands = [NOTHING] * chance.choice([1, 3, 9]) + [(4, np.inf), (0, 50.0), (5, 20.0)]
    punctual = chance.random() < 0.4  # then most begin and end with the others
    for user in range(chance.randint(3, 12)):
        group, demand = chance.randrange(n_groups), chance.choice(demands)
        late = not punctual or chance.random() < 0.2
        first_s = 30 * chance.randint(0, 3) + chance.choice([0, 0, 10]) if late else 0
        gaps = chance.choice([0.0, 0.0, 0.3])
        n_points = chance.randint(1, 9) if late else 6
        times_s = [first_s + step_s * i for i in range(n_points) if chance.random() >= gaps] or [first_s]
        for t in times_s:
            jump = 0.5 * (chance.random() < 0.02)
            rows.append((user, t, 52.5 + 0.000015 * t + jump, 13.4 + 0.003 * group + 0.00003 * user, *demand))
    return points(*rows)


@dataclass
class Spied:
    """A model, and what went into it and came out."""

    inner: TrajectoryAlgorithm
    seen: list[tuple[PointWindow, AnonymizedTrajectories]] = field(default_factory=list)

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def personal(self) -> bool:
        return self.inner.personal

    @property
    def parameters(self) -> Parameters:
        return self.inner.parameters

    def anonymize(
        self, window: PointWindow, guarantee: KDelta, rng: np.random.Generator, across: Across | None = None
    ) -> AnonymizedTrajectories:
        """Do it."""
        self.seen.append((window, self.inner.anonymize(window, guarantee, rng, across)))
        return self.seen[-1][1]


@dataclass(frozen=True)
class Case:
    """A window and how it is released."""

    rows: Rows
    plan: KDeltaPlan

    def outcome(self) -> tuple[Outcome, list[tuple[PointWindow, AnonymizedTrajectories]]]:
        """What becomes of it, and what was seen of that."""
        spied = Spied(self.plan.algorithm)
        return release(self.rows, replace(self.plan, algorithm=spied)), spied.seen


def plan_of(names: Sequence[Name], chance: Random, joining: Joining | None = None) -> KDeltaPlan:
    """Choose how a window is released."""
    joinings = {
        "max_speed_m_s": chance.choice([None, 100.0]),
        "max_gap_ms": chance.choice([None, None, 45_000]),
        "step_ms": chance.choice([None, None, None, 30_000]),
    }
    return point_plan(
        k=chance.choice([2, 3, 3, 4, 5]),
        delta_m=DELTA_M,
        algorithm=model_of(chance.choice(names), chance),
        joining=joining or Joining(**joinings),  # type: ignore[arg-type]
        limits=limits(points_per_user=chance.choice([3, 1000, 1000])),
    )


# Hypothesis prefers what is small and alike, of which nothing is released, so it draws the seeds alone.
CHANCE = st.randoms(use_true_random=True)


def cases(names: Sequence[Name] = NAMES, joining: Joining | None = None) -> st.SearchStrategy[Case]:
    """Draw windows and plans, most of which release something."""
    return st.builds(Case, CHANCE.map(walks), CHANCE.map(lambda chance: plan_of(names, chance, joining)))


def wire(outcome: Outcome) -> bytes:
    """All that would be sent, in one piece."""
    return b"\n".join(part for message in messages(outcome) for part in (message.key, message.value))


# ---------------------------------------------------------------- every model


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(40))
@given(data=st.data())
def test_a_window_is_verified_or_withheld_by_every_model(name: Name, data: st.DataObject) -> None:
    """
    Whatever people do and demand, nothing fails and nothing is refused, and every row is in exactly one count.
    """
    drawn = data.draw(cases([name]))
    case = replace(drawn, rows=data.draw(st.just(drawn.rows) | strategies.point_rows(max_users=8, max_rows=40)))
    outcome, _ = case.outcome()
    account = outcome.account
    assert not isinstance(outcome, ReleaseRefused)
    assert account.duplicates + account.released + account.suppressed + account.withheld == len(case.rows)
    assert min(account.duplicates, account.released, account.suppressed, account.withheld) >= 0
    assert outcome.model == name.split()[0]


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(20))
@given(data=st.data())
def test_the_order_of_rows_changes_no_byte_under_any_model(name: Name, data: st.DataObject) -> None:
    """
    The same rows and the same secret give the same messages, however the rows arrive.
    """
    case = data.draw(cases([name]))
    order = data.draw(st.permutations(range(len(case.rows))))
    again = release(case.rows[np.array(order, dtype=int)], case.plan)
    assert wire(again) == wire(release(case.rows, case.plan))


@settings(max_examples=examples(80))
@given(case=cases())
def test_a_release_keeps_its_promise_in_the_messages(case: Case) -> None:
    """
    Read back from the bytes: each trajectory has the time stamps of k - 1 others, all within delta of it at each. What
    the windows message counts of trajectories and points is what is there.
    """
    outcome = release(case.rows, case.plan)
    if not isinstance(outcome, Release):
        assert isinstance(outcome, Withheld)
        return
    sent = [json.loads(message.value)["points"] for message in messages(outcome)[:-1]]
    content = window_message(outcome)
    assert (content["trajectories"], content["points_released"]) == (len(sent), sum(map(len, sent)))
    times, lats, lons = ([[point[at] for point in one] for one in sent] for at in range(3))
    for its in range(len(sent)):
        alike = [other for other in range(len(sent)) if times[other] == times[its]]
        near = [
            other
            for other in alike
            if verify_kdelta(
                [0, 0],
                [0, 1],
                [range(len(times[its]))] * 2,
                [lats[its], lats[other]],
                [lons[its], lons[other]],
                KDelta(k=2, delta_m=DELTA_M),
            ).holds
        ]
        assert len(near) >= case.plan.guarantee.k


@settings(max_examples=examples(80))
@given(case=cases(PERSONAL))
def test_every_set_has_the_people_that_its_members_demand(case: Case) -> None:
    """
    As many distinct users as the most demanding of them is given, and never by pieces of one user: sets of pieces and
    of whole trajectories alike.
    """
    outcome, seen = case.outcome()
    if not isinstance(outcome, Release):
        return
    ((_, anonymized),) = seen
    trajectories, sets = anonymized.trajectories, anonymized.sets
    people: dict[int, set[int]] = {}
    for source, its in zip(sets.sources.tolist(), sets.sets.tolist(), strict=True):
        people.setdefault(its, set()).add(int(trajectories.users[source]))
    for source, its in zip(sets.sources.tolist(), sets.sets.tolist(), strict=True):
        assert len(people[its]) >= max(case.plan.guarantee.k, int(anonymized.demands.k[source]))
    smallest = min(map(len, people.values()))
    assert outcome.smallest_support == (case.plan.guarantee.k if outcome.people is None else smallest)


@settings(max_examples=examples(60))
@given(case=cases(PERSONAL))
def test_nobody_is_given_less_than_everybody_or_more_than_they_demand(case: Case) -> None:
    """
    The guarantee is the floor. Above it everybody is given what they demand, but for those whom bounded-pw4m tells to
    have been relaxed: they, and nobody else, are given less.
    """
    outcome, seen = case.outcome()
    guarantee = case.plan.guarantee
    for window, anonymized in seen:
        demanded = {
            int(user): (
                max(guarantee.k, int(case.rows["k"][case.rows["user"] == user].max())),
                min(DELTA_M, float(case.rows["delta_m"][case.rows["user"] == user].min())),
            )
            for user in np.unique(case.rows["user"])
        }
        relaxed = set()
        own = [sorted(demanded)[number] for number in anonymized.trajectories.users.tolist()]
        for user, k, delta_m in zip(
            own, anonymized.demands.k.tolist(), anonymized.demands.delta_m.tolist(), strict=True
        ):
            assert guarantee.k <= k <= demanded[user][0]
            assert DELTA_M >= delta_m >= demanded[user][1]
            if (k, delta_m) != demanded[user]:
                relaxed.add(user)
        told = np.zeros(window.trajectories.n_users, np.bool_) if anonymized.relaxed is None else anonymized.relaxed
        assert relaxed == {sorted(demanded)[number] for number in np.flatnonzero(told).tolist()}
        assert (anonymized.relaxed is not None) == (outcome.model == "bounded-pw4m")


@settings(max_examples=examples(60))
@given(case=cases(["pw4m-tr"], Joining()))
def test_pieces_are_the_points_of_their_trajectories(case: Case) -> None:
    """
    Cut or not, the same points are clustered in the same order, each with the demands of whoever was there.
    """
    _, seen = case.outcome()
    for window, anonymized in seen:
        pieces = anonymized.trajectories
        assert pieces.t_ms.tolist() == window.trajectories.t_ms.tolist()
        owner, theirs = (np.repeat(its.users, np.diff(its.starts)) for its in (pieces, window.trajectories))
        assert owner.tolist() == theirs.tolist()
        of = {user: number for number, user in enumerate(window.trajectories.users.tolist())}
        at = [of[user] for user in pieces.users.tolist()]
        assert anonymized.demands.k.tolist() == window.demands.k[at].tolist()
        assert anonymized.demands.delta_m.tolist() == window.demands.delta_m[at].tolist()


def test_segmentation_lets_people_be_clustered_by_a_part_of_their_way() -> None:
    """
    Two groups of three walk side by side and then apart, and one of them demands six people. Whole, there is a set of
    the other three; in pieces, there is one of all six on the common part, and one of those three where they part.
    """
    rows = []
    for user in range(6):
        for i in range(20):
            apart = 0.0 if i < 10 else 0.001 * (i - 9) * (1 if user < 3 else -1)
            rows.append((user, 30 * i, 52.5 + 0.0005 * i, 13.4 + apart + 0.00003 * user, 6 if user == 0 else 0, np.inf))
    options = Wait4MeOptions(max_radius_m=150.0, trash_share=1.0, time_tolerance_s=60.0)
    whole = released(points(*rows), point_plan(algorithm=WaitForMe(options=options, personal=True)))
    assert (whole.people, len(whole.trajectories), whole.points_released) == (3, 3, 60)
    segmented = SegmentedWaitForMe(options=options, segmentation=SegmentationOptions(sigma_m=50.0))
    parts = released(points(*rows), point_plan(algorithm=segmented))
    assert (parts.people, len(parts.trajectories), parts.points_released) == (6, 9, 90)


# ---------------------------------------------------------------- what a plan is


@pytest.mark.parametrize("personal", [False, True])
@pytest.mark.parametrize(
    "model",
    [NeverWalkAlone(), WaitForMe(), WaitForMe(personal=True), SegmentedWaitForMe(), BoundedWaitForMe()],
    ids=lambda model: model.model,
)
def test_a_guarantee_is_personal_where_its_model_is(model: TrajectoryAlgorithm, personal: bool) -> None:
    """
    A plan whose promise is not what its model does is none: the sentence says what it must be.
    """
    guarantee = KDelta(k=3, delta_m=DELTA_M, personal=personal)

    def plan() -> KDeltaPlan:
        return KDeltaPlan(guarantee=guarantee, algorithm=model, limits=limits(), secret=SECRET, settings="settings")

    if model.personal == personal:
        assert plan().model == model.model
    else:
        with pytest.raises(ValueError, match=f"personal is {personal}: with {model.model} it must be {model.personal}"):
            plan()


def test_a_windows_message_tells_how_it_was_made() -> None:
    """
    The model by its name in the settings, what it compares people by, and which rules of translation and clustering.
    """
    greedy = Wait4MeOptions(refined=False, translation="minimal", distance="edr")
    told = {
        model.model: model.parameters
        for model in (
            NeverWalkAlone(),
            WaitForMe(options=greedy),
            WaitForMe(personal=True),
            SegmentedWaitForMe(),
            BoundedWaitForMe(bound=BoundedOptions(improvement=0.2)),
        )
    }
    usual = {"distance": "lstd", "translation": "exchangeable", "clustering": "refined"}
    assert told == {
        "nwa": usual | {"distance": "euclidean"},
        "w4m": {"distance": "edr", "translation": "minimal", "clustering": "greedy"},
        "pw4m": usual,
        "pw4m-tr": usual,
        "bounded-pw4m": usual | {"improvement": 0.2},
    }


# ---------------------------------------------------------------- figures that leave

People = set[int]


@dataclass(frozen=True)
class Told:
    """What a windows message says, and who stands behind it, counted person by person."""

    k: int
    figures: dict[str, float | None]
    groups: dict[str, People]
    """Of whom something is true that not everybody may know."""

    behind: dict[str, People]
    """Whom each figure counts, or what they did."""

    between: dict[str, tuple[tuple[str, str], People]]
    """Of figures that can be subtracted from one another: which, and who is behind their difference."""

    @classmethod
    def of(cls, case: Case) -> Told | None:
        """Count once more, from the rows, the trajectories and the sets; None where nothing is released."""
        outcome, seen = case.outcome()
        if not isinstance(outcome, Release):
            return None
        ((window, anonymized),) = seen
        content, guarantee = window_message(outcome), case.plan.guarantee
        figures = {
            name: value
            for name, value in (content | content["information_loss"]).items()
            if value is None or (isinstance(value, int | float) and not isinstance(value, bool))
        }
        everybody = {int(user) for user in case.rows["user"]}
        demanding = {
            int(row["user"])
            for row in case.rows
            if row["k"] > guarantee.k or row["delta_m"] < np.float32(guarantee.delta_m)
        }
        present = sorted(everybody if guarantee.personal else everybody - demanding)

        def flagged(flags: BoolArray) -> People:
            return {user for user, is_flagged in zip(present, flags.tolist(), strict=True) if is_flagged}

        trajectories, sets = anonymized.trajectories, anonymized.sets
        owners = [present[number] for number in trajectories.users.tolist()]
        sources, n_created = sets.sources.tolist(), sets.created.tolist()
        people = {owners[i] for i in sources}
        deleted, incomplete = set[int](), set[int]()
        for i, user in enumerate(owners):
            its = slice(*trajectories.starts[i : i + 2])
            for kept, n_rows in zip(sets.kept[its].tolist(), window.stands_for[its].tolist(), strict=True):
                if not kept and i in sources:
                    deleted.add(user)
                if not kept and n_rows:
                    incomplete.add(user)
        groups = {
            "created": {owners[i] for i, n in zip(sources, n_created, strict=True) if n},
            "translated": {
                owners[i]
                for i, n, n_points in zip(sources, n_created, np.diff(sets.starts).tolist(), strict=True)
                if n < n_points
            },
            "deleted": deleted,
            "trash": {user for i, user in enumerate(owners) if i not in sources},
            "curbed": flagged(window.curbed),
            "absent": everybody - set(present),
            "unreleased": everybody - people,
            "several": {user for user, n in Counter(owners[i] for i in sources).items() if n > 1},
            "relaxed": set() if anonymized.relaxed is None else flagged(anonymized.relaxed),
        }
        behind = {
            "population": everybody,
            "people": people,
            "trajectories": people,
            "points_released": people,
            "points_suppressed": incomplete | groups["curbed"] | groups["absent"],
            "mean_space_translation_m": groups["translated"],
            "mean_time_translation_s": groups["translated"],
        }
        between = {
            "people left out": (("population", "people"), groups["unreleased"]),
            "people with several trajectories": (("trajectories", "people"), groups["several"]),
        }
        # The population is the people where all of them are released, and a set's support where it is the only one.
        if not groups["unreleased"]:
            between["people with several of all"] = (("trajectories", "population"), groups["several"])
        # Where people are not told, it is k whatever the set has.
        if content["information_loss"]["sets"] == 1 and figures["people"] is not None:
            between["people with several of a set"] = (("trajectories", "smallest_support"), groups["several"])
        if guarantee.personal:
            behind["people_demanding_more"] = demanding
            between["people who demand no more"] = (("population", "people_demanding_more"), everybody - demanding)
        if anonymized.relaxed is not None:
            behind["people_relaxed"] = groups["relaxed"]
            between["people given what they demand"] = (
                ("people_demanding_more", "people_relaxed"),
                demanding - groups["relaxed"],
            )
        return cls(guarantee.k, figures, groups, behind, between)

    def few(self, people: People) -> bool:
        """Tell whether they could be singled out."""
        return 0 < len(people) < self.k

    def of_few(self) -> list[str]:
        """Figures with fewer than k people behind them, counts below k, and counts of what nobody did."""
        return [
            name
            for name, people in self.behind.items()
            if (value := self.figures[name]) is not None
            and (self.few(people) or (value != 0 and not people) or (isinstance(value, int) and 0 < value < self.k))
        ]

    def differences_of_few(self) -> list[str]:
        """Differences, of figures that are told, with fewer than k people behind them."""
        return [
            name
            for name, (figures, people) in self.between.items()
            if self.few(people) and None not in [self.figures[figure] for figure in figures]
        ]

    def unreleased_by_inference(self) -> list[int]:
        """How many people can be unreleased where it is not told, from what would have been told otherwise."""
        people, population = self.figures["people"], self.figures["population"]
        demanding = self.figures.get("people_demanding_more")
        if population is not None or people is None:
            return []
        return [
            n
            for n in range(1, self.k)
            if demanding is None or people + n - demanding == 0 or people + n - demanding >= self.k
        ]


NOT_PEOPLE = {"schema", "sets", "smallest_support"}
"""Numbers of a windows message that count neither people nor what they did."""


@settings(max_examples=examples(150))
@given(case=cases())
def test_every_figure_counts_nobody_or_k_people(case: Case) -> None:
    """
    What is told is 0 where nobody is behind it; otherwise k people are, and no count is below k. This is of all
    figures: a new one has to be accounted for here.
    """
    told = Told.of(case)
    if told is not None:
        assert set(told.figures) - NOT_PEOPLE == set(told.behind)
        assert told.of_few() == []


@settings(max_examples=examples(150))
@given(case=cases())
def test_no_difference_of_figures_counts_fewer_than_k_people(case: Case) -> None:
    """
    Where a difference would be about fewer than k people, one of the figures is not told.
    """
    told = Told.of(case)
    if told is not None:
        assert told.differences_of_few() == []


@settings(max_examples=examples(150))
@given(case=cases(PERSONAL))
def test_nobody_can_infer_how_few_are_not_released(case: Case) -> None:
    """
    Where the population is not told, because fewer than k people are not released, no other figure says how many.
    """
    told = Told.of(case)
    if told is not None:
        assert len(told.unreleased_by_inference()) in (0, told.k - 1)


@settings(max_examples=examples(150))
@given(case=cases())
def test_what_can_be_told_is_told(case: Case) -> None:
    """
    A figure is left out where fewer than k people are behind it or behind its difference to another one, a mean also
    where nobody's points count, and demands also where the population is left out. Nothing else is.
    """
    told = Told.of(case)
    if told is not None:
        expected = {"population"} if told.few(told.groups["unreleased"]) else set()
        if told.few(told.groups["several"]):
            expected |= {"people", "population"}
        if told.few(told.behind["points_suppressed"]):
            expected.add("points_suppressed")
        if len(told.groups["translated"]) < told.k:
            expected |= {"mean_space_translation_m", "mean_time_translation_s"}
        demanding, relaxed = told.behind.get("people_demanding_more", set()), told.groups["relaxed"]
        parts = (relaxed, demanding - relaxed, told.behind["population"] - demanding)
        if "population" in expected or any(map(told.few, parts)):
            expected |= told.behind.keys() & {"people_demanding_more", "people_relaxed"}
        assert {name for name, value in told.figures.items() if value is None} == expected


def stay(*users: int, at_s: Iterable[int] = (0, 30, 60), demand: Demand = NOTHING, lat: float = 52.5) -> list[Row]:
    """Rows of people who stay where they are, 1.4 m beside one another, or somewhere else."""
    return [(user, t, lat, 13.4 + 0.00002 * user, *demand) for user in users for t in at_s]


NEAR = Wait4MeOptions(max_radius_m=500.0, trash_share=1.0)
FAR = [*stay(21, lat=48.0), *stay(22, lat=40.0), *stay(23, lat=30.0)]
"""Three people who are near nobody."""

LATE = (600, 630)


def case_of(rows: Sequence[Any], model: TrajectoryAlgorithm | None = None, *, most: int = 1000, **joining: Any) -> Case:
    plan = point_plan(
        k=3,
        delta_m=DELTA_M,
        algorithm=model or WaitForMe(options=NEAR),
        limits=limits(points_per_user=most),
        joining=Joining(**joining),
    )
    return Case(points(*rows), plan)


@pytest.mark.parametrize(
    ("group", "case"),
    [
        pytest.param(
            "deleted",
            # Of five points four count. Two others lose the fifth as well, but none of the four.
            case_of([*stay(1, at_s=(0, 30, 60, *LATE)), *stay(2, 3, at_s=(0, 15, 30, 60, 75)), *stay(4, 5, 6)], most=4),
            id="only somebody who is also curbed has a point deleted",
        ),
        pytest.param(
            "deleted",
            # At 30 s there is a point of the first one, too, but it stands for none of their two rows.
            case_of([*stay(1, at_s=(0, 90)), *stay(2, 3, at_s=(30,))], step_ms=30_000),
            id="the rows of two are released, and of the third what was interpolated between them",
        ),
        pytest.param(
            "translated",
            # The set's only time is 0 s, which is before the others began.
            case_of([*stay(1, at_s=(0,)), *stay(2, 3, 4, 5, at_s=(10,))]),
            id="one person's point is translated, all others are created",
        ),
        pytest.param(
            "created",
            case_of([*stay(1, 2), *stay(3, at_s=(0, 60))], WaitForMe(options=replace(NEAR, translation="minimal"))),
            id="one point is created, so that one more is published than the rows that are released",
        ),
        pytest.param(
            "absent",
            case_of([*stay(1, 2, at_s=(0, 30, 60, 90)), *stay(3, 4, 5, 6), *stay(9, demand=(9, np.inf)), *FAR], most=3),
            id="one person is neither released nor in the trash: they demand more",
        ),
        pytest.param(
            "absent",
            case_of([*stay(1, 2, 3, 4), *stay(9, demand=(9, np.inf))]),
            id="nobody has lost anything but one person, who demands more",
        ),
        pytest.param(
            "several",
            case_of([*stay(1, at_s=(0, 30, 60, *LATE)), *stay(2, 3, 4, 5)], max_gap_ms=60_000),
            id="one person has two of the trajectories",
        ),
        pytest.param(
            "several",
            case_of([*stay(1, at_s=(0, 30, 60, *LATE)), *stay(2, 3, 4, 5), *FAR], max_gap_ms=60_000),
            id="one person has two of the trajectories, others are in the trash",
        ),
    ],
)
def test_a_group_of_few_people_is_not_told_of(group: str, case: Case) -> None:
    """
    Each was found by trying, as a figure, or a difference of figures, that was about one or two people of more than
    three.
    """
    told = Told.of(case)
    assert told is not None
    assert told.few(told.groups[group])
    assert told.of_few() == []
    assert told.differences_of_few() == []


@pytest.mark.parametrize(
    ("near", "far"),
    [
        pytest.param({"demanding": range(1, 8)}, {"demanding": (21,)}, id="all eight demand more, so there are eight"),
        pytest.param(
            {"demanding": range(1, 7), "others": (7,)},
            {"others": (21, 22)},
            id="six of more than seven do, and the others are not fewer than three, so there are nine",
        ),
    ],
)
def test_who_demands_more_does_not_tell_the_population(
    near: dict[str, Iterable[int]], far: dict[str, Iterable[int]]
) -> None:
    """
    Seven people are released and one or two are not, so that the population is not told. The number of those who demand
    more must not tell it either, together with the rule by which it is told.
    """
    rows = []
    for lat, its in ((52.5, near), (48.0, far)):
        rows += stay(*its.get("demanding", ()), demand=(4, np.inf), lat=lat) + stay(*its.get("others", ()), lat=lat)
    told = Told.of(case_of(rows, WaitForMe(options=NEAR, personal=True)))
    assert told is not None
    assert (told.figures["people"], told.figures["population"]) == (7, None)
    assert told.unreleased_by_inference() == [1, 2]
