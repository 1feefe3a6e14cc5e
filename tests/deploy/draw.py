"""A picture of a dashboard without Grafana: its panels, from its JSON, with what a Prometheus answers.

``python -m tests.deploy.draw DASHBOARD.json http://127.0.0.1:9090 PICTURE.svg [MINUTES]``
"""

from __future__ import annotations

import itertools
import json
import math
import re
import sys
import time
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from tests.deploy.prometheus import Prometheus, Series
from tests.deploy.promql import filled, panels_of

_CELL_W, _CELL_H, _GAP, _MARGIN = 58, 34, 6, 12
_COLORS = [f"hsl({(95 + 137 * n) % 360},60%,62%)" for n in range(20)]
_STEPS = 180
"""Points of a line; as Grafana does on a wide screen, roughly."""

_SCALES: dict[str, list[tuple[float, str]]] = {
    "s": [(86_400, " d"), (3_600, " h"), (60, " min"), (1, " s"), (0.001, " ms")],
    "bytes": [(2**30, " GiB"), (2**20, " MiB"), (2**10, " KiB"), (1, " B")],
    "lengthm": [(1_000, " km"), (1, " m")],
    "percentunit": [(0.01, " %")],
    "recps": [(1_000, "K rec/s"), (1, " rec/s")],
    "ops": [(1, " ops/s")],
    "short": [(1e6, " Mil"), (1e3, " K"), (1, "")],
    "none": [(1, "")],
}


def in_unit(value: float, unit: str) -> str:
    """Return a number as Grafana shows it, roughly.

    >>> in_unit(0.25, "s"), in_unit(90, "s"), in_unit(0.0625, "percentunit"), in_unit(0, "bytes")
    ('250 ms', '1.5 min', '6.25 %', '0 B')
    """
    scales = _SCALES[unit]
    size, sign = next((scale for scale in scales if abs(value) >= scale[0]), (1, dict(scales).get(1, " %")))
    return f"{value / size:.4g}{sign}"


def draw(dashboard: Path, prometheus: Prometheus, *, since_s: float, until_s: float) -> str:
    """Return a dashboard, by the file of its JSON, as SVG, from one Unix time to another."""
    document = json.loads(dashboard.read_text(encoding="utf-8"))
    rows = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in panels_of(document))
    width, height = 24 * _CELL_W + 2 * _MARGIN, rows * _CELL_H + 2 * _MARGIN + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'font-family="Inter, Helvetica, Arial, sans-serif" font-size="11" fill="#ccccdc">',
        f'<rect width="{width}" height="{height}" fill="#111217"/>',
        _text(_MARGIN, 28, document["title"], size=18),
    ]
    for panel in panels_of(document):
        at = panel["gridPos"]
        x, y = _MARGIN + at["x"] * _CELL_W, _MARGIN + 30 + at["y"] * _CELL_H
        parts.append(f'<g transform="translate({x} {y})">')
        if panel["type"] == "row":
            parts.append(_text(2, 22, panel["title"], size=14))
        else:
            w, h = at["w"] * _CELL_W - _GAP, at["h"] * _CELL_H - _GAP
            parts.append(f'<rect width="{w}" height="{h}" rx="2" fill="#181b1f" stroke="#2a2d33"/>')
            parts.append(_text(8, 18, panel["title"], size=13))
            lines = _asked(panel, prometheus, since_s, until_s)
            look = _figures if panel["type"] == "stat" else _plot
            parts += look(panel, lines, w, h, since_s, until_s)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>", ""])


def _asked(
    panel: dict[str, Any], prometheus: Prometheus, since_s: float, until_s: float
) -> list[tuple[str, str, Series]]:
    """Return the letter of the query, the legend and the values of each line, in the order of the legends."""
    step_s = max(5.0, (until_s - since_s) / _STEPS)
    found = []
    for target in panel["targets"]:
        expression = filled(target["expr"], step=f"{max(30, round(4 * step_s))}s", shown=f"{round(until_s - since_s)}s")
        for one in prometheus.ask(expression, since_s=since_s, until_s=until_s, step_s=step_s):
            legend = re.sub(r"\{\{(\w+)\}\}", lambda name: one.labels.get(name[1], ""), target["legendFormat"])  # noqa: B023
            found.append((target["refId"], legend.strip(), one))
    return sorted(found, key=lambda line: line[:2])


def _figures(
    panel: dict[str, Any], lines: list[tuple[str, str, Series]], w: float, h: float, *_: float
) -> Iterator[str]:
    defaults, names_only = panel["fieldConfig"]["defaults"], panel["options"]["textMode"] == "name"
    steps = (defaults.get("thresholds") or {}).get("steps") or [{"value": None, "color": "#ccccdc"}]
    each = (h - 30) / max(len(lines), 1)
    for number, (_letter, legend, one) in enumerate(lines):
        value, middle = one.points[-1][1], 30 + (number + 0.5) * each
        color = [step["color"] for step in steps if step["value"] is None or value >= step["value"]][-1]
        if names_only:
            yield _text(12, middle + 5, legend, size=14)
        else:
            yield _text(12, middle + 5, legend, size=12)
            figure = in_unit(round(value, defaults.get("decimals")), defaults["unit"])
            yield _text(w - 12, middle + 9, figure, size=26, anchor="end", fill={"green": "#73bf69"}.get(color, color))


