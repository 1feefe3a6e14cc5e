from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from core.kernels import kernel as kernels
from core.kernels.kernel import Kernel, kernel


def _squared(x: float) -> float:
    return x * x


def _sum_of_squares(numbers: np.ndarray) -> float:
    total = 0.0
    for number in numbers:
        total += squared(number)
    return total


squared = kernel("float64(float64)")(_squared)


def test_a_kernel_may_call_a_kernel() -> None:
    numbers = np.random.default_rng(1).normal(size=1000)
    compiled = Kernel(_sum_of_squares, "float64(float64[::1])")
    assert compiled(numbers) == compiled.definition(numbers)  # to the last bit


def test_without_numba_the_definition_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "is_compiled", lambda: False)
    interpreted = Kernel(_sum_of_squares, "float64(float64[::1])")
    assert interpreted(np.arange(4.0)) == 14.0
    assert interpreted.prepare() is _sum_of_squares


def test_importing_core_does_not_load_the_compiler() -> None:
    modules = "core.pipeline, core.models.registry, core.kernels.catalogue"
    code = f"import sys, {modules}; sys.exit(bool({{'numba', 'llvmlite'}} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
