"""Kernels of a program that anonymizes in its own process are compiled before its first window."""

from __future__ import annotations

import time

from core.kernels.catalogue import kernels_of
from core.records.record import Kind
from stream.cli.console import print_line, progress_bar, stderr
from stream.windows.kernel_cache import NO_CACHE, choose_kernel_cache
from stream.windows.kernels import INTERPRETED, prepare_kernels, progress_line

__all__ = ["show_kernels_prepared"]

_LINE_EVERY_S = 5.0


def show_kernels_prepared(kind: Kind) -> None:
    """Compile or load the kernels of a kind of feed; show a progress bar, or now and then a line if nobody looks on."""
    total = len(kernels_of([kind]))
    if not total:
        return
    if choose_kernel_cache() is None:
        print_line(NO_CACHE)
    with progress_bar(transient=True, disable=not stderr.is_terminal) as bar:
        task = bar.add_task("preparing kernels", total=total)
        told_s = time.monotonic()

        def progress(ready: int) -> None:
            nonlocal told_s
            bar.update(task, completed=ready)
            if not stderr.is_terminal and time.monotonic() - told_s >= _LINE_EVERY_S:
                print_line(progress_line(ready, total))
                told_s = time.monotonic()

        prepared = prepare_kernels([kind], progress)
    if not prepared.are_compiled:
        print_line(INTERPRETED)
