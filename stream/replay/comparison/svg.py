"""Figures of matplotlib as SVG that adapts to dark screens and to paper, with a description, and always the same bytes.

Figures are drawn in the colours of :data:`PALETTE`. In the SVG each becomes a variable of CSS, which a page, or the
style of a file of its own, sets for light, dark and printed.
"""

from __future__ import annotations

import io
import re
from html import escape
from typing import TYPE_CHECKING

from stream.formats.input.encodings.extras import needs_extra

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["PALETTE", "SERIES", "STYLE", "as_file", "as_inline", "new_figure"]

_LIGHT = {
    "paper": "#fefefe",
    "ink": "#14262d",
    "soft": "#465a62",
    "line": "#dbe3e5",
    "edge": "#8fa3aa",
    "front": "#0b5d6e",
    **{"c0": "#0b7285", "c1": "#b35c00", "c2": "#5f3dc4", "c3": "#2b8a3e", "c4": "#c2255c", "c5": "#846a00"},
    **{"c6": "#1864ab", "c7": "#5c4033"},
}
_DARK = {
    "paper": "#0f191d",
    "ink": "#e6eef0",
    "soft": "#a9bac0",
    "line": "#2b3b41",
    "edge": "#6d828a",
    "front": "#7fd3e3",
    **{"c0": "#4dc4d8", "c1": "#ffa94d", "c2": "#b197fc", "c3": "#69db7c", "c4": "#f783ac", "c5": "#e8cf4a"},
    **{"c6": "#74c0fc", "c7": "#d9b8a5"},
}

PALETTE = _LIGHT
"""Colours to draw with, by the name of the variable that replaces each."""

SERIES = tuple(colour for name, colour in _LIGHT.items() if re.fullmatch(r"c\d", name))
"""Colours of lines and points."""

_PIXELS_PER_INCH = 72
"""SVG files of matplotlib have 72 units to the inch, so a unit is a pixel."""


def _variables(colours: dict[str, str]) -> str:
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


STYLE = (
    f":root{{color-scheme:light dark;{_variables(_LIGHT)}}}"
    f"@media screen and (prefers-color-scheme:dark){{:root{{{_variables(_DARK)}}}}}"
    'g[id*="name"] text{paint-order:stroke;stroke:var(--paper);stroke-width:3px;stroke-linejoin:round}'
)
"""CSS that gives the variables their colours; names of points stand clear of the lines below them."""


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure.

    Args:
        width: Pixels.
        height: Pixels.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    with needs_extra("report", "matplotlib"):
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra, loaded only where pictures are drawn
    return Figure(figsize=(width / _PIXELS_PER_INCH, height / _PIXELS_PER_INCH), dpi=_PIXELS_PER_INCH)


def as_inline(figure: Figure, *, title: str, described: str, prefix: str) -> str:
    """Write a figure as an element of an HTML page; the page has to have :data:`STYLE`.

    Args:
        figure: The figure.
        title: Its title, for readers of the page who do not see it.
        described: What it shows, in words.
        prefix: Letters that no other figure of the page has, for its ids.
    """
    return _element(figure, title, described, prefix, style="")


def as_file(figure: Figure, *, title: str, described: str) -> bytes:
    """Write a figure as an SVG file that stands alone; see :func:`as_inline`."""
    svg = _element(figure, title, described, "p", style=f"<style>{STYLE}svg{{background:var(--paper)}}</style>\n")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{svg}\n'.encode()


def _element(figure: Figure, title: str, described: str, prefix: str, *, style: str) -> str:
    import matplotlib as mpl  # noqa: PLC0415 - see `new_figure`

    out = io.StringIO()
    # Text stays text: it can be searched and read aloud. The salt makes ids the same in every run.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "shoal", "path.simplify": False}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = out.getvalue()
    svg = svg[svg.index("<svg") :].rstrip()
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Attributes of SVG 2; in points the picture would be a third larger.
    svg = svg.replace("xlink:href=", "href=").replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
    svg = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', svg)
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}-", svg)
    svg = re.sub(r"font-family: [^;\"]*|(font: [^;\"']*?)'[^;\"]*", _font, svg)
    for name, colour in PALETTE.items():
        svg = svg.replace(colour, f"var(--{name})")
    head, body = svg.split(">", 1)
    head += f' role="img" aria-labelledby="{prefix}-title {prefix}-desc"'
    about = f'<title id="{prefix}-title">{escape(title)}</title>\n<desc id="{prefix}-desc">{escape(described)}</desc>\n'
    return f"{head}>\n{about}{style}{body.lstrip()}"


def _font(found: re.Match[str]) -> str:
    """Name the reader's own font: no font is sent with the picture."""
    return f"{found[1]}system-ui, sans-serif" if found[1] else "font-family: system-ui, sans-serif"
