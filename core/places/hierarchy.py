"""Hierarchies as rows of category and parent: what is wrong with one, its shape, and balanced ones.

:class:`core.places.taxonomy.Categories` refuses the first fault. Here all faults are found, so that whoever maintains a
hierarchy can mend them at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

__all__ = ["Row", "TreeShape", "balanced_rows", "children_of", "faults_of", "shape_of"]

Row = tuple[str, str]
"""A category and its parent; an empty parent is the root, which has no row."""

_NAMED = 3
"""Most names that a fault lists."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeShape:
    """The size of a hierarchy."""

    nodes: int
    leaves: int
    """Nodes that are no parent."""

    tops: int
    """Nodes right below the root."""

    depth: int
    """Nodes of the longest path below the root."""

    fan_out: int
    """Most children of a node, or of the root."""


def children_of(rows: Iterable[Row]) -> dict[str, list[str]]:
    """Return the children of each parent, in the order of the rows; the root is the empty name."""
    children: dict[str, list[str]] = defaultdict(list)
    for category, parent in dict.fromkeys(rows):
        children[parent].append(category)
    return dict(children)


def faults_of(
    rows: Sequence[Row],
    *,
    wanted: Collection[str] = (),
    max_depth: int | None = None,
    max_fan_out: int | None = None,
    one_top: bool = False,
) -> list[str]:
    """Find everything that is wrong with a hierarchy, one sentence for each kind of fault.

    Args:
        rows: Rows of category and parent.
        wanted: Names that must be in it, such as the categories of a file of venues.
        max_depth: Most nodes of a path below the root; None to allow any.
        max_fan_out: Most children of a node; None to allow any.
        one_top: Whether only one category may be without a parent.

    >>> faults_of([("a", "b"), ("b", "a"), ("c", "")], wanted=["c", "d"])
    ["2 categories are their own ancestors: 'a', 'b'", "1 name has no row: 'd'"]
    """
    faults: list[str] = []
    if not rows:
        faults.append("the hierarchy is empty: it needs at least one row")
    if any(not category for category, _ in rows):
        faults.append("a category has no name: every row needs one")
        rows = [row for row in rows if row[0]]
    parents: dict[str, set[str]] = defaultdict(set)
    for category, parent in rows:
        parents[category].add(parent)
    _say(
        faults, [one for one, its in parents.items() if len(its) > 1], "category has", "categories have", "two parents"
    )
    unknown = [parent for its in parents.values() for parent in its if parent and parent not in parents]
    _say(faults, unknown, "parent has", "parents have", "no row of its own")
    _say(faults, _on_cycles(parents), "category is", "categories are", "their own ancestors")
    tops = [one for one, its in parents.items() if "" in its]
    if one_top and len(tops) > 1:
        _say(faults, tops, "category has", "categories have", "no parent, and only one may")
    _say(faults, [one for one in wanted if one not in parents], "name has", "names have", "no row")
    if max_fan_out is not None:
        wide = [one or "(root)" for one, its in children_of(rows).items() if len(its) > max_fan_out]
        _say(faults, wide, "node has", "nodes have", f"more than {max_fan_out} children")
    if max_depth is not None and not faults:
        deep = [one for one, path in _depths(rows).items() if path > max_depth]
        _say(faults, deep, "category is", "categories are", f"deeper than {max_depth}")
    return faults


def _say(faults: list[str], names: Sequence[str], one: str, several: str, what: str) -> None:
    """Add a sentence about some names, if there are any."""
    if names := list(dict.fromkeys(names)):
        listed = ", ".join(map(repr, names[:_NAMED])) + (", ..." if len(names) > _NAMED else "")
        faults.append(f"{len(names):,} {one if len(names) == 1 else several} {what}: {listed}")


def _on_cycles(parents: Mapping[str, AbstractSet[str]]) -> list[str]:
    """Return the categories that are their own ancestors, after all that have a path from the root are taken away."""
    n_parents = {one: sum(parent in parents for parent in its) for one, its in parents.items()}
    children: dict[str, list[str]] = defaultdict(list)
    for one, its in parents.items():
        for parent in its:
            children[parent].append(one)
    free = [one for one, n in n_parents.items() if n == 0]
    below_cycles = set(parents)
    while free:
        one = free.pop()
        below_cycles.discard(one)
        for child in children[one]:
            n_parents[child] -= 1
            if n_parents[child] == 0:
                free.append(child)
    # What is left is on a cycle or below one; only the former reaches itself.
    return [one for one in parents if one in below_cycles and _reaches(one, one, parents)]


