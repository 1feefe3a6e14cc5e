"""Kernels are compiled, or loaded from their cache, before the first window needs them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from core.kernels.catalogue import kernels_of
from core.kernels.kernel import is_compiled
from core.records.record import Kind

__all__ = ["INTERPRETED", "PreparedKernels", "prepare_kernels", "progress_line"]

INTERPRETED = (
    "numba is not installed or cannot be loaded, so kernels are interpreted: windows take some hundred times as long; "
    "install numba, or use a Python and a machine that it has a wheel for"
)


@dataclass(frozen=True, slots=True)
class PreparedKernels:
    """How the kernels of a process became ready."""

    are_compiled: bool = True
    """Whether they are machine code; if not, they are interpreted."""

    n_new: int = 0
    """How many were compiled, not loaded from the cache."""


def prepare_kernels(kinds: Collection[Kind], progress: Callable[[int], None] = lambda _: None) -> PreparedKernels:
    """Compile or load the kernels of the models of some kinds of feed, for this process.

    Args:
        kinds: The kinds of feed.
        progress: Called with the number of kernels that are ready, after each.
    """
    kernels = kernels_of(kinds)
    if kernels and not is_compiled():
        return PreparedKernels(are_compiled=False)
    n_new = 0
    for number, one in enumerate(kernels, 1):
        compiled: Any = one.prepare()
        n_new += sum(compiled.stats.cache_misses.values())
        progress(number)
    return PreparedKernels(n_new=n_new)


def progress_line(ready: int, total: int) -> str:
    """Return a line that says how many kernels are ready."""
    return f"preparing kernels: {ready} of {total}"
