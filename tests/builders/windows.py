"""Small inputs for tests: rules, records, rows, plans, and whole windows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np

from core.ingest.validate import Rules, user_hash
from core.models.common.plan import Plan
from core.models.disassociation.anonymize.disassociate import DisassociationOptions
from core.models.disassociation.guarantee import DisassociatedKm
from core.models.disassociation.plan import DisassociationPlan
from core.models.flows.guarantee import KAnonymousFlows, TripRule
from core.models.flows.plan import FlowPlan
from core.models.kdelta.algorithms import TrajectoryAlgorithm, WaitForMe
from core.models.kdelta.anonymize.wait4me import Wait4MeOptions
from core.models.kdelta.guarantee import KDelta
from core.models.kdelta.plan import KDeltaPlan
from core.models.kkm.anonymize.result import RTOptions
from core.models.kkm.attributes import CategoricalAttribute, Hierarchy, NumericAttribute
from core.models.kkm.guarantee import KKmAnonymity
from core.models.kkm.plan import KKmPlan
from core.models.klm.algorithms import ZGA
from core.models.klm.anonymize.cluster import ClusterSearch
from core.models.klm.guarantee import KLmDiversity
from core.models.klm.plan import KLmPlan
from core.models.km.algorithms import SeqAnon
from core.models.km.anonymize.seqanon import Generalization
from core.models.km.guarantee import KmAnonymity
from core.models.km.plan import KmPlan
from core.models.km_sets.algorithms import Apriori, SetAlgorithm
from core.models.km_sets.guarantee import KmSetAnonymity
from core.models.km_sets.plan import KmSetPlan
from core.models.lkc.anonymize.suppress import LKCOptions
from core.models.lkc.guarantee import LKCPrivacy
from core.models.lkc.pairs import Cycle, Slots
from core.models.lkc.plan import LKCPlan
from core.models.measures import measure_window
from core.models.p2ka.guarantee import PatternPreservingK
from core.models.p2ka.plan import P2kAPlan
from core.models.registry import family_of
from core.pipeline import release_window
from core.places.locate import Locator, Venues
from core.places.meaning import OwnTaxonomy, Taxonomy
from core.places.taxonomy import Categories
from core.records.identity import canonical
from core.records.profile import AttributeValue, Categorical, Numeric, Profile
from core.records.record import (
    POINT,
    VISIT,
    CheckIn,
    Fragment,
    Kind,
    Point,
    Rows,
    Source,
    Timestamp,
    attribute_field,
    checkin_type,
)
from core.release.outcome import Outcome, Release
from core.trajectories.assemble import Limits, SequenceWindow
from core.utility.window_measures import MeasureInputs, MeasureOptions
from core.windows.seal import Seal
from core.windows.window import WindowKey
from stream.formats.release.messages import OutMessage, outcome_messages

USER_KEY = b"a key of the user hash"
SECRET = b"a secret of the plan..."
SOURCE = Source("checkins", 0)

START_MS = 1_795_813_200_000
"""2026-11-27T21:00:00Z, the start of the window that rows are built in."""

WINDOW_MS = 900_000
NOW_MS = START_MS + WINDOW_MS

PLACES = ("bakery", "cinema", "market", "museum", "park", "station")
"""Names of the venues, ascending; a visit's location is an index into them."""

VENUES = Venues(PLACES, np.linspace(52.50, 52.55, 6), np.linspace(13.30, 13.45, 6))

PROFILE = Profile(
    (
        Numeric("age", 18, 99),
        Categorical("plan", ("basic", "gold", "paid", "plus")),
        Categorical("ward", ("oncology", "surgery"), others=True),
    )
)
"""What visits may tell of their person: two attributes, and one that is sensitive."""

SCHEMA = (
    NumericAttribute(name="age", low=18, high=99),
    CategoricalAttribute(
        name="plan",
        hierarchy=Hierarchy(Categories.from_rows([("basic", ""), ("paid", ""), ("gold", "paid"), ("plus", "paid")])),
    ),
)
"""The attributes of :data:`PROFILE` that are released."""


@dataclass(frozen=True)
class Planted:
    """An anonymizer of check-ins that does what a test says."""

    planted: Callable[[SequenceWindow, KmAnonymity], Generalization | None]
    model: str = "seqanon"
    parameters: dict[str, float | int | str] = field(default_factory=dict)

    def anonymize(self, window: SequenceWindow, guarantee: KmAnonymity) -> Generalization | None:
        """Do it."""
        return self.planted(window, guarantee)


def rules(**changes: Any) -> Rules:
    """Accept the years 2000 to 2099 and ten minutes ahead, and change some of it."""
    return replace(
        Rules(
            user_key=USER_KEY,
            earliest_ms=ms(datetime(2000, 1, 1, tzinfo=UTC)),
            latest_ms=ms(datetime(2100, 1, 1, tzinfo=UTC)),
            max_ahead_ms=600_000,
            max_points=10,
        ),
        **changes,
    )


def ms(moment: datetime) -> int:
    """Unix milliseconds of a moment on a whole millisecond, without floats."""
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1000 + since.microseconds // 1000


