"""How long the kernels of each kind of feed take to be compiled, and to be loaded from the cache, and their memory."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time

from core.kernels.catalogue import kernels_of
from core.records.record import Kind
from stream.windows.kernel_cache import choose_kernel_cache
from stream.windows.kernels import prepare_kernels


def _measure() -> None:
    choose_kernel_cache()
    for kind in Kind:
        begun_s, cpu_s = time.perf_counter(), time.process_time()
        found = prepare_kernels([kind])
        seconds, cpu = time.perf_counter() - begun_s, time.process_time() - cpu_s
        print(  # noqa: T201
            f"{kind}: {len(kernels_of([kind]))} kernels, {found.n_new} compiled: {cpu:.1f} s of CPU, {seconds:.1f} s"
        )
    print(f"largest resident memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:.0f} MB")  # noqa: T201


def _run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for cache in ("empty", "warm"):
            print(f"{cache} cache", flush=True)  # noqa: T201
            command = [sys.executable, "-m", "tests.benchmarks.bench_kernels", "--measure"]
            subprocess.run(command, check=True, env=os.environ | {"NUMBA_CACHE_DIR": folder})


if __name__ == "__main__":
    _measure() if "--measure" in sys.argv else _run()
