"""The picture of a frontier, as one SVG file: a panel for each k and m, a named point for each model.

It is drawn without a library: matplotlib is larger than the service, does not adapt to dark screens, and does not keep
labels from overlapping. The same rows give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from math import floor, log10, sqrt

from stream.replay.frontier_labels import CHAR, GAP, HEIGHT, WIDTH, LabelPoint, places
from stream.replay.frontier_table import NOTICE, FrontierRow

__all__ = ["as_svg"]

_LEFT, _TOP, _BELOW = 64.0, 74.0, 64.0
"""Pixels for the vertical axis, for the headings, and for the horizontal axis of a panel."""

_NARROWEST = 790.0
"""Least width, pixels: the lines below the panels need it."""

_TICKS = (0, 1, 5, 10, 25, 50, 75, 100)

_SHAPES = (
    "M-4.6 0a4.6 4.6 0 1 0 9.2 0a4.6 4.6 0 1 0-9.2 0z",  # a circle
    "M-4.2-4.2h8.4v8.4h-8.4z",  # a square
    "M0-5.4L5.2 4.2H-5.2z",  # a triangle
    "M0-5.8L5.8 0L0 5.8L-5.8 0z",  # a diamond
    "M0 5.4L5.2-4.2H-5.2z",  # a triangle upside down
    "M-5-1.7h3.3v-3.3h3.4v3.3H5v3.4H1.7V5h-3.4V1.7H-5z",  # a cross
)

_STYLE = """
svg{--paper:#fff;--ink:#14262d;--soft:#465a62;--line:#dbe3e5;--edge:#8fa3aa;--front:#0b5d6e;
--c0:#0b7285;--c1:#b35c00;--c2:#5f3dc4;--c3:#2b8a3e;--c4:#c2255c;--c5:#846a00;font-family:system-ui,sans-serif}
@media(prefers-color-scheme:dark){svg{--paper:#0f191d;--ink:#e6eef0;--soft:#a9bac0;--line:#2b3b41;--edge:#6d828a;
--front:#7fd3e3;--c0:#4dc4d8;--c1:#ffa94d;--c2:#b197fc;--c3:#69db7c;--c4:#f783ac;--c5:#e8cf4a}}
.paper{fill:var(--paper)}text{fill:var(--ink);font-size:11.5px}.h{font-size:17px;font-weight:600}
.p{font-size:13px;font-weight:600}.s{fill:var(--soft)}.e{text-anchor:end}.c{text-anchor:middle}
.grid{stroke:var(--line)}.edge{stroke:var(--edge);fill:none}.lead{stroke:var(--edge);stroke-width:.8}
.front{stroke:var(--front);stroke-width:1.6;fill:none;stroke-dasharray:5 3}
.dot{stroke:var(--c);stroke-width:1.7;fill:var(--paper)}.full{fill:var(--c)}
.name{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}
.c0{--c:var(--c0)}.c1{--c:var(--c1)}.c2{--c:var(--c2)}.c3{--c:var(--c3)}.c4{--c:var(--c4)}.c5{--c:var(--c5)}
"""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Maps values to places in a plot. The horizontal axis shows square roots, which spreads small shares."""

    most_percent: float
    most_m: float
    step_m: float

    @classmethod
    def of(cls, rows: Sequence[FrontierRow]) -> _Scale:
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


def as_svg(rows: Sequence[FrontierRow], *, title: str, notes: Sequence[str] = (), notice: str = NOTICE) -> bytes:
    """Draw rows, one panel for each k and m (or delta).

    Args:
        rows: All combinations, at least one.
        title: Name of the data that was anonymized.
        notes: More lines below the panels.
        notice: The last line: whether the picture may be published.
    """
    panels = [list(panel) for _, panel in groupby(sorted(rows, key=lambda row: row.panel), key=lambda row: row.panel)]
    # One line of panels for each k; if each line would have a single panel, up to three panels in a line.
    columns = len({row.panel[1] for row in rows})
    columns = min(len(panels), 3) if columns == 1 else columns
    promises = list(dict.fromkeys(row.promise for row in rows))
    scale, noun = _Scale.of(rows), "visits" if rows[0].m is not None else "points"
    heading = f"What anonymity costs: {title}"
    described = (
        f"{len(panels)} panels. Each shows models. Horizontal axis: share of {noun} that are not released. Vertical "
        f"axis: mean distance between released {noun} and their original positions. {_in_words(rows)}"
    )
    legend = list(_legend(promises, noun, [row.status for row in rows], [*notes, notice]))
    width = max(columns * (_LEFT + WIDTH + GAP), _NARROWEST)
    foot = _TOP + -(-len(panels) // columns) * (HEIGHT + _BELOW)
    height = foot + len(legend) * 19 + 8
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(heading)}</title>',
        f'<desc id="desc">{escape(described)}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="h" x="14" y="28">{escape(heading)}</text>',
        f'<text class="s" x="14" y="47">vertical: mean distance between released {noun} and their original positions; '
        f"horizontal: share of {noun} not released</text>",
    ]
    for i, panel in enumerate(panels):
        at = _LEFT + i % columns * (_LEFT + WIDTH + GAP), _TOP + i // columns * (HEIGHT + _BELOW)
        parts.append(f'<g transform="translate({at[0]:g} {at[1]:g})">')
        parts += _panel(panel, scale, promises, noun)
        parts.append("</g>")
    parts += [f'<g transform="translate(14 {foot + 19 * i:g})">{line}</g>' for i, line in enumerate(legend)]
    return "\n".join([*parts, "</svg>", ""]).encode()


def _panel(rows: Sequence[FrontierRow], scale: _Scale, promises: Sequence[str], noun: str) -> Iterator[str]:
    first = rows[0]
    name = f"k = {first.k}, " + (f"m = {first.m}" if first.m is not None else f"delta = {first.delta_m:g} m")
    yield f'<text class="p" x="0" y="-8">{name}</text>'
    missing = [row.model for row in rows if row.losses is None]
    if missing:
        yield f'<text class="s e" x="{WIDTH:g}" y="-8">nothing released: {escape(", ".join(missing))}</text>'
    yield from _axes(scale, noun)
    at = [(row, scale.x(row.losses[0]), scale.y(row.losses[1])) for row in rows if row.losses is not None]
    corners = sorted((x, y) for row, x, y in at if row.frontier)
    if corners:
        path = f"M{corners[0][0]:.1f} 0V{corners[0][1]:.1f}"
        path += "".join(f"H{x:.1f}V{y:.1f}" for x, y in corners[1:])
        yield f'<path class="front" d="{path}H{WIDTH:g}"/>'
    names, leads = [], []
    for (row, x, y), box in zip(at, places([LabelPoint(x, y, row.model) for row, x, y in at]), strict=True):
        to = min(max(x, box.left), box.right), (box.top + box.bottom) / 2
        if abs(to[0] - x) + abs(to[1] - y) > 19:  # a name close to its point needs no line
            leads.append(f'<path class="lead" d="M{x:.1f} {y:.1f}L{to[0]:.1f} {to[1]:.1f}"/>')
        # The width of letters is estimated, so a name at the left of its point is aligned by its right edge.
        side, edge = (" e", box.right) if box.right <= x else ("", box.left)
        names.append(f'<text class="name{side}" x="{edge:.1f}" y="{box.bottom - 3.5:.1f}">{escape(row.model)}</text>')
    yield from leads
    # Draw filled points last, on top: if several points are at one place, the best of a promise stays visible.
    for row, x, y in sorted(at, key=lambda point: point[0].frontier_of_promise):
        number = promises.index(row.promise)
        full = " full" if row.frontier_of_promise else ""
        yield (
            f'<path class="dot{full} c{number % 6}" transform="translate({x:.1f} {y:.1f})" d="{_SHAPES[number % 6]}">'
            f"<title>{escape(_sentence(row))}</title></path>"
        )
    yield from names


def _axes(scale: _Scale, noun: str) -> Iterator[str]:
    n = int(scale.most_m / scale.step_m + 1e-9)
    for i in range(n + 1):
        y = scale.y(i * scale.step_m)
        yield f'<path class="grid" d="M0 {y:.1f}H{WIDTH:g}"/>'
        yield f'<text class="s e" x="-7" y="{y + 4:.1f}">{i * scale.step_m:,.10g} m</text>'
    for tick in _TICKS:
        if tick <= scale.most_percent:
            x = scale.x(tick)
            yield f'<path class="grid" d="M{x:.1f} 0V{HEIGHT:g}"/>'
            yield f'<text class="s c" x="{x:.1f}" y="{HEIGHT + 16:g}">{tick} %</text>'
    yield f'<path class="edge" d="M0 0V{HEIGHT:g}H{WIDTH:g}"/>'
    yield f'<text class="s e" x="{WIDTH:g}" y="{HEIGHT + 33:g}">{noun} not released (square roots)</text>'


def _legend(promises: Sequence[str], noun: str, statuses: Sequence[str], notes: Sequence[str]) -> Iterator[str]:
    x, parts = 6.0, []
    for number, promise in enumerate(promises):
        shape = f'<path class="dot full c{number % 6}" transform="translate({x:g} -4)" d="{_SHAPES[number % 6]}"/>'
        parts.append(f'{shape}<text x="{x + 11:g}" y="0">{escape(promise)}</text>')
        x += 11 + len(promise) * CHAR + 22
    yield "".join(parts)
    yield (
        '<text class="s" x="0" y="0">Each shape is a promise; only models of one shape protect people alike. '
        "Filled: on the frontier of its shape.</text>"
    )
    yield (
        '<path class="front" d="M0 -4H26"/><text class="s" x="33" y="0">the frontier: no other model is lower on one '
        "axis and at most as high on the other</text>"
    )
    if "partial" in statuses:
        yield '<text x="0" y="0">The run was ended early: only the windows before that are shown.</text>'
    yield from (f'<text class="s" x="0" y="0">{escape(note)}</text>' for note in notes)


def _sentence(row: FrontierRow) -> str:
    share, distance_m = row.losses or (0.0, 0.0)
    return f"{row.model}: {share:.3g} % not released, {distance_m:,.0f} m"


def _in_words(rows: Sequence[FrontierRow]) -> str:
    """Describe the frontier in words, for readers of the picture's text description."""
    panels = dict.fromkeys(row.panel for row in rows)
    parts = []
    for panel in panels:
        on = [_sentence(row) for row in rows if row.panel == panel and row.frontier]
        axis = "m" if rows[0].m is not None else "delta"
        parts.append(f"k {panel[0]}, {axis} {panel[1]:g}: {'; '.join(on) or 'nothing released'}.")
    return "On the frontier: " + " ".join(parts)
