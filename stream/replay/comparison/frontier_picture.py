"""The picture of a frontier: a panel for each k and m (or delta), a named point for each model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from math import floor, log10, sqrt
from typing import TYPE_CHECKING, Any

from stream.replay.comparison.svg import PALETTE, SERIES, as_file, as_inline, new_figure
from stream.replay.comparison.table import NOTICE, ComparisonRow
from stream.replay.picture_labels import CHAR, GAP, HEIGHT, WIDTH, LabelPoint, places

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MARKERS", "frontier_svg", "noun_of", "panel_name", "panels_inline", "plain", "style_axes"]

_LEFT, _TOP, _BELOW = 64.0, 74.0, 64.0
"""Pixels for the vertical axis, for the headings, and for the horizontal axis of a panel."""

_NARROWEST = 790.0
"""Least width, pixels: the lines below the panels need it."""

_TICKS = (0, 1, 5, 10, 25, 50, 75, 100)

MARKERS = "os^DvP"
"""Shape of the points of each promise."""

_LINE = 19.0
"""Height of a line of the legend, pixels."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Range of the axes. The horizontal axis shows square roots, which spreads small shares."""

    most_percent: float
    most_m: float
    step_m: float

    @classmethod
    def of(cls, rows: Sequence[ComparisonRow]) -> _Scale:
        losses = [row.losses for row in rows if row.losses is not None]
        share = max((share for share, _ in losses), default=1.0)
        distance_m = max((distance_m for _, distance_m in losses), default=0.0) or 1.0
        rough = distance_m / 4
        unit = 10.0 ** floor(log10(rough))
        step = next(factor * unit for factor in (1, 2, 2.5, 5, 10) if factor * unit >= rough)
        # Room above the highest point for its name.
        return cls(next(tick for tick in _TICKS if tick >= max(share, 1.0)), max(distance_m * 1.15, step), step)

    def x(self, percent: float) -> float:
        return WIDTH * sqrt(max(percent, 0.0) / self.most_percent)

    def y(self, distance_m: float) -> float:
        return HEIGHT * (1 - distance_m / self.most_m)


