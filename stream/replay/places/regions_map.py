"""The map of found regions, as one SVG file: outlines, names and a scale bar, without a map below.

It is drawn without a library and from the regions alone, so it shows nothing that their file does not have. The same
regions give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import cos, floor, log10, radians

import numpy as np
from shapely import Polygon
from shapely.affinity import affine_transform

from core.places.found_regions import FoundRegion
from core.places.geo import mean_position
from core.places.locate import EARTH_MERIDIAN_M
from core.places.outlines import parts_of, uncut
from stream.replay.picture_labels import CHAR, Box

__all__ = ["regions_as_svg"]

_WIDE, _TALLEST = 860.0, 860.0
"""Width and greatest height of the map, pixels."""

_TOP, _EDGE, _BELOW = 62.0, 44.0, 58.0
"""Pixels for the heading, around the regions, and for the scale."""

_LINE = 12.0
"""Height of a name, pixels."""

_AWAY = (0.0, 3.0, 12.0, 24.0, 40.0, 60.0, 85.0, 115.0, 150.0)
"""How far a name may be from its region, pixels; 0 is in the middle of it."""

_DIRECTIONS = ((1, 0), (-1, 0), (0, -1), (0, 1), (1, -1), (-1, -1), (1, 1), (-1, 1))

_STYLE = """
svg{--paper:#fff;--ink:#14262d;--soft:#465a62;--edge:#0b5d6e;--fill:#0b7285;font-family:system-ui,sans-serif}
@media(prefers-color-scheme:dark){svg{--paper:#0f191d;--ink:#e6eef0;--soft:#a9bac0;--edge:#7fd3e3;--fill:#4dc4d8}}
.paper{fill:var(--paper)}text{fill:var(--ink);font-size:11.5px}.h{font-size:17px;font-weight:600}.s{fill:var(--soft)}
.region{fill:var(--fill);stroke:var(--edge);stroke-width:1.1;fill-rule:evenodd}
.lead{stroke:var(--soft);stroke-width:.7}.bar{stroke:var(--ink);stroke-width:1.6;fill:none}
.name{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round;text-anchor:middle}
"""


def regions_as_svg(regions: Sequence[FoundRegion], *, title: str, subtitle: str) -> bytes:
    """Draw regions; the more people, the darker.

    Args:
        regions: At least one.
        title: The heading.
        subtitle: How the regions were found.
    """
    placed, metres_per_pixel, height = _placed(regions)
    most = max(region.people for region in regions)
    whole = _TOP + height + _BELOW
    full_width = _WIDE + 2 * _EDGE
    described = f"{len(regions)} regions, from north to south: " + ", ".join(
        f"{region.name} with {region.people:,} people or more" for region in regions
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {full_width:g} {whole:.0f}" width="{full_width:g}" '
        f'height="{whole:.0f}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(described)}</desc>',
        f"<style>{_STYLE}</style>",
        '<rect class="paper" width="100%" height="100%"/>',
        f'<text class="h" x="14" y="28">{escape(title)}</text>',
        f'<text class="s" x="14" y="47">{escape(subtitle)}</text>',
        f'<g transform="translate({_EDGE:g} {_TOP:g})">',
    ]
    for region, polygons in zip(regions, placed, strict=True):
        path = "".join(_path(polygon) for polygon in polygons)
        shade = 0.2 + 0.65 * region.people / max(most, 1)
        parts.append(
            f'<path class="region" fill-opacity="{shade:.2f}" d="{path}">'
            f"<title>{escape(region.name)}: {region.people:,} people or more</title></path>"
        )
    parts += _names(regions, placed, height)
    parts.append("</g>")
    parts += _scale(metres_per_pixel, whole - 22.0)
    return "\n".join([*parts, "</svg>", ""]).encode()


def _placed(regions: Sequence[FoundRegion]) -> tuple[list[list[Polygon]], float, float]:
    """Return the polygons of each region in pixels, the metres of one pixel, and the height of the map."""
    areas = [uncut(region.area) for region in regions]
    middles = np.array([area.centroid.coords[0] for area in areas])
    mid_lat, mid_lon = mean_position(middles[:, 1], middles[:, 0])
    # Around the middle of all regions, which may be on both sides of the antimeridian.
    turns = np.round((middles[:, 0] - mid_lon) / 360.0) * 360.0
    narrow = max(cos(radians(mid_lat)), 1e-3)
    flat = [
        affine_transform(area, [narrow, 0, 0, -1, -(mid_lon + turn) * narrow, 0])
        for area, turn in zip(areas, turns.tolist(), strict=True)
    ]
    bounds = np.array([area.bounds for area in flat])
    west, north = bounds[:, 0].min(), bounds[:, 1].min()
    wide, high = bounds[:, 2].max() - west, bounds[:, 3].max() - north
    pixels = min(_WIDE / wide, _TALLEST / high)
    left = (_WIDE - wide * pixels) / 2
    moved = [affine_transform(area, [pixels, 0, 0, pixels, left - west * pixels, -north * pixels]) for area in flat]
    return [parts_of(area) for area in moved], EARTH_MERIDIAN_M / pixels, high * pixels


def _path(polygon: Polygon) -> str:
    rings = [polygon.exterior, *polygon.interiors]
    return "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in ring.coords[:-1]) + "Z" for ring in rings)


def _names(regions: Sequence[FoundRegion], placed: Sequence[Sequence[Polygon]], height: float) -> Iterator[str]:
    """Yield the names where they hide no other name: in their region if it is large enough, else near it."""
    bodies = [Box(*max(polygons, key=lambda one: one.area).bounds) for polygons in placed]
    names: list[Box] = []
    for i in sorted(range(len(regions)), key=lambda i: -(bodies[i].right - bodies[i].left)):
        width, body = len(regions[i].name) * CHAR, bodies[i]
        others = [box for j, box in enumerate(bodies) if j != i]
        tried = [
            (any(box.meets(name) for name in names), sum(box.meets(other) for other in others), number, away, box)
            for number, (away, box) in enumerate(_boxes(body, width, height))
        ]
        *_, away, box = min(tried, key=lambda one: one[:3])
        names.append(box)
        x, y = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        if away > _AWAY[1]:
            to = min(max(x, body.left), body.right), min(max(y, body.top), body.bottom)
            yield f'<path class="lead" d="M{x:.1f} {y:.1f}L{to[0]:.1f} {to[1]:.1f}"/>'
        yield f'<text class="name" x="{x:.1f}" y="{box.bottom - 2.5:.1f}">{escape(regions[i].name)}</text>'


def _boxes(body: Box, width: float, height: float) -> Iterator[tuple[float, Box]]:
    """Yield places for a name, the best first, with their distance from the region."""
    middle = (body.left + body.right) / 2, (body.top + body.bottom) / 2
    for away in _AWAY:
        fits = width + 4 < body.right - body.left and body.bottom - body.top > _LINE + 4
        if away == 0.0 and not fits:
            continue
        for east, south in _DIRECTIONS if away else ((0, 0),):
            x = middle[0] + east * ((body.right - body.left + width) / 2 + away)
            y = middle[1] + south * ((body.bottom - body.top + _LINE) / 2 + away)
            box = Box(x - width / 2, y - _LINE / 2, x + width / 2, y + _LINE / 2)
            if box.left > -_EDGE and box.right < _WIDE + _EDGE and box.top > -8 and box.bottom < height + 12:
                yield away, box
    yield _AWAY[-1], Box(middle[0] - width / 2, middle[1] - _LINE / 2, middle[0] + width / 2, middle[1] + _LINE / 2)


def _scale(metres_per_pixel: float, y: float) -> Iterator[str]:
    rough_m = metres_per_pixel * _WIDE / 4
    unit_m = 10.0 ** floor(log10(rough_m))
    length_m = max(factor * unit_m for factor in (1, 2, 5) if factor * unit_m <= rough_m)
    shown = f"{length_m / 1000:,.10g} km" if length_m >= 1000 else f"{length_m:.10g} m"
    end = _EDGE + length_m / metres_per_pixel
    yield f'<path class="bar" d="M{_EDGE:g} {y - 5:.1f}V{y:.1f}H{end:.1f}V{y - 5:.1f}"/>'
    yield f'<text x="{end + 8:.1f}" y="{y:.1f}">{shown}</text>'
    yield f'<text class="s" x="{end + 70:.1f}" y="{y:.1f}">north is up; the more people, the darker</text>'
