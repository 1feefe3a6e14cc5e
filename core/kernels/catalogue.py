"""Catalogue: which kernels each kind of feed needs, so that a program can compile them before its first window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from core.kernels import (
    attack,
    distances,
    edr,
    embeddings,
    greedy,
    local_repair,
    location_distance,
    matching,
    merge_order,
    refinement,
    regrouping,
    subtrajectories,
    supports,
    tracks,
    trajectory_tree,
    voting,
)
from core.kernels.kernel import Kernel
from core.records.record import Kind

__all__ = ["MODULES", "kernels_of"]

MODULES: Mapping[ModuleType, tuple[Kind, ...]] = {
    attack: (Kind.FRAGMENTS,),
    distances: (Kind.FRAGMENTS,),
    edr: (Kind.FRAGMENTS,),
    embeddings: (Kind.CHECKINS,),
    greedy: (Kind.FRAGMENTS,),
    local_repair: (Kind.CHECKINS,),
    location_distance: (Kind.CHECKINS,),
    matching: (Kind.FRAGMENTS,),
    merge_order: (Kind.CHECKINS,),
    refinement: (Kind.FRAGMENTS,),
    regrouping: (Kind.FRAGMENTS,),
    subtrajectories: (Kind.CHECKINS,),
    supports: (Kind.CHECKINS,),
    tracks: (Kind.FRAGMENTS,),
    trajectory_tree: (Kind.FRAGMENTS,),
    voting: (Kind.FRAGMENTS,),
}
"""Every module of kernels, and the kinds of feed whose models call them. A test fails if a module is missing."""


def kernels_of(kinds: Iterable[Kind]) -> tuple[Kernel[Any, Any], ...]:
    """Return the kernels that the models of some kinds of feed call, each once, in the order of :data:`MODULES`."""
    wanted = set(kinds)
    return tuple(
        found
        for module, called_by in MODULES.items()
        if wanted.intersection(called_by)
        for found in vars(module).values()
        if isinstance(found, Kernel) and found.__module__ == module.__name__  # not what the module imports
    )
