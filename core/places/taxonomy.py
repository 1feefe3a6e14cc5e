"""Taxonomies: how alike locations are in meaning, and which may be generalized together.

A taxonomy is a tree of categories; locations are its leaves. It comes from the publisher (rows of category and
parent, and the category of each venue) or from the locations themselves (H3 parents, grid quadrants).
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from core.records.arrays import FloatArray, IntArray

__all__ = ["BELOW", "Categories", "LocationTree", "Path", "TaxonomyError"]

BELOW = " > "
"""Stands between a category and the one below it, in the name of a category that comes from a path."""

Path = tuple[Hashable, ...]
"""Nodes from below the root down to a location's own category, the coarsest first; empty at the root."""


class TaxonomyError(ValueError):
    """A taxonomy is not a tree, or lacks a category; the message says what was found and what is allowed."""


@dataclass(frozen=True, slots=True)
class Categories:
    """A tree of named categories.

    Raises:
        TaxonomyError: A parent is unknown, or categories are their own ancestors.
    """

    parent_of: Mapping[str, str | None]
    """The parent of each category, None for those below the root."""

    _paths: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for category in self.parent_of:
            self._walk(category)

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[str, str]]) -> Categories:
        """Build the tree from rows of category and parent; an empty parent is the root.

        Raises:
            TaxonomyError: A category has no name or two parents, or the rows form no tree.
        """
        parent_of: dict[str, str | None] = {}
        for category, parent in rows:
            if not category:
                raise TaxonomyError("a category has no name: every row needs one")
            known = parent_of.setdefault(category, parent or None)
            if known != (parent or None):
                raise TaxonomyError(f"category {category!r} has two parents: it must have one")
        return cls(parent_of)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[str]]) -> Categories:
        """Build the tree that holds some paths, each from below the root down; a category is named by its whole path.

        >>> Categories.from_paths([("Food", "Bakery")]).parent_of
        {'Food': None, 'Food > Bakery': 'Food'}
        """
        parent_of: dict[str, str | None] = {}
        for path in paths:
            parent = None
            for length in range(1, len(path) + 1):
                category = BELOW.join(path[:length])
                parent_of[category] = parent
                parent = category
        return cls(parent_of)

    def path(self, category: str) -> tuple[str, ...]:
        """Return the categories from below the root down to this one.

        Raises:
            KeyError: The tree does not contain the category.
        """
        return self._paths[category]

    def _walk(self, category: str) -> tuple[str, ...]:
        below: list[str] = []
        at: str | None = category
        while at is not None and at not in self._paths:
            if at in below:
                raise TaxonomyError(f"category {at!r} is its own ancestor: a taxonomy has no cycles")
            if at not in self.parent_of:
                raise TaxonomyError(f"category {at!r} is a parent but has no row of its own: add one")
            below.append(at)
            at = self.parent_of[at]
        path = () if at is None else self._paths[at]
        for name in reversed(below):
            path = (*path, name)
            self._paths[name] = path
        return self._paths[category]


class LocationTree:
    """The taxonomy over the locations of one window, which are its leaves, numbered as in the vocabulary.

    Args:
        paths: For each location the nodes above it, coarsest first, ``L`` of them.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.n_leaves = len(paths)
        depth = max(map(len, paths), default=0) + 1
        number: dict[Path, int] = {}
        nodes = np.full((len(paths), depth), -1, dtype=np.int64)
        for location, path in enumerate(paths):
            for level in range(len(path)):
                nodes[location, level] = number.setdefault(path[: level + 1], len(number))
            nodes[location, len(path)] = len(number)
            number[*path, ("location", location)] = len(number)
        self._nodes: IntArray = nodes  # (L, depth) ancestors of each location, itself last, then -1
        self._leaves = np.bincount(nodes[nodes >= 0], minlength=len(number)).astype(np.int64)

    def common(self, paths: IntArray, path: IntArray) -> IntArray:
        """Cut paths to the beginning that they share with another path.

        Args:
            paths: Rows of nodes, padded by -1, shape ``(n, depth)``.
            path: One such row, shape ``(depth,)``.

        Returns:
            The shared beginnings, padded by -1, shape ``(n, depth)``.
        """
        same = np.logical_and.accumulate(paths == path, axis=-1)
        return np.where(same, paths, -1)

    def rows(self) -> IntArray:
        """Return the path of every location, padded by -1, a copy of shape ``(L, depth)``."""
        return self._nodes.copy()

    def leaves(self, paths: IntArray) -> IntArray:
        """Count the locations below the last node of each path; an empty path is the root, which is above all of them.

        Args:
            paths: Rows as :meth:`common` returns them, shape ``(n, depth)``.

        Returns:
            ``CCA(l')`` of Definition 7, shape ``(n,)``.
        """
        lengths = (paths >= 0).sum(axis=1)
        last = paths[np.arange(len(paths)), np.maximum(lengths - 1, 0)]
        return np.where(lengths > 0, self._leaves[np.maximum(last, 0)], self.n_leaves)

    def dissimilarity(self, group_of: IntArray) -> FloatArray:
        """Return the semantic dissimilarity of the generalized location of each location.

        ``SD(l') = CCA(l') / |H|``: the leaves below the closest common ancestor of the members, over all leaves
        (Poulis et al. 2014, Definition 7). A location that is not merged is its own ancestor: ``1 / |H|``.

        Args:
            group_of: Generalized location of each location, shape ``(L,)``.

        Returns:
            Values in ``(0, 1]``, shape ``(L,)``.
        """
        paths = self.rows()
        for location, group in enumerate(group_of.tolist()):
            paths[group] = self.common(paths[group], self._nodes[location])
        return self.leaves(paths)[group_of] / self.n_leaves
