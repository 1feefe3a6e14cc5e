"""The hierarchy above the locations of one window, as numbered nodes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from core.places.taxonomy import Path

__all__ = ["LocationNodes"]


class LocationNodes:
    """The nodes above the ``L`` locations of a window; a location is a node with its own number.

    A node with one branch in the window is left out, because it has the same locations as the branch.

    Args:
        paths: The nodes above each location, the coarsest first.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.n_locations = len(paths)
        branches: dict[Path, set[Hashable]] = {}
        for location, path in enumerate(paths):
            for depth in range(len(path)):
                branches.setdefault(path[:depth], set()).add(path[: depth + 1])
            branches.setdefault(path, set()).add(location)  # a number: it is like no path
        above: list[tuple[int, ...]] = []
        number: dict[Path, int] = {}
        for path in paths:
            prefixes = (path[:depth] for depth in range(len(path), -1, -1))
            several = [prefix for prefix in prefixes if len(branches[prefix]) > 1]
            above.append(tuple(number.setdefault(prefix, len(paths) + len(number)) for prefix in several))
        chains = {location: (location, *nodes) for location, nodes in enumerate(above)}
        for nodes in above:
            for at, node in enumerate(nodes):
                chains.setdefault(node, nodes[at:])
        self.above = [chains[node] for node in range(len(chains))]
        """Each node, then the nodes above it up to the root, by number."""

        self.members: list[list[int]] = [[] for _ in self.above]
        """The locations below each node, ascending; of a location itself."""
        for location in range(len(paths)):
            for node in self.above[location]:
                self.members[node].append(location)

    def common(self, locations: Sequence[int]) -> int:
        """Return the lowest node above all of some locations, at least one."""
        shared = set(self.above[locations[0]]).intersection(*(self.above[x] for x in locations[1:]))
        return next(node for node in self.above[locations[0]] if node in shared)

    @property
    def branches(self) -> list[int]:
        """The nodes right below the root, in the order of their first locations; the root if there is one location."""
        return list(dict.fromkeys(self.above[location][-2:][0] for location in self.members[self.above[0][-1]]))