def _reaches(start: str, goal: str, parents: Mapping[str, AbstractSet[str]]) -> bool:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent == goal:
                return True
            if parent not in seen:
                seen.add(parent)
                waiting.append(parent)
    return False


def _depths(rows: Sequence[Row]) -> dict[str, int]:
    """Return the length of the path to each node of a tree."""
    children = children_of(rows)
    depths: dict[str, int] = {}
    waiting = [(one, 1) for one in children.get("", [])]
    while waiting:
        one, depth = waiting.pop()
        depths[one] = depth
        waiting += [(child, depth + 1) for child in children.get(one, [])]
    return depths


def shape_of(rows: Sequence[Row]) -> TreeShape:
    """Describe a hierarchy without faults.

    >>> shape_of([("food", ""), ("bakery", "food"), ("bar", "food")])
    TreeShape(nodes=3, leaves=2, tops=1, depth=2, fan_out=2)
    """
    children = children_of(rows)
    nodes = {category for category, _ in rows}
    return TreeShape(
        nodes=len(nodes),
        leaves=sum(node not in children for node in nodes),
        tops=len(children.get("", [])),
        depth=max(_depths(rows).values(), default=0),
        fan_out=max(map(len, children.values()), default=0),
    )


def balanced_rows(leaves: Sequence[str], people: Sequence[AbstractSet[int]], *, k: int, fan_out: int) -> list[Row]:
    """Build a hierarchy in which every group of leaves had at least k people, and about as many as its siblings.

    A run of leaves is divided into ``fan_out`` runs with about equally many visits of different people, or into fewer,
    so that each still had at least k. A run that cannot be divided so is a group with all its leaves; it may have more
    than ``fan_out``.

    Args:
        leaves: Names of leaves, neighbours next to one another.
        people: Who was at each of them.
        k: Fewest distinct people of a group, at least 1.
        fan_out: Most groups of a group, at least 2.

    Returns:
        Rows of leaves and groups; groups are named ``group 1``, ``group 1.2`` and so on. If all leaves together had
        fewer than k people, there is one group.

    >>> balanced_rows(["a", "b", "c", "d"], [{1, 2}, {3}, {4, 5}, {6}], k=3, fan_out=2)[:2]
    [('group 1', ''), ('a', 'group 1')]
    """
    if fan_out < 2 or k < 1:
        raise ValueError(f"k is {k} and fan_out {fan_out}: k must be at least 1, fan_out at least 2")
    taken = set(leaves)
    rows: list[Row] = []
    parts = _divided(0, len(leaves), people, k=k, fan_out=fan_out) or ([(0, len(leaves))] if leaves else [])
    waiting = [(f"group {number}", "", *part) for number, part in enumerate(parts, start=1)]
    while waiting:
        name, parent, first, end = waiting.pop(0)
        while name in taken:
            name += "'"
        rows.append((name, parent))
        parts = _divided(first, end, people, k=k, fan_out=fan_out) if end - first > fan_out else []
        if not parts:
            rows += [(leaf, name) for leaf in leaves[first:end]]
        waiting = [(f"{name}.{number}", name, *part) for number, part in enumerate(parts, start=1)] + waiting
    return rows


def _divided(
    first: int, end: int, people: Sequence[AbstractSet[int]], *, k: int, fan_out: int
) -> list[tuple[int, int]]:
    """Divide a run of leaves into as many runs as k allows; none if it cannot be divided."""
    weights = [len(people[leaf]) for leaf in range(first, end)]
    for n in range(min(fan_out, end - first), 1, -1):
        runs = _equal_runs(weights, n)
        found = [(first + start, first + stop) for start, stop in runs]
        if all(len(set().union(*people[start:stop])) >= k for start, stop in found):
            return found
    return []


def _equal_runs(weights: Sequence[int], n: int) -> list[tuple[int, int]]:
    """Cut a list into n runs of about equal weight, none empty."""
    total, before = sum(weights), 0
    bounds = [0]
    for index, weight in enumerate(weights):
        left_runs, left_items = n - len(bounds), len(weights) - index
        due = before + weight / 2 >= total * len(bounds) / n
        if index > bounds[-1] and left_runs and (due or left_items <= left_runs):
            bounds.append(index)
        before += weight
    return list(zip(bounds, [*bounds[1:], len(weights)], strict=True))
