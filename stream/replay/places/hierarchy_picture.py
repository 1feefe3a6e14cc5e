"""Hierarchies as indented text, and as an SVG file of the same lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

from core.places.hierarchy import Row, children_of

__all__ = ["TreeLine", "hierarchy_as_svg", "hierarchy_lines"]

_LINE, _STEP, _CHAR = 18.0, 22.0, 7.0
"""Height of a line, width of a level and of a letter, pixels."""

_STYLE = """
svg{--paper:#fff;--ink:#14262d;--soft:#465a62;--edge:#0b7285;font-family:system-ui,sans-serif}
@media(prefers-color-scheme:dark){svg{--paper:#0f191d;--ink:#e6eef0;--soft:#a9bac0;--edge:#4dc4d8}}
.paper{fill:var(--paper)}text{fill:var(--ink);font-size:12px}.s{fill:var(--soft)}
path{stroke:var(--edge);stroke-width:1.2;fill:none}
"""


class TreeLine(NamedTuple):
    """One node of a hierarchy, after its parent."""

    depth: int
    """0 for nodes right below the root."""

    name: str
    n_leaves: int
    """Leaves below the node; 0 of a leaf."""

    n_hidden: int
    """Children that are not shown."""

    def __str__(self) -> str:
        """Return the name and what is below it."""
        if not self.n_leaves:
            return self.name
        hidden = f", {self.n_hidden:,} not shown" if self.n_hidden else ""
        return f"{self.name} ({self.n_leaves:,} {'leaf' if self.n_leaves == 1 else 'leaves'}{hidden})"


def hierarchy_lines(rows: Sequence[Row], *, depth: int | None = None, most: int = 20) -> list[TreeLine]:
    """Return the nodes of a hierarchy without faults, each after its parent, siblings in the order of the rows.

    Args:
        rows: Rows of category and parent.
        depth: Most levels; None for all.
        most: Most children shown of a node.
    """
    children = children_of(rows)
    n_leaves: dict[str, int] = {}
    for one in reversed(list(_preorder(children))):  # children before their parents
        below = children.get(one, [])
        n_leaves[one] = sum(max(1, n_leaves[child]) for child in below)
    lines: list[TreeLine] = []
    waiting = [(one, 0) for one in reversed(children.get("", [])[:most])]
    while waiting:
        one, level = waiting.pop()
        below = children.get(one, [])
        shown = [] if depth is not None and level + 1 >= depth else below[:most]
        lines.append(TreeLine(level, one, n_leaves[one], len(below) - len(shown)))
        waiting += [(child, level + 1) for child in reversed(shown)]
    return lines


def _preorder(children: dict[str, list[str]]) -> Iterator[str]:
    waiting = list(children.get("", []))
    while waiting:
        one = waiting.pop()
        yield one
        waiting += children.get(one, [])


def hierarchy_as_svg(lines: Sequence[TreeLine], *, title: str) -> bytes:
    """Draw the lines, each node joined with its parent. The same lines give the same bytes."""
    width = 60 + max((line.depth * _STEP + len(str(line)) * _CHAR for line in lines), default=200.0)
    width = max(width, 40 + len(title) * _CHAR)
    height = 60 + _LINE * len(lines)
    shapes: list[str] = []
    last_at: dict[int, float] = {}
    for number, line in enumerate(lines):
        x, y = 24 + _STEP * line.depth, 56 + _LINE * number
        if line.depth:
            shapes.append(f'<path d="M{x - _STEP + 4:g} {last_at[line.depth - 1] + 4:g}V{y - 4:g}H{x - 3:g}"/>')
        last_at[line.depth] = y
        kind = "" if line.n_leaves else ' class="s"'
        shapes.append(f'<text{kind} x="{x:g}" y="{y:g}">{escape(str(line))}</text>')
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
            f'height="{height:g}" role="img"><title>{escape(title)}</title><style>{_STYLE}</style>',
            f'<rect class="paper" width="{width:g}" height="{height:g}"/>',
            f'<text x="24" y="30">{escape(title)}</text>',
            *shapes,
            "</svg>\n",
        ]
    ).encode()