def frontier_svg(
    rows: Sequence[ComparisonRow], *, title: str, notes: Sequence[str] = (), notice: str = NOTICE
) -> bytes:
    """Draw rows as an SVG file, one panel for each choice of the other settings.

    Args:
        rows: All combinations, at least one.
        title: Name of the data that was anonymized.
        notes: More lines below the panels.
        notice: The last line: whether the picture may be published.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    heading = f"What anonymity costs: {title}"
    return as_file(_draw_panels(rows, heading, [*notes, notice]), title=heading, described=_described(rows))


def panels_inline(rows: Sequence[ComparisonRow], *, prefix: str) -> str:
    """Draw the same as an element of an HTML page; see :func:`stream.replay.comparison.svg.as_inline`."""
    figure = _draw_panels(rows, "", [], most_columns=2)
    return as_inline(figure, title="Every model, by its two losses", described=_described(rows), prefix=prefix)


def _draw_panels(rows: Sequence[ComparisonRow], heading: str, notes: Sequence[str], *, most_columns: int = 3) -> Figure:
    """Draw rows, with the heading above and the legend and notes below."""
    panels = [list(panel) for _, panel in groupby(sorted(rows, key=_sort_key), key=lambda row: row.panel)]
    # One line of panels for each k; if each line would have a single panel, or too many, as many as fit.
    columns = len({row.panel[1:] for row in rows})
    columns = min(len(panels), most_columns) if columns in (1, len(panels)) or columns > most_columns else columns
    promises = list(dict.fromkeys(row.promise for row in rows))
    scale, noun = _Scale.of(rows), noun_of(rows)
    statuses = {row.status for row in rows}
    lines = [
        "Each shape is a promise; only models of one shape protect people alike. Filled: on the frontier of its shape.",
        "Dashed: the frontier, where no other model is lower on one axis and at most as high on the other.",
        *(["The run was ended early: models that are not shown are not finished."] if "unfinished" in statuses else []),
        *notes,
    ]
    top = _TOP if heading else 30.0
    width = max(columns * (_LEFT + WIDTH + GAP), _NARROWEST)
    foot = top + -(-len(panels) // columns) * (HEIGHT + _BELOW)
    height = foot + (len(lines) + 1) * _LINE + 8
    figure = new_figure(width, height)
    if heading:
        figure.text(14 / width, 1 - 28 / height, plain(heading), size=17, weight="bold", color=PALETTE["ink"])
        vertical = f"vertical: mean distance between released {noun} and their original positions; "
        horizontal = f"horizontal: share of {noun} not released (square roots)"
        figure.text(14 / width, 1 - 47 / height, vertical + horizontal, size=11.5, color=PALETTE["soft"])
    for number, panel in enumerate(panels):
        left = _LEFT + number % columns * (_LEFT + WIDTH + GAP)
        bottom = height - top - number // columns * (HEIGHT + _BELOW) - HEIGHT
        axes = figure.add_axes((left / width, bottom / height, WIDTH / width, HEIGHT / height))
        _draw_panel(axes, panel, scale, promises, noun)
    _draw_legend(figure, promises, 1 - (foot + 4) / height, width)
    for number, line in enumerate(lines, 1):
        y = 1 - (foot + 4 + number * _LINE) / height
        figure.text(14 / width, y, plain(line), size=11.5, color=PALETTE["soft"])
    return figure


def noun_of(rows: Sequence[ComparisonRow]) -> str:
    """Return what is released: visits or points."""
    return "visits" if rows[0].delta_m is None else "points"


def panel_name(row: ComparisonRow) -> str:
    """Return the values of a panel, such as ``k = 3, m = 2``."""
    own = f"m = {row.m}" if row.m is not None else f"delta = {row.delta_m:g} m"
    others = [f"{name.removeprefix('privacy.')} = {value}" for name, value in row.varied.items()]
    return ", ".join([f"k = {row.k}", own, *others])


def _sort_key(row: ComparisonRow) -> tuple[object, ...]:
    return row.k, row.m or row.delta_m or 0.0, *row.varied.values()


def _draw_panel(axes: Axes, panel: Sequence[ComparisonRow], scale: _Scale, promises: Sequence[str], noun: str) -> None:
    _draw_axes(axes, scale)
    at = [(row, scale.x(row.losses[0]), scale.y(row.losses[1])) for row in panel if row.losses is not None]
    axes.set_title(panel_name(panel[0]), loc="left", size=13, weight="bold", color=PALETTE["ink"], pad=8)
    lost = [row.model for row in panel if row.losses is None]
    if lost:
        text = f"nothing released: {', '.join(lost)}"
        axes.set_title(text, loc="right", size=11.5, color=PALETTE["soft"], pad=8)
    front = sorted((x, y) for row, x, y in at if row.frontier)
    if front:
        steps = _steps(front)
        axes.plot(*_on_axes(steps), transform=axes.transAxes, color=PALETTE["front"], lw=1.6, ls=(0, (5, 3)), zorder=2)
    names: list[tuple[float, float, str, str]] = []
    for (row, x, y), box in zip(at, places([LabelPoint(x, y, row.model) for row, x, y in at]), strict=True):
        to = min(max(x, box.left), box.right), (box.top + box.bottom) / 2
        if abs(to[0] - x) + abs(to[1] - y) > 19:  # a name close to its point needs no line
            axes.plot(*_on_axes([(x, y), to]), transform=axes.transAxes, color=PALETTE["edge"], lw=0.8, clip_on=False)
        # The width of letters is estimated, so a name at the left of its point is aligned by its right edge.
        side, edge = ("right", box.right) if box.right <= x else ("left", box.left)
        names.append((edge, box.bottom - 3.5, row.model, side))
    # Draw filled points last, on top: if several points are at one place, the best of a promise stays visible.
    for row, x, y in sorted(at, key=lambda point: point[0].frontier_of_promise):
        number = promises.index(row.promise)
        colour = SERIES[number % 6]
        fill = colour if row.frontier_of_promise else PALETTE["paper"]
        style: Any = {"marker": MARKERS[number % 6], "ms": 8.4, "mew": 1.7, "mec": colour, "mfc": fill}
        axes.plot(*_on_axes([(x, y)]), transform=axes.transAxes, ls="", clip_on=False, zorder=4, **style)
    for number, (x, y, name, side) in enumerate(names):
        written = axes.text(
            *(x / WIDTH, 1 - y / HEIGHT, name), transform=axes.transAxes, ha=side, size=11.5, color=PALETTE["ink"]
        )
        written.set_gid(f"name{number}-{_id_of(panel[0])}")
    axes.set_xlabel(f"{noun} not released (square roots)", loc="right", size=11.5, color=PALETTE["soft"], labelpad=2)


def _id_of(row: ComparisonRow) -> str:
    """Return the values of a panel as letters and digits, for ids."""
    return "".join(letter for letter in panel_name(row) if letter.isalnum())


def _draw_axes(axes: Axes, scale: _Scale) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    n = int(scale.most_m / scale.step_m + 1e-9)
    heights = [i * scale.step_m for i in range(n + 1)]
    axes.set_yticks([1 - scale.y(height) / HEIGHT for height in heights], [f"{height:,.10g} m" for height in heights])
    ticks = [tick for tick in _TICKS if tick <= scale.most_percent]
    axes.set_xticks([scale.x(tick) / WIDTH for tick in ticks], [f"{tick} %" for tick in ticks])
    style_axes(axes)


def style_axes(axes: Axes) -> None:
    """Give axes a grid and the colours of the page."""
    axes.patch.set_visible(False)
    axes.grid(color=PALETTE["line"], lw=1)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=11.5, labelcolor=PALETTE["soft"], pad=8)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALETTE["edge"])


def _on_axes(points: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    """Turn pixels, y downwards, into shares of the axes."""
    return [x / WIDTH for x, _ in points], [1 - y / HEIGHT for _, y in points]


def _steps(front: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of the frontier: down to each point, then to the right."""
    corners = [(front[0][0], 0.0)]
    for x, y in front:
        corners += [(x, corners[-1][1]), (x, y)]
    return [*corners, (WIDTH, front[-1][1])]


