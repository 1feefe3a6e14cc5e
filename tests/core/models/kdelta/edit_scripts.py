"""The whole script of the kernel that edits one trajectory into another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from core.kernels.fragments import edr as kernels
from core.records.arrays import IntArray
from tests.oracles.kdelta import Point, trajectories_of


class EditScript(NamedTuple):
    """Points of both at each step, -1 where one stays alone, and how many steps are edits."""

    own: IntArray
    pivot: IntArray
    distance: int


def edit_script(one: Sequence[Point], pivot: Sequence[Point], space_m: float, time_s: float) -> EditScript:
    """Edit a trajectory into a pivot."""
    first, second = trajectories_of((0, one)), trajectories_of((0, pivot))
    own, at = np.empty((2, len(one) + len(pivot)), dtype=np.int64)
    both = first.t_ms, first.xy_m, second.t_ms, second.xy_m
    n_steps, distance = kernels.script(*both, space_m, round(time_s * 1000), own, at)
    unused = len(own) - n_steps
    return EditScript(own[unused:], at[unused:], distance)
