"""Catalogue: which kernels each kind of feed needs, so that a program can compile them before its first window."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

from core.kernels.checkins import embeddings, local_repair, location_distance, merge_order, subtrajectories, supports
from core.kernels.fragments import (
    attack,
    distances,
    edr,
    greedy,
    matching,
    refinement,
    regrouping,
    regrouping_steps,
    tracks,
    trajectory_tree,
    translation,
    voting,
)
from core.kernels.kernel import Kernel
from core.kernels.stops import runs
from core.records.record import Kind

__all__ = ["MODULES", "all_kernels_of", "called_by", "kernels_of"]

MODULES: Mapping[Kind, tuple[ModuleType, ...]] = {
    Kind.CHECKINS: (embeddings, local_repair, location_distance, merge_order, subtrajectories, supports),
    Kind.FRAGMENTS: (
        attack,
        distances,
        edr,
        greedy,
        matching,
        refinement,
        regrouping,
        regrouping_steps,
        tracks,
        trajectory_tree,
        translation,
        voting,
    ),
    Kind.STOPS: (runs,),
}
"""Every module of kernels, by the kind of feed that calls them; the models of stops call those of check-ins. A test
fails if a module is missing."""


def kernels_of(kinds: Iterable[Kind]) -> tuple[Kernel[Any, Any], ...]:
    """Return the kernels to prepare for some kinds of feed: those that no other kernel calls.

    A kernel is compiled together with all that it calls, and brings their machine code when it is loaded.
    """
    kernels = all_kernels_of(kinds)
    called = {one for caller in kernels for one in called_by(caller)}
    return tuple(one for one in kernels if one not in called)


def all_kernels_of(kinds: Iterable[Kind]) -> tuple[Kernel[Any, Any], ...]:
    """Return all kernels of some kinds of feed, each once, in the order of :data:`MODULES`."""
    kinds = tuple(kinds)
    wanted = {*kinds, *(kind.model_kind for kind in kinds)}
    return tuple(
        found
        for kind, modules in MODULES.items()
        if kind in wanted
        for module in modules
        for found in vars(module).values()
        if isinstance(found, Kernel) and found.__module__ == module.__name__  # not what the module imports
    )


def called_by(caller: Kernel[Any, Any]) -> tuple[Kernel[Any, Any], ...]:
    """Return the kernels that a kernel names."""
    named = (caller.definition.__globals__.get(name) for name in caller.definition.__code__.co_names)
    return tuple(one for one in named if isinstance(one, Kernel))
