"""Compile all kernels into the folder that ``NUMBA_CACHE_DIR`` names, while the image is built.

Numba notes addresses of functions in what it keeps, as text that nobody reads. They are replaced by zeros, so that a
second build gives the same files.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from core.records.record import Kind
from stream.windows.kernel_cache import choose_kernel_cache
from stream.windows.kernels import prepare_kernels

__all__ = ["compile_kernels", "without_addresses"]

_ADDRESS = re.compile(rb"(?<= at 0x)[0-9a-f]+(?=>)")


def without_addresses(kept: bytes) -> bytes:
    """Replace every address in a file of numba's cache by as many zeros."""
    return _ADDRESS.sub(lambda found: b"0" * len(found[0]), kept)


def compile_kernels() -> Path:
    """Compile all kernels, and return the folder that holds them."""
    folder = choose_kernel_cache()
    if folder is None or not prepare_kernels(list(Kind)).are_compiled:
        sys.exit("the kernels cannot be compiled: numba is missing, or NUMBA_CACHE_DIR cannot be written")
    for path in folder.rglob("*.nbc"):
        path.write_bytes(without_addresses(path.read_bytes()))
    return folder


if __name__ == "__main__":
    compile_kernels()