def _plot(
    panel: dict[str, Any], lines: list[tuple[str, str, Series]], w: float, h: float, since_s: float, until_s: float
) -> Iterator[str]:
    defaults, options = panel["fieldConfig"]["defaults"], panel["fieldConfig"].get("overrides") or []
    custom, unit = defaults.get("custom") or {}, defaults["unit"]
    dashed = {one["matcher"]["options"] for one in options}
    stacked = (custom.get("stacking") or {}).get("mode") == "normal"
    if not lines:
        yield _text(w / 2, h / 2, "No data", size=14, anchor="middle")
        return
    base: dict[float, float] = {}
    drawn = []
    for letter, legend, one in lines:
        points = [(at, value + base.get(at, 0.0)) for at, value in one.points] if stacked else one.points
        base |= dict(points) if stacked else {}
        drawn.append((letter, legend, points))
    legend_rows = _legend_rows([legend for _, legend, _ in drawn], w)
    left, right, top, bottom = 62, w - 12, 32, h - 22 - 15 * len(legend_rows)
    highest = max(value for _, _, points in drawn for _, value in points) or 1.0
    size = next((size for size, _ in _SCALES[unit] if size <= highest), 1)
    step = _nice(highest / size / 3) * size
    limit = step * math.ceil(highest / step + (0 if unit == "percentunit" else 0.05))

    def place(at: float, value: float) -> str:
        x = left + (at - since_s) / (until_s - since_s) * (right - left)
        return f"{x:.1f},{bottom - value / limit * (bottom - top):.1f}"

    for n in range(round(limit / step) + 1):
        y = bottom - n * step / limit * (bottom - top)
        yield f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#2a2d33"/>'
        yield _text(left - 6, y + 4, in_unit(n * step, unit), anchor="end")
    for n in range(5):
        at = since_s + (until_s - since_s) * (n + 0.5) / 5
        label = time.strftime("%H:%M:%S" if until_s - since_s < 3600 else "%H:%M", time.gmtime(at))
        yield _text(left + (right - left) * (n + 0.5) / 5, bottom + 15, label, anchor="middle")
    gap_s = 3 * max(5.0, (until_s - since_s) / _STEPS)
    for number, (letter, _, points) in sorted(enumerate(drawn), key=lambda line: (line[1][0] in dashed, -line[0])):
        color, dashes = _COLORS[number % len(_COLORS)], ' stroke-dasharray="8 6"' if letter in dashed else ""
        for piece in _pieces(points, gap_s):
            way = " ".join(place(at, value) for at, value in piece)
            if letter not in dashed:
                area = f"{place(piece[0][0], 0)} {way} {place(piece[-1][0], 0)}"
                yield f'<polygon points="{area}" fill="{color}" fill-opacity="{custom.get("fillOpacity", 0) / 100}"/>'
            yield f'<polyline points="{way}" fill="none" stroke="{color}" stroke-width="1.5"{dashes}/>'
    for step_of in (defaults.get("thresholds") or {}).get("steps") or []:
        if custom.get("thresholdsStyle") and step_of["value"] is not None and step_of["value"] <= limit:
            ends = f"{place(since_s, step_of['value'])} {place(until_s, step_of['value'])}"
            yield f'<polyline points="{ends}" stroke="{step_of["color"]}" stroke-dasharray="4 4"/>'
    names = itertools.count()
    for row, legends in enumerate(legend_rows):
        x, y = 12.0, bottom + 33 + 15 * row
        for legend in legends:
            yield f'<rect x="{x}" y="{y - 5}" width="12" height="3" fill="{_COLORS[next(names) % len(_COLORS)]}"/>'
            yield _text(x + 17, y, legend)
            x += 30 + 6 * len(legend)


def _legend_rows(legends: list[str], width: float) -> list[list[str]]:
    rows: list[list[str]] = [[]]
    for legend in legends:
        if rows[-1] and sum(30 + 6 * len(one) for one in [*rows[-1], legend]) > width - 12:
            rows.append([])
        rows[-1].append(legend)
    return rows


def _pieces(points: list[tuple[float, float]], gap_s: float) -> Iterator[list[tuple[float, float]]]:
    cuts = [n for n, (one, other) in enumerate(itertools.pairwise(points), 1) if other[0] - one[0] > gap_s]
    for first, last in itertools.pairwise([0, *cuts, len(points)]):
        yield points[first:last]


def _nice(step: float) -> float:
    size: float = 10 ** math.floor(math.log10(step))
    return next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= step * 0.999)


def _text(x: float, y: float, text: str, *, size: int = 11, anchor: str = "start", fill: str = "#ccccdc") -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}">{escape(text)}</text>'
    )


if __name__ == "__main__":
    _minutes = float(sys.argv[4]) if len(sys.argv) > 4 else 60.0
    Path(sys.argv[3]).write_text(
        draw(Path(sys.argv[1]), Prometheus(sys.argv[2]), since_s=time.time() - 60 * _minutes, until_s=time.time())
    )
