"""Curves of a comparison: how loss, suppression and risk depend on a setting, one line for each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
_NARROWEST = 600.0

Value = Callable[[ComparisonRow], float | None]


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
            "The dashed line is 1/k. A figure above it means that the attack knows more than the promise covers.",
            prefix="risk",
            bound=lambda row: 1 / row.k,
        ),
        _trade_offs(rows, axis),
    ]


def values_of(row: ComparisonRow) -> Mapping[str, str]:
    """Return the values of a row that may vary, by the name of the column, without the model."""
    own = {"k": str(row.k)}
    own |= {"m": str(row.m)} if row.m is not None else {"delta_m": f"{row.delta_m:g}"}
    return own | dict(row.varied)


def _panels(rows: Sequence[ComparisonRow], axis: str) -> dict[str, list[ComparisonRow]]:
    """Group rows by the values of all settings but that of the axis; only values that differ are in the names."""
    n_values = {name: len({values_of(row)[name] for row in rows}) for name in values_of(rows[0])}
    panels: dict[str, list[ComparisonRow]] = {}
    for row in rows:
        name = ", ".join(
            f"{name.removeprefix('privacy.')} = {value}"
            for name, value in values_of(row).items()
            if name != axis and n_values[name] > 1
        )
        panels.setdefault(name, []).append(row)
    return panels


def _ticks(rows: Sequence[ComparisonRow], axis: str) -> list[str]:
    return list(dict.fromkeys(values_of(row)[axis] for row in rows))


def _curves(
    rows: Sequence[ComparisonRow],
    axis: str,
    value: Value,
    *,
    title: str,
    explained: str,
    unit: str,
    prefix: str,
    bound: Value | None = None,
) -> Curves:
    panels, ticks = _panels(rows, axis), _ticks(rows, axis)
    models, shapes = _models(rows), _shapes(rows)
    figure, all_axes = _figure(list(panels), models, shapes)
    highest = max((known for row in rows if (known := value(row)) is not None), default=0.0)
    for axes, its in zip(all_axes, panels.values(), strict=True):
        for number, model in enumerate(models):
            points = [(ticks.index(values_of(row)[axis]), value(row)) for row in its if row.model == model]
            _line(axes, [(x, y) for x, y in points if y is not None], number, len(models), shapes[model])
        if bound is not None:
            limits = sorted({(ticks.index(values_of(row)[axis]), bound(row) or 0.0) for row in its})
            axes.plot(*zip(*limits, strict=True), color=PALETTE["ink"], lw=1.4, ls=(0, (5, 3)), marker="_", zorder=2)
            highest = max(highest, *(y for _, y in limits))
        axes.set_xticks(range(len(ticks)), [plain(tick) for tick in ticks])
        axes.set_xlim(-0.3, len(ticks) - 0.7)
        axes.set_xlabel(plain(axis), loc="right", size=11, color=PALETTE["soft"], labelpad=1)
    for axes in all_axes:
        axes.set_ylim(0, highest * 1.08 or 1.0)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,.10g} {unit}".strip())
    described = f"{explained} " + " ".join(_sentences(rows, axis, value, unit))
    return Curves(
        title=title,
        explained=explained,
        svg=as_inline(figure, title=title, described=described, prefix=prefix),
        columns=tuple(f"{axis} {tick}" for tick in ticks),
        table=tuple(_table(panels, ticks, axis, value, bound)),
    )


def _trade_offs(rows: Sequence[ComparisonRow], axis: str) -> Curves:
    """Draw both losses at once: a line for each model, through the values of the axis."""
    panels, ticks = _panels(rows, axis), _ticks(rows, axis)
    models, shapes = _models(rows), _shapes(rows)
    figure, all_axes = _figure(list(panels), models, shapes)
    losses = [row.losses for row in rows if row.losses is not None]
    for axes, its in zip(all_axes, panels.values(), strict=True):
        for number, model in enumerate(models):
            known = [(row, row.losses) for row in its if row.model == model and row.losses is not None]
            _line(axes, [at for _, at in known], number, len(models), shapes[model])
            for nth, (row, at) in enumerate(known):
                if len(ticks) > 1 and nth in (0, len(known) - 1):
                    written = axes.annotate(
                        plain(values_of(row)[axis]), at, (5, 4), textcoords="offset points", size=10
                    )
                    written.set_color(PALETTE["ink"])
                    written.set_gid(f"name-{prefix_of(model)}-{nth}-{all_axes.index(axes)}")
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
    table = _table(panels, ticks, axis, lambda row: row.distance_m, None, lambda row: row.unreleased_percent)
    return Curves(
        title="Trade-off of the two losses",
        explained=explained,
        svg=as_inline(figure, title="Trade-off of the two losses", described=described, prefix="both"),
        columns=tuple(f"{axis} {tick}" for tick in ticks),
        table=tuple(table),
    )


def prefix_of(model: str) -> str:
    """Return the letters and digits of a model's name."""
    return "".join(letter for letter in model if letter.isalnum())


