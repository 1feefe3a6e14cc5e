"""The inputs of the comparison as files, which both sides read: ``python -m tests.benchmarks.wait4me.inputs``.

A process of its own writes them: the peak memory of a process that is started counts what its parent holds.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from core.trajectories.trajectory import PointTrajectories
from tests.benchmarks.table_trajectories import demands_file
from tests.benchmarks.trajectory_inputs import generated, trucks

__all__ = ["CABS", "DENSE", "SHIPS", "TRUCKS", "generated_name", "write"]

CABS, SHIPS, TRUCKS = "cabs_sf_20080608.csv.gz", "ais_us_20220103.csv.gz", "athens_trucks_w4m.tsv.gz"

DENSE = 1_000
"""How many trajectories the square of 10 km holds where density is constant."""


def generated_name(n: int, *, constant_density: bool) -> str:
    """Name an input of ``n`` generated trajectories of 30 points, in a square of 10 km or one that grows with ``n``."""
    return f"{'density' if constant_density else 'area'}-{n}"


def write(name: str, data: Path, file: Path) -> None:
    """Write one input: ``trucks``, ``demands`` (of the cabs), or one that :func:`generated_name` names."""
    if name == "demands":
        demands_file(data / CABS, file)
    elif name == "trucks":
        _save(trucks(data / TRUCKS), file)
    else:
        constant, count = name.split("-")
        n = int(count)
        side_m = 10_000.0 * (n / DENSE) ** 0.5 if constant == "density" else 10_000.0
        _save(generated(n, 30, side_m=side_m), file)


def _save(trajectories: PointTrajectories, file: Path) -> None:
    with file.open("wb") as out:
        np.savez(
            out,
            users=trajectories.users,
            starts=trajectories.starts,
            t_ms=trajectories.t_ms,
            xy_m=trajectories.xy_m,
        )


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