def _draw_legend(figure: Figure, promises: Sequence[str], y: float, width: float) -> None:
    from matplotlib.lines import Line2D  # noqa: PLC0415 - see `new_figure`

    x = 20.0
    for number, promise in enumerate(promises):
        colour = SERIES[number % 6]
        figure.add_artist(
            Line2D(
                [x / width], [y + 4 / (figure.get_figheight() * 72)], marker=MARKERS[number % 6], ms=8, c=colour, ls=""
            )
        )
        figure.text((x + 11) / width, y, plain(promise), size=11.5, color=PALETTE["ink"])
        x += 11 + len(promise) * CHAR + 22


def plain(text: str) -> str:
    """Return text that matplotlib does not read as a formula."""
    return text.replace("$", r"\$")


def _described(rows: Sequence[ComparisonRow]) -> str:
    n, noun = len({row.panel for row in rows}), noun_of(rows)
    return (
        f"{n} panels. Each shows models. Horizontal axis: share of {noun} that are not released. Vertical axis: mean "
        f"distance between released {noun} and their original positions. {_in_words(rows)}"
    )


def _sentence(row: ComparisonRow) -> str:
    share, distance_m = row.losses or (0.0, 0.0)
    return f"{row.model}: {share:.3g} % not released, {distance_m:,.0f} m"


def _in_words(rows: Sequence[ComparisonRow]) -> str:
    """Describe the frontier in words."""
    parts = []
    for panel in dict.fromkeys(row.panel for row in rows):
        its = [row for row in rows if row.panel == panel]
        on = [_sentence(row) for row in its if row.frontier]
        parts.append(f"{panel_name(its[0])}: {'; '.join(on) or 'nothing released'}.")
    return "On the frontier: " + " ".join(parts)
