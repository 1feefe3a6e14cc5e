"""The table of a comparison: one row for each combination, as CSV and for the terminal.

Like the measures of a replay, it is computed from raw records: show it only to people who may see these, and do not
publish it. It contains only sums and means over windows, no position and no id.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace

from core.models.frontier import Tally, undominated
from stream.replay.comparison.axes import shown
from stream.replay.comparison.combinations import Combination
from stream.replay.comparison.one_combination import CombinationResult
from stream.replay.comparison.run import ComparisonResults

__all__ = ["NOTICE", "ComparisonRow", "as_csv", "comparison_rows", "plain_rows"]

NOTICE = "computed from raw records; not for publication"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonRow:
    """One row; its fields are the columns, and None is an empty cell.

    The figures are empty if nothing was released, or measuring failed.
    """

    model: str
    """The model, or the name of a variant of one."""

    promise: str
    """The name of its promise (PRIVACY.md). Only rows of the same promise protect people alike."""

    k: int
    m: int | None
    """Check-ins only: number of locations that an adversary knows. The promise of ``p2ka`` does not depend on it."""

    delta_m: float | None
    """Fragments only: delta, metres."""

    varied: Mapping[str, str] = field(default_factory=dict)
    """All other settings that vary, by dotted name; each is a column."""

    windows: int
    windows_released: int
    windows_failed: int
    """Windows withheld because the verifier refused them or the anonymizer failed. All other withheld windows have too
    few people, or people with too little in common."""

    people: int
    """People, summed over windows: a person in several windows counts once in each."""

    people_released: int
    """People with anything released, likewise."""

    points: int
    """Visits (check-ins) or points (fragments) of accepted records, without duplicates and late ones."""

    points_released: int
    points_suppressed: int
    """Points left out of released windows."""

    points_withheld: int
    """Points of windows that are not released."""

    unreleased_percent: float | None
    """Suppressed and withheld points, as a share of all points."""

    people_lost_percent: float | None
    """Share of people of whom nothing is released."""

    distance_m: float | None
    """Metres; mean over windows, weighted by points released. Check-ins: D (Poulis et al. 2014, Definition 6), 0 if
    locations are released unchanged. Fragments: mean distance between a released point and its original point."""

    time_s: float | None
    """Fragments only: mean time between a released point and its original point, seconds."""

    highest_risk: float | None
    """Largest probability with which a simulated attack on one release finds a person; compare it with 1/k. Empty if no
    attack was simulated."""

    highest_linkage: float | None
    """Largest figure that the attack on a release and the one before it found
    (:attr:`core.release.attacks.linkage.LinkageRisk.highest`). Empty without two releases of a shard."""

    mean_linkage: float | None
    """Mean probability that this attack names a set, or trajectory, that has a person of the one before."""

    cpu_s: float | None
    """Time of the processor to anonymize and verify all windows, seconds; it differs in every run."""

    frontier: bool
    """Whether the row is on the frontier: no other row with the same values of all that varies is lower in
    ``distance_m`` or ``unreleased_percent`` and at most as high in the other."""

    frontier_of_promise: bool
    """The same, among rows of the same promise."""

    status: str
    """``complete``; ``unfinished``: the run ended before, another run completes it; or ``failed``: measuring failed."""

    notice: str = NOTICE

    @property
    def losses(self) -> tuple[float, float] | None:
        """The two figures that are compared: points not released, and distance; None if one is missing."""
        if self.distance_m is None or self.unreleased_percent is None:
            return None
        return self.unreleased_percent, self.distance_m

    @property
    def panel(self) -> tuple[int | float | str | None, ...]:
        """k, m or delta, and all other settings that vary: rows with the same values are compared."""
        return self.k, self.delta_m if self.m is None else self.m, *self.varied.values()


def comparison_rows(combinations: Sequence[Combination], results: ComparisonResults) -> list[ComparisonRow]:
    """Make the rows of combinations, in their order.

    Args:
        combinations: All combinations of a comparison.
        results: What they came to; a combination without an evaluation is unfinished.
    """
    rows = [_row(one, results.evaluations.get(one.digest)) for one in combinations]
    losses = [row.losses for row in rows]
    frontier = _on_frontier([row.panel for row in rows], losses)
    of_promise = _on_frontier([(*row.panel, row.promise) for row in rows], losses)
    return [
        replace(row, frontier=on, frontier_of_promise=on_of_promise)
        for row, on, on_of_promise in zip(rows, frontier, of_promise, strict=True)
    ]


def _row(one: Combination, evaluation: CombinationResult | None) -> ComparisonRow:
    """Make a row that is on no frontier yet. Figures are rounded as written: rows are compared as readers see them."""
    tally = Tally() if evaluation is None else evaluation.tally
    status = "unfinished" if evaluation is None else "complete" if evaluation.fault is None else "failed"
    figures = tally if status == "complete" else Tally()
    return ComparisonRow(
        model=one.variant,
        promise=one.promise,
        k=one.k,
        m=one.m,
        delta_m=one.delta_m,
        varied=_other_values(one),
        windows=tally.windows,
        windows_released=tally.windows_released,
        windows_failed=tally.windows_failed,
        people=tally.people,
        people_released=tally.people_released,
        points=tally.points,
        points_released=tally.points_released,
        points_suppressed=tally.points_suppressed,
        points_withheld=tally.points_withheld,
        unreleased_percent=_rounded(figures.unreleased_percent, 3),
        people_lost_percent=_rounded(figures.people_lost_percent, 3),
        distance_m=_rounded(figures.distance_m, 1),
        time_s=_rounded(figures.time_s, 1) if one.delta_m is not None else None,
        highest_risk=_rounded(figures.highest_risk, 4),
        highest_linkage=_rounded(figures.highest_linkage, 4),
        mean_linkage=_rounded(figures.mean_linkage, 4),
        cpu_s=None if evaluation is None else round(evaluation.cpu_s, 2),
        frontier=False,
        frontier_of_promise=False,
        status=status,
    )


def _other_values(one: Combination) -> dict[str, str]:
    """Return what varies beside k and m, or delta, as text."""
    own = ("privacy.k", "privacy.m" if one.delta_m is None else "privacy.delta_m")
    return {name: shown(value) for name, value in one.varied.items() if name not in own}


def plain_rows(rows: Sequence[ComparisonRow]) -> list[dict[str, object]]:
    """Return rows as plain data, each setting that varies beside the other columns."""
    return [_flat(asdict(row)) for row in rows]


def _flat(row: dict[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in row.items():
        flat |= value if name == "varied" and isinstance(value, dict) else {name: value}
    return flat


def as_csv(rows: Sequence[ComparisonRow]) -> bytes:
    """Write rows as CSV (RFC 4180), UTF-8, with a header; true is ``yes``, false is ``no``."""
    out = io.StringIO()
    writer = csv.writer(out)
    plain = plain_rows(rows)
    writer.writerow(plain[0])
    writer.writerows([_cell(value) for value in row.values()] for row in plain)
    return out.getvalue().encode()


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits) + 0.0  # never -0.0


def _on_frontier(panels: Sequence[tuple[object, ...]], losses: Sequence[tuple[float, float] | None]) -> list[bool]:
    """Return for every row whether it is on the frontier of its panel; without losses it is on none."""
    on = [False] * len(panels)
    for panel in set(panels):
        points = [(i, loss) for i, loss in enumerate(losses) if loss is not None and panels[i] == panel]
        for (i, _), is_on in zip(points, undominated([point for _, point in points]), strict=True):
            on[i] = is_on
    return on


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