def _models(rows: Sequence[ComparisonRow]) -> list[str]:
    return list(dict.fromkeys(row.model for row in rows))


def _shapes(rows: Sequence[ComparisonRow]) -> dict[str, str]:
    """Return the marker of each model: that of its promise."""
    promises = list(dict.fromkeys(row.promise for row in rows))
    return {row.model: MARKERS[promises.index(row.promise) % len(MARKERS)] for row in rows}


def _line(axes: Axes, points: Sequence[tuple[float, float]], number: int, of: int, marker: str) -> None:
    """Draw the line of a model. Later lines are smaller, so that equal lines can all be seen."""
    if not points:
        return
    size = 9.0 - 4.5 * number / max(1, of - 1)
    style: Any = {"color": SERIES[number % len(SERIES)], "marker": marker, "ms": size, "lw": 0.5 + size / 4}
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
    height = n_lines * (_TOP + _HEIGHT + _BELOW) + legend
    figure = new_figure(width, height)
    from matplotlib.lines import Line2D  # noqa: PLC0415 - see `new_figure`

    made: list[Axes] = []
    for number, name in enumerate(panels):
        left = _LEFT + number % columns * (_LEFT + wide + _GAP)
        bottom = height - (number // columns + 1) * (_TOP + _HEIGHT + _BELOW) + _BELOW
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


def _table(
    panels: Mapping[str, Sequence[ComparisonRow]],
    ticks: Sequence[str],
    axis: str,
    value: Value,
    bound: Value | None,
    beside: Value | None = None,
) -> list[tuple[str, tuple[str, ...]]]:
    table: list[tuple[str, tuple[str, ...]]] = []
    for panel, its in panels.items():
        name = f", {panel}" if panel else ""
        if bound is not None:
            at = {values_of(row)[axis]: row for row in its}
            table.append((f"1/k{name}", tuple(_shown(bound(at[tick])) if tick in at else "" for tick in ticks)))
        for model in _models(its):
            of_model = {values_of(row)[axis]: row for row in its if row.model == model}
            cells = []
            for tick in ticks:
                row = of_model.get(tick)
                cell = "" if row is None else _shown(value(row))
                cells.append(cell if row is None or beside is None else f"{_shown(beside(row))} %, {cell} m")
            table.append((f"{model}{name}", tuple(cells)))
    return table


def _shown(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"


def _sentences(rows: Sequence[ComparisonRow], axis: str, value: Value, unit: str) -> list[str]:
    """Say the figures of each model in words."""
    sentences = []
    for panel, its in _panels(rows, axis).items():
        for model in _models(its):
            figures = [
                f"{_shown(value(row))} {unit}".strip() + f" at {axis} {values_of(row)[axis]}"
                for row in its
                if row.model == model and value(row) is not None
            ]
            name = f"{model} ({panel})" if panel else model
            sentences.append(f"{name}: {', '.join(figures) or 'nothing released'}.")
    return sentences


def _named(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