def checkin(**changes: Any) -> CheckIn:
    """One valid check-in, with changes."""
    values: dict[str, Any] = {"user": "u1", "ts": START_MS / 1000, "lat": 52.5, "lon": 13.4}
    return CheckIn(**(values | changes))


def told(*attributes: AttributeValue, **changes: Any) -> CheckIn:
    """One valid check-in that tells attributes of its person, with changes."""
    plain = checkin(**changes)
    values: dict[str, Any] = {name: getattr(plain, name) for name in CheckIn.__struct_fields__}
    own: dict[str, Any] = {attribute_field(i): value for i, value in enumerate(attributes)}
    return checkin_type(len(attributes))(**values, **own)


def fragment(points: Sequence[tuple[Timestamp, float, float]] | None = None, **changes: Any) -> Fragment:
    """One valid fragment of two points, or of the points given, with changes."""
    two = [(START_MS / 1000, 52.5, 13.4), (START_MS / 1000 + 30, 52.5001, 13.4001)]
    values: dict[str, Any] = {"user": "u1", "points": [Point(*point) for point in (two if points is None else points)]}
    return Fragment(**(values | changes))


def is_placed(point: Point) -> bool:
    """Whether a point has a position, right or wrong."""
    given = point.lat is not None and point.lon is not None and not math.isnan(point.lat + point.lon)
    return given and (point.lat, point.lon) != (0.0, 0.0)


def hash_of(user: int | str) -> int:
    """The keyed hash under which rows know a user."""
    return user_hash(canonical(user), USER_KEY)


def visits(*rows: tuple[int, int, int] | tuple[int, int, int, int]) -> Rows:
    """Visits ``(user, seconds into the window, location[, profile])``; offsets count up."""
    columns = []
    for i, (user, at_s, location, *profile) in enumerate(rows):
        columns.append((i, hash_of(user), START_MS + 1000 * at_s, location, *(profile or [0])))
    return np.array(columns, dtype=VISIT)


def profile_code(*, age: int = 30, plan: str = "basic", ward: str | None = None) -> int:
    """The code of a person of :data:`PROFILE`."""
    return int(PROFILE.encode([[age], [plan], [ward]]).codes[0])


def points(*rows: tuple[int, int, float, float] | tuple[int, int, float, float, int, float]) -> Rows:
    """Points ``(user, seconds into the window, lat, lon[, k, delta_m])``; offsets count up."""
    columns = []
    for i, (user, at_s, lat, lon, *demands) in enumerate(rows):
        k, delta_m = demands or (0, np.inf)
        columns.append((i, hash_of(user), START_MS + 1000 * at_s, lat, lon, k, delta_m))
    return np.array(columns, dtype=POINT)


def limits(*, points_per_user: int = 1000, trajectory_length: int = 100) -> Limits:
    """Limits that no small test reaches, unless told."""
    return Limits(points_per_user=points_per_user, trajectory_length=trajectory_length)


def sequence_plan(*, k: int = 3, m: int = 2, locator: Locator = VENUES, **changes: Any) -> KmPlan:
    """A plan for check-ins."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "algorithm": SeqAnon(),
    }
    return KmPlan(guarantee=KmAnonymity(k=k, m=m), locator=locator, **(values | changes))


def pattern_plan(*, k: int = 3, alike: bool = True, locator: Locator = VENUES, **changes: Any) -> P2kAPlan:
    """A plan for check-ins by BF-P2kA."""
    values: dict[str, Any] = {"limits": limits(), "secret": SECRET, "settings": "settings", "known_places": 2}
    return P2kAPlan(guarantee=PatternPreservingK(k=k, alike=alike), locator=locator, **(values | changes))


def cluster_plan(
    *,
    k: int = 3,
    l: int = 2,  # noqa: E741 - the name the guarantee is known by
    m: int = 2,
    sensitive: Collection[str] = (),
    locator: Locator = VENUES,
    **changes: Any,
) -> KLmPlan:
    """A plan for check-ins in clusters of people, by ZGA unless it says otherwise."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "algorithm": ZGA(ClusterSearch()),
        "sensitive": frozenset(sensitive),
    }
    return KLmPlan(guarantee=KLmDiversity(k=k, l=l, m=m), locator=locator, **(values | changes))


def pair_plan(
    *,
    k: int = 3,
    m: int = 2,
    c: float = 0.5,
    slot_ms: int = 300_000,
    cycle: Cycle = Cycle.WINDOW,
    locator: Locator = VENUES,
    **changes: Any,
) -> LKCPlan:
    """A plan for check-ins with their slots of time by LKC-privacy; the wards of :data:`PROFILE` are sensitive."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "options": LKCOptions(),
        "profile": PROFILE,
        "sensitive_field": "ward",
    }
    return LKCPlan(
        guarantee=LKCPrivacy(l=m, k=k, c=c),
        slots=Slots(granularity_ms=slot_ms, cycle=cycle),
        locator=locator,
        **(values | changes),
    )


def attribute_plan(
    *,
    k: int = 3,
    m: int = 2,
    l: int | None = None,  # noqa: E741 - the paper's name
    sensitive: Collection[str] = (),
    locator: Locator = VENUES,
    **changes: Any,
) -> KKmPlan:
    """A plan for check-ins with the attributes of :data:`PROFILE`, by Rum-bound that any loss is allowed."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "options": RTOptions(delta=1.0),
        "profile": PROFILE,
        "schema": SCHEMA,
        "sensitive": frozenset(sensitive),
    }
    return KKmPlan(guarantee=KKmAnonymity(k=k, m=m, l=l), locator=locator, **(values | changes))


