"""Curves of a comparison: how loss, suppression and risk depend on a setting, one line for each model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stream.replay.comparison.curve_figures import (
    RowFigure,
    figure_rows,
    figures_in_words,
    models_of_rows,
    panels_of,
    ticks_of,
    values_of,
)
from stream.replay.comparison.frontier_picture import MARKERS, noun_of, plain, style_axes
from stream.replay.comparison.svg import PALETTE, SERIES, as_inline, new_figure
from stream.replay.comparison.table import ComparisonRow

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["Curves", "curves_of"]

_WIDTH, _HEIGHT, _GAP, _LEFT, _TOP, _BELOW = 260.0, 190.0, 34.0, 60.0, 30.0, 52.0
"""Sizes of a panel and around it, pixels."""

_COLUMNS = 3
_NARROWEST = 720.0
_APART = 0.05
"""Between the points of two models at one value, of the space between two values: equal figures can all be seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """One picture, with the table of the same figures."""

    title: str
    explained: str
    svg: str
    """An element of a page."""

    columns: tuple[str, ...]
    """What stands above the columns of the table: the setting with each of its values, in order."""

    table: tuple[tuple[str, tuple[str, ...]], ...]
    """Rows: the model, with the panel if there are several, and the figures as text."""


def curves_of(rows: Sequence[ComparisonRow], varied: Sequence[str]) -> list[Curves]:
    """Draw all curves of a comparison.

    Args:
        rows: Its rows.
        varied: Names of the settings with several values, as :func:`values_of` has them. The first is the horizontal
            axis, ``k`` if it is one of them.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    axis = "k" if "k" in varied or not varied else varied[0]
    noun = noun_of(rows)
    return [
        _curves(
            rows,
            axis,
            lambda row: row.distance_m,
            title=f"Loss against {axis}",
            unit="m",
            explained=f"Mean distance between released {noun} and their original positions, metres. 0 is no loss.",
            prefix="loss",
        ),
        _curves(
            rows,
            axis,
            lambda row: row.unreleased_percent,
            title=f"What is left out, against {axis}",
            unit="%",
            explained=f"Share of {noun} that are suppressed or in withheld windows, percent.",
            prefix="left",
        ),
        _curves(
            rows,
            axis,
            lambda row: row.highest_risk,
            title="Highest risk beside 1/k",
            unit="",
            explained="Largest probability with which a simulated attack on one release finds a person of a sample. "
            "The dashed lines are 1/k. A figure above them means that the attack knows more than the promise covers.",
            prefix="risk",
            bound=lambda row: 1 / row.k,
        ),
        _trade_offs(rows, axis),
    ]


def _curves(
    rows: Sequence[ComparisonRow],
    axis: str,
    value: RowFigure,
    *,
    title: str,
    explained: str,
    unit: str,
    prefix: str,
    bound: RowFigure | None = None,
) -> Curves:
    panels, ticks = panels_of(rows, axis), ticks_of(rows, axis)
    models, shapes = models_of_rows(rows), _shapes(rows)
    figure, all_axes = _figure(list(panels), models, shapes)
    highest = max((known for row in rows if (known := value(row)) is not None), default=0.0)
    for axes, its in zip(all_axes, panels.values(), strict=True):
        for number, model in enumerate(models):
            points = [(ticks.index(values_of(row)[axis]), value(row)) for row in its if row.model == model]
            shift = (number - (len(models) - 1) / 2) * _APART
            _line(axes, [(x + shift, y) for x, y in points if y is not None], number, shapes[model])
        limits = [] if bound is None else [(ticks.index(values_of(row)[axis]), bound(row) or 0.0) for row in its]
        for at, limit in sorted(set(limits)):
            axes.plot((at - 0.42, at + 0.42), (limit, limit), color=PALETTE["ink"], lw=1.4, ls=(0, (5, 3)), zorder=2)
            highest = max(highest, limit)
        axes.set_xticks(range(len(ticks)), [plain(tick) for tick in ticks])
        axes.set_xlim(-0.5, len(ticks) - 0.5)
        axes.set_xlabel(plain(axis), loc="right", size=11, color=PALETTE["soft"], labelpad=1)
    for axes in all_axes:
        axes.set_ylim(0, highest * 1.08 or 1.0)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g} {unit}".strip())
    described = f"{explained} " + " ".join(figures_in_words(rows, axis, value, unit))
    return Curves(
        title=title,
        explained=explained,
        svg=as_inline(figure, title=title, described=described, prefix=prefix),
        columns=tuple(f"{axis} {tick}" for tick in ticks),
        table=tuple(figure_rows(panels, ticks, axis, value, bound)),
    )


def _trade_offs(rows: Sequence[ComparisonRow], axis: str) -> Curves:
    """Draw both losses at once: a line for each model, through the values of the axis."""
    panels, ticks = panels_of(rows, axis), ticks_of(rows, axis)
    models, shapes = models_of_rows(rows), _shapes(rows)
    figure, all_axes = _figure(list(panels), models, shapes)
    losses = [row.losses for row in rows if row.losses is not None]
    for axes, its in zip(all_axes, panels.values(), strict=True):
        for number, model in enumerate(models):
            known = [(row, row.losses) for row in its if row.model == model and row.losses is not None]
            _line(axes, [at for _, at in known], number, shapes[model])
            for nth, (row, at) in enumerate(known):
                if len(ticks) > 1 and nth in (0, len(known) - 1):
                    written = axes.annotate(
                        plain(values_of(row)[axis]), at, (5, 4), textcoords="offset points", size=10
                    )
                    written.set_color(PALETTE["ink"])
                    written.set_gid(f"name-{_letters(model)}-{nth}-{all_axes.index(axes)}")
        axes.set_xlim(0, max((share for share, _ in losses), default=1.0) * 1.15 or 1.0)
        axes.set_ylim(0, max((distance for _, distance in losses), default=1.0) * 1.15 or 1.0)
        axes.xaxis.set_major_formatter(lambda x, _: f"{x:.10g} %")
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g} m")
        axes.set_xlabel("not released", loc="right", size=11, color=PALETTE["soft"], labelpad=1)
    explained = (
        f"Both losses at once: to the right the share of {noun_of(rows)} that are not released, up their mean distance "
        f"from the originals. Lower and further left is better. A line connects the values of {axis}; its first and "
        "last value are written beside it."
    )
    described = f"{explained} " + " ".join(
        f"{row.model}, {_named(values_of(row))}: {row.losses[0]:.3g} % not released, {row.losses[1]:,.0f} m."
        for row in rows
        if row.losses is not None
    )
    table = figure_rows(panels, ticks, axis, lambda row: row.distance_m, None, lambda row: row.unreleased_percent)
    return Curves(
        title="Trade-off of the two losses",
        explained=explained,
        svg=as_inline(figure, title="Trade-off of the two losses", described=described, prefix="both"),
        columns=tuple(f"{axis} {tick}" for tick in ticks),
        table=tuple(table),
    )


def _shapes(rows: Sequence[ComparisonRow]) -> dict[str, str]:
    """Return the marker of each model: that of its promise."""
    promises = list(dict.fromkeys(row.promise for row in rows))
    return {row.model: MARKERS[promises.index(row.promise) % len(MARKERS)] for row in rows}


def _line(axes: Axes, points: Sequence[tuple[float, float]], number: int, marker: str) -> None:
    """Draw the line of a model."""
    if not points:
        return
    style: Any = {"color": SERIES[number % len(SERIES)], "marker": marker, "ms": 6.5, "lw": 1.6}
    axes.plot(*zip(*points, strict=True), ls=_dash(number), clip_on=False, zorder=3 + number / 100, **style)


def _dash(number: int) -> str:
    return "-" if number < len(SERIES) else "--"


def _figure(panels: Sequence[str], models: Sequence[str], shapes: Mapping[str, str]) -> tuple[Figure, list[Axes]]:
    """Return a figure with an empty plot for each panel, and the legend of the models below."""
    columns = min(len(panels), _COLUMNS)
    n_lines = -(-len(panels) // columns)
    width = max(columns * (_LEFT + _WIDTH + _GAP), _NARROWEST)
    wide = width / columns - _LEFT - _GAP
    legend_columns = max(1, int(width // 150))
    legend = 20.0 * -(-len(models) // legend_columns) + 14
    top = _TOP if any(panels) else 10.0
    height = n_lines * (top + _HEIGHT + _BELOW) + legend
    figure = new_figure(width, height)
    from matplotlib.lines import Line2D  # noqa: PLC0415 - see `new_figure`

    made: list[Axes] = []
    for number, name in enumerate(panels):
        left = _LEFT + number % columns * (_LEFT + wide + _GAP)
        bottom = height - (number // columns + 1) * (top + _HEIGHT + _BELOW) + _BELOW
        axes = figure.add_axes((left / width, bottom / height, wide / width, _HEIGHT / height))
        style_axes(axes)
        axes.set_title(plain(name), loc="left", size=12, weight="bold", color=PALETTE["ink"], pad=8)
        made.append(axes)
    handles = [
        Line2D([], [], color=SERIES[number % len(SERIES)], marker=shapes[model], ls=_dash(number), label=plain(model))
        for number, model in enumerate(models)
    ]
    figure.legend(
        *(handles, [plain(model) for model in models]),
        loc="lower left",
        bbox_to_anchor=(0, 0),
        ncols=legend_columns,
        frameon=False,
        fontsize=11.5,
        labelcolor=PALETTE["ink"],
    )
    return figure, made


def _letters(model: str) -> str:
    """Return the letters and digits of a model's name."""
    return "".join(letter for letter in model if letter.isalnum())


def _named(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
