"""How time, loss and memory grow with the trajectories that are clustered together."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np

from tests.benchmarks.wait4me.checkouts import EARLIER, Checkout
from tests.benchmarks.wait4me.inputs import generated_name
from tests.benchmarks.wait4me.rows import GENERATED_OPTIONS

__all__ = ["exponent", "growth_table"]

_SIZES = (1_000, 2_000, 4_000, 5_000, 10_000, 20_000)
_LARGEST_EARLIER = 4_000
"""The earlier commit takes a quarter of an hour and several GB for the largest size."""


def exponent(sizes: list[int], seconds: list[float]) -> float:
    """Return the p with which time grows as a size to the power of p, by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth_table(
    earlier: Checkout | None, here: Checkout, inputs: Callable[[str], Path], largest: int
) -> Iterator[str]:
    """Make the rows of the table in Markdown, and the exponents below it.

    Args:
        earlier: The earlier commit, if it is there.
        here: This checkout.
        inputs: Gives the file of a named input.
        largest: The largest size that is run.
    """
    yield (
        f"| clustering | square | trajectories | CPU s, {EARLIER} | CPU s, now | metres a point, {EARLIER} | now "
        f"| peak MB, {EARLIER} | now |"
    )
    yield "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    fitted = []
    for refined, constant_density in product((False, True), (False, True)):
        clustering = "refined" if refined else "published"
        square = "grows with the trajectories" if constant_density else "10 km"
        sizes, seconds = [], []
        for n in (size for size in _SIZES if size <= largest):
            job = {
                "input": str(inputs(generated_name(n, constant_density=constant_density))),
                "k": 5,
                "delta_m": 200.0,
                "options": {**GENERATED_OPTIONS, "refined": refined},
            }
            before = earlier.call(job) if earlier is not None and n <= _LARGEST_EARLIER else None
            now = here.call(job)
            sizes.append(n)
            seconds.append(now.cpu_s)
            cells = (
                *("-" if before is None else f"{before.cpu_s:.2f}", f"{now.cpu_s:.2f}"),
                *("-" if before is None else f"{before.figures['metres']:,.0f}", f"{now.figures['metres']:,.0f}"),
                *("-" if before is None else f"{before.peak_mb:,.0f}", f"{now.peak_mb:,.0f}"),
            )
            yield f"| {clustering} | {square} | {n:,} | {' | '.join(cells)} |"
        if len(sizes) > 1:
            fitted.append(f"{exponent(sizes, seconds):.2f} ({clustering}, {square})")
    yield ""
    yield f"Exponents fitted from {_SIZES[0]:,} to {min(largest, _SIZES[-1]):,} trajectories: {', '.join(fitted)}."