def set_plan(
    *,
    k: int = 3,
    m: int = 2,
    l: int | None = None,  # noqa: E741 - the paper's name
    locator: Locator = VENUES,
    **changes: Any,
) -> DisassociationPlan:
    """A plan for check-ins by disassociation."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "options": DisassociationOptions(),
    }
    return DisassociationPlan(guarantee=DisassociatedKm(k=k, m=m, l=l), locator=locator, **(values | changes))


def label_set_plan(
    *, k: int = 3, m: int = 2, algorithm: SetAlgorithm | None = None, locator: Locator = VENUES, **changes: Any
) -> KmSetPlan:
    """A plan for check-ins as sets of generalized locations, by Apriori unless it says otherwise."""
    values: dict[str, Any] = {"limits": limits(), "secret": SECRET, "settings": "settings"}
    return KmSetPlan(
        guarantee=KmSetAnonymity(k=k, m=m),
        locator=locator,
        algorithm=algorithm or Apriori(OwnTaxonomy(locator)),
        **(values | changes),
    )


def flow_plan(
    *,
    k: int = 3,
    m: int = 2,
    trips: TripRule = TripRule.SUCCESSIVE,
    locator: Locator = VENUES,
    taxonomy: Taxonomy | None = None,
    **changes: Any,
) -> FlowPlan:
    """A plan for check-ins as flows; the promise has no m."""
    values: dict[str, Any] = {
        "limits": limits(),
        "secret": SECRET,
        "settings": "settings",
        "max_suppressed_percent": 100.0,
    }
    guarantee = KAnonymousFlows(k=k, trips=trips)
    return FlowPlan(
        guarantee=guarantee, locator=locator, taxonomy=taxonomy or OwnTaxonomy(locator), **(values | changes)
    )


def point_plan(
    *,
    k: int = 3,
    delta_m: float = 300.0,
    personal: bool = False,
    options: Wait4MeOptions | None = None,
    algorithm: TrajectoryAlgorithm | None = None,
    **changes: Any,
) -> KDeltaPlan:
    """A plan for fragments, by (P)W4M unless it says otherwise."""
    model = algorithm or WaitForMe(options=options or Wait4MeOptions(), personal=personal)
    values: dict[str, Any] = {"limits": limits(), "secret": SECRET, "settings": "settings", "algorithm": model}
    return KDeltaPlan(guarantee=KDelta(k=k, delta_m=delta_m, personal=model.personal), **(values | changes))


def seal_of(rows: Rows, plan: Plan, *, shard: str = "all", start_ms: int = START_MS) -> Seal:
    """The seal of a window that holds these rows."""
    kind = Kind.FRAGMENTS if isinstance(plan, KDeltaPlan) else Kind.CHECKINS
    key = WindowKey(start_ms + WINDOW_MS, kind, shard, start_ms)
    return plan.seal(key, last_offset=7, n_rows=len(rows), writer="test")


def release(rows: Rows, plan: Plan) -> Outcome:
    """Release the rows of one window."""
    return release_window(seal_of(rows, plan), rows, plan)


def released(rows: Rows, plan: Plan) -> Release:
    """Release the rows of one window that is not withheld."""
    outcome = release(rows, plan)
    assert isinstance(outcome, Release), outcome
    return outcome


def messages(outcome: Outcome) -> list[OutMessage]:
    """What would be sent."""
    return list(outcome_messages(outcome))


def window_message(outcome: Outcome) -> dict[str, Any]:
    """The windows message, decoded."""
    content: dict[str, Any] = json.loads(messages(outcome)[-1].value)
    return content


def integers_in(value: object, path: str = "") -> Iterator[tuple[str, int]]:
    """Every integer of decoded JSON, with the keys that lead to it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from integers_in(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from integers_in(inner, path)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield path, value


_MEASURES = MeasureOptions()


def measured(rows: Rows, plan: Plan, options: MeasureOptions = _MEASURES, *, taxonomy: Taxonomy | None = None) -> Any:
    """Measure the release of a window's rows, by what places mean in themselves where no taxonomy is given."""
    known = taxonomy or (OwnTaxonomy(plan.locator) if plan.locator is not None else None)
    figures = measure_window(seal_of(rows, plan), rows, plan, MeasureInputs(options=options, taxonomy=known))
    return None if figures is None else figures.measures


def anonymized(rows: Rows, plan: Plan) -> tuple[Any, Any]:
    """Return the assembled window of some rows and what the plan's model makes of it, before it is verified."""
    family, seal = family_of(plan.model), seal_of(rows, plan)
    window = family.assemble(seal, rows, plan)
    return window, family.anonymize(seal, window, plan)
