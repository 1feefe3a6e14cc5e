"""One call of Wait for Me in a process of its own, by whichever checkout ``PYTHONPATH`` names: ``python call.py JOB``.

This file runs as a script, with nothing of ``tests``, because the earlier commit has other modules. JOB is JSON:
``root`` (the checkout that must be found), ``input`` (a file of :mod:`tests.benchmarks.wait4me.inputs`; without it the
kernels are made ready, and nothing else), ``k``, ``delta_m`` and ``options``. One line of JSON is the answer.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np


def first_module(*names: str) -> ModuleType:
    """Import the first module that this checkout has."""
    for name in names:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name is None or not name.startswith(error.name):
                raise
    raise SystemExit(f"none of the modules {', '.join(names)} is here: this script does not know this checkout")


def prepare_kernels() -> int:
    """Compile every kernel, or load it from numba's cache, and return how many there are."""
    try:
        kernels = importlib.import_module("core.kernels")
    except ModuleNotFoundError:
        return 0  # a checkout from before there were kernels
    kernel_type = importlib.import_module("core.kernels.kernel").Kernel
    found: dict[int, Any] = {}
    for module in pkgutil.walk_packages(kernels.__path__, "core.kernels."):
        if ".oracles" in module.name:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, kernel_type):
                found[id(value)] = value
    for one in found.values():
        one.prepare()
    return len(found)


def called(job: dict[str, Any]) -> dict[str, Any]:
    """Run Wait for Me on the job's input, and say what it cost and lost."""
    algorithm = first_module("core.models.kdelta.anonymize.wait4me", "core.anonymize.wait4me")
    trajectory = first_module("core.trajectories.trajectory", "core.trajectory")
    with np.load(job["input"]) as arrays:
        trajectories = trajectory.PointTrajectories(**{name: arrays[name] for name in arrays.files})
    n = len(trajectories.users)
    demands = trajectory.Demands.alike(n, k=job["k"], delta_m=job["delta_m"])
    options = algorithm.Wait4MeOptions(**job["options"])
    begun = time.process_time()
    result = algorithm.wait4me(trajectories, demands, options, np.random.default_rng(1))
    cpu_s = time.process_time() - begun
    lost = getattr(result, "distortion", result)  # the earlier commit has no class of its own for what is lost
    n_points = max(int(np.diff(trajectories.starts)[result.sources].sum()), 1)
    return {
        "cpu_s": cpu_s,
        "metres": lost.space_translation_m / n_points,
        "seconds": lost.time_translation_s / n_points,
        "suppressed": int((~result.kept).sum()),
        "trash": len(result.trash),
        "discernibility": lost.discernibility,
        "created": result.points_created,
        "deleted": lost.points_deleted,
    }


def main() -> None:
    """Answer one job."""
    job = json.loads(sys.argv[1])
    core = importlib.import_module("core")
    if not Path(core.__path__[0]).samefile(Path(job["root"]) / "core"):
        raise SystemExit(f"core of {job['root']} should have been measured, and {core.__path__[0]} was found")
    begun = time.process_time()
    n_kernels = prepare_kernels()
    ready: dict[str, Any] = {"n_kernels": n_kernels, "cpu_s": time.process_time() - begun}
    sys.stdout.write(json.dumps(called(job) if "input" in job else ready) + "\n")


if __name__ == "__main__":
    main()
