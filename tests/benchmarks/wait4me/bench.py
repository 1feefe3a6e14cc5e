"""(k,delta) beside an earlier commit, in one run: ``python -m tests.benchmarks.wait4me.bench DATA_DIR``.

Three tables, in Markdown, go to the standard output, and progress to the standard error:

1. The rows of :mod:`tests.benchmarks.wait4me.rows`, by the commit :data:`EARLIER` and by this checkout. Each side runs
   each row in a process of its own with the same interpreter, input and seed, in turns. Time is CPU time: of the call
   alone, with kernels ready before it, or of a whole ``shoal replay``. Kernels have a row of their own.
2. The trucks of Athens with every combination of options by this checkout. With ``--authors COMMAND`` a command that
   runs the authors' program (Wait 4 Me v1.1, LSTD; the input file is appended to it) runs in turns with it.
3. How time, metres and memory grow with the number of trajectories, and the exponents.

Without the commit (a source tarball, a shallow clone) the columns of the earlier side are empty.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

from stream.windows.kernel_cache import choose_kernel_cache
from tests.benchmarks.trajectory_inputs import say
from tests.benchmarks.wait4me.authors import run_authors
from tests.benchmarks.wait4me.checkouts import EARLIER, Checkout, earlier_checkout
from tests.benchmarks.wait4me.growth import growth_table
from tests.benchmarks.wait4me.processes import Measured, run
from tests.benchmarks.wait4me.rows import ROWS, TRUCKS_OPTIONS, Row
from tests.paths import ROOT

_ALL_ROUNDS = 3
_PARTS = ("kernels", *(row.name for row in ROWS), "combinations", "growth")


def progress(line: str) -> None:
    """Print a line beside the tables, at once."""
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def median(runs: list[Measured]) -> Measured:
    """Return the run of median time, with the largest peak of memory of all; what is lost is the same in each."""
    chosen = sorted(runs, key=lambda one: one.cpu_s)[(len(runs) - 1) // 2]
    return Measured(
        cpu_s=statistics.median(one.cpu_s for one in runs),
        peak_mb=max(one.peak_mb for one in runs),
        figures=chosen.figures,
    )


def compared(row: Row, earlier: Measured | None, now: Measured) -> str:
    """Make a row of the first table."""

    def cell(figure: str) -> str:
        if figure not in now.figures:
            return ""
        after = f"{now.figures[figure]:,.0f}"
        return after if earlier is None else f"{earlier.figures[figure]:,.0f} → {after}"

    times = ("-", "") if earlier is None else (f"{earlier.cpu_s:.2f}", f"{earlier.cpu_s / now.cpu_s:.1f}")
    memory = f"{now.peak_mb:,.0f}" if earlier is None else f"{earlier.peak_mb:,.0f} → {now.peak_mb:,.0f}"
    cells = (row.label, times[0], f"{now.cpu_s:.2f}", times[1], cell("metres"), cell("suppressed"), cell("windows"))
    return f"| {' | '.join((*cells, memory))} |"


def kernel_rows(here: Checkout) -> Iterator[str]:
    """Compile all kernels, and load them again, as rows of the first table."""
    shutil.rmtree(here.kernel_cache, ignore_errors=True)
    here.kernel_cache.mkdir()
    n_kernels, cpu_s = here.prepare()
    yield f"| {n_kernels} kernels compiled, once for a machine | - | {cpu_s:.2f} | | | | | |"
    _, cpu_s = here.prepare()
    yield f"| {n_kernels} kernels loaded, once for a process | - | {cpu_s:.2f} | | | | | |"


def comparison(
    rows: list[Row],
    earlier: Checkout | None,
    here: Checkout,
    run_row: Callable[[Row, Checkout], Measured],
    *,
    every_row_again: bool,
) -> Iterator[str]:
    """Make the first table."""
    yield (
        f"| input, model | CPU s, {EARLIER} | CPU s, now | times as fast | metres a point | suppressed points "
        "| windows released | peak MB |"
    )
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"
    yield from kernel_rows(here)
    for row in rows:
        before: list[Measured] = []
        now: list[Measured] = []
        rounds = max(row.rounds, _ALL_ROUNDS if every_row_again else 1)
        for number in range(rounds):
            progress(f"{row.name}: round {number + 1} of {rounds} ...")
            if earlier is not None:
                before.append(run_row(row, earlier))
                progress(f"  {EARLIER}: {before[-1].cpu_s:.2f} s")
            now.append(run_row(row, here))
            progress(f"  now: {now[-1].cpu_s:.2f} s")
        then = median(before) if before else None
        after = median(now)
        if then is not None:
            progress(f"  {then.cpu_s / after.cpu_s:.1f} times as fast; at least {row.goal:g} is wanted")
        yield compared(row, then, after)


def combinations(here: Checkout, trucks: Path, data: Path, authors: str) -> Iterator[str]:
    """Make the second table."""
    yield "| program, clustering, translation | trash | metres a point | seconds a point | created | deleted | CPU s |"
    yield "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"

    def line(label: str, one: Measured, times: str = "") -> str:
        lost = one.figures
        return (
            f"| {label} | {lost['trash']:.0f} | {lost['metres']:,.0f} | {lost['seconds']:.1f} "
            f"| {lost['created']:,.0f} | {lost['deleted']:,.0f} | {one.cpu_s:.2f}{times} |"
        )

    for distance, refined, translation in product(("lstd", "edr"), (False, True), ("minimal", "exchangeable")):
        clustering = "refined" if refined else "published"
        progress(f"trucks, {distance}, {clustering}, {translation} ...")
        theirs = run_authors(authors, data) if authors and distance == "lstd" else None
        options = {**TRUCKS_OPTIONS, "distance": distance, "refined": refined, "translation": translation}
        ours = here.call({"input": str(trucks), "k": 5, "delta_m": 500.0, "options": options})
        if theirs is not None:
            yield line("the authors' program, LSTD", theirs)
        times = "" if theirs is None else f" ({theirs.cpu_s / ours.cpu_s:.1f} times as fast)"
        yield line(f"Shoal: {distance.upper()}, {clustering}, {translation}", ours, times)


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.wait4me.bench", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the real feeds")
    parser.add_argument("--authors", default="", help="command that runs the authors' program")
    parser.add_argument("--only", nargs="*", choices=_PARTS, default=[], help="run these rows and tables alone")
    parser.add_argument("--all", action="store_true", help=f"run every row {_ALL_ROUNDS} times")
    parser.add_argument("--largest", type=int, default=20_000, help="the most trajectories of the third table")
    asked = parser.parse_args()
    parts = asked.only or _PARTS
    with tempfile.TemporaryDirectory() as folder:
        inputs_folder = Path(folder) / "inputs"
        inputs_folder.mkdir()
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "kernels")
        cache = choose_kernel_cache()
        assert cache is not None

        def inputs(name: str) -> Path:
            file = inputs_folder / name
            if not file.exists():
                writer = [sys.executable, "-m", "tests.benchmarks.wait4me.inputs"]
                run([*writer, name, str(asked.data.resolve()), str(file)], folder=ROOT)
            return file

        with earlier_checkout(cache) as earlier:
            if earlier is None:
                progress(f"the commit {EARLIER} is not in a git history here: only this checkout is measured")
            here = Checkout(root=ROOT, kernel_cache=cache)
            rows = [row for row in ROWS if row.name in parts]
            for line in comparison(
                rows,
                earlier,
                here,
                lambda row, checkout: row.run(checkout, asked.data.resolve(), inputs),
                every_row_again=asked.all,
            ):
                say(line)
            if "combinations" in parts:
                say("")
                for line in combinations(here, inputs("trucks"), asked.data, asked.authors):
                    say(line)
            if "growth" in parts:
                say("")
                for line in growth_table(earlier, here, inputs, asked.largest):
                    say(line)


if __name__ == "__main__":
    main()
