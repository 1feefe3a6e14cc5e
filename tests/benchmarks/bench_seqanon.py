"""SeqAnon beside the published pseudo-code in C++, side by side in one run.

    python -m tests.benchmarks.bench_seqanon [seqanon_literal.cpp] [--all]

Without a C++ compiler or the source only our times are printed. The slow rows of the C++ program (minutes) run with
``--all`` alone. Then how time grows with people, locations, k and m, and what the apriori principle is worth.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from core.models.common.merge_cost import Spatial
from core.models.km.anonymize.seqanon import Generalization, _Run, seqanon
from core.models.km.guarantee import KmAnonymity
from core.utility.distance import dataset_distance
from tests.benchmarks.inputs import Input, grid_walks, zipf_visits

ROWS = [("a", 5, 2), ("a", 50, 2), ("a", 5, 3), ("b", 5, 2), ("b", 5, 3)]
SLOW_IN_CPP = {("b", 5, 2)}
"""Minutes."""

ENDLESS_IN_CPP = {("b", 5, 3)}
"""Hours."""


def main(arguments: list[str]) -> None:
    """Print the tables."""
    files = [Path(a) for a in arguments if not a.startswith("--")]
    inputs = {"a": grid_walks(), "b": zipf_visits()}
    with tempfile.TemporaryDirectory() as folder:
        literal = _compiled(files[0], Path(folder)) if files else None
        say("input  k   m   seconds  merges  locations left  mean D (m)  C++ seconds  C++ merges  ratio")
        for name, k, m in ROWS:
            seconds, result = _timed(lambda i=inputs[name], k=k, m=m: _run(i, k, m))  # type: ignore[misc]
            line = f"({name})  {k:>3} {m:>3}  {seconds:>7.2f}  {result.merges:>6}  {_left(inputs[name], result):>14}"
            line += f"  {_distance(inputs[name], result):>10.2f}"
            skipped = ENDLESS_IN_CPP if "--all" in arguments else ENDLESS_IN_CPP | SLOW_IN_CPP
            if literal is not None and (name, k, m) not in skipped:
                theirs_s, merges = _literal(literal, inputs[name], k, m)
                line += f"  {theirs_s:>11.2f}  {merges:>10}  {theirs_s / seconds:>5.1f}"
            say(line)
    _growth()


def _growth() -> None:
    say("\nhow time grows, seconds (grid walks unless said otherwise; one thing changes at a time)")
    for n in (4_500, 9_000, 18_000, 36_000):
        crowd = grid_walks(n)
        say(f"  {n:>6} people             {_timed(lambda c=crowd: _run(c, 5, 2))[0]:.2f}")  # type: ignore[misc]
    for n in (100, 200, 400, 800):
        crowd = zipf_visits(20_000, n_locations=n)
        say(f"  {n:>6} locations (Zipf)   {_timed(lambda c=crowd: _run(c, 5, 2))[0]:.2f}")  # type: ignore[misc]
    walks = grid_walks()
    for k in (2, 5, 10, 25, 50, 100):
        say(f"  k = {k:<3}                  {_timed(lambda k=k: _run(walks, k, 2))[0]:.2f}")  # type: ignore[misc]
    for m in (1, 2, 3, 4):
        guarantee = KmAnonymity(k=5, m=m)
        with_it = _timed(lambda g=guarantee: seqanon(walks.sequences, walks.xy_m, g))[0]  # type: ignore[misc]
        without = _timed(lambda g=guarantee: _without_apriori(walks, g))[0]  # type: ignore[misc]
        ratio = f"{without:.2f}, {without / with_it:.1f} times"
        say(f"  m = {m}                    {with_it:.2f}   without apriori (SeqAnon_F) {ratio}")


def _run(crowd: Input, k: int, m: int) -> Generalization:
    return seqanon(crowd.sequences, crowd.xy_m, KmAnonymity(k=k, m=m))


def _without_apriori(crowd: Input, guarantee: KmAnonymity) -> Generalization:
    """SeqAnon_F, which protects subtrajectories of size m alone: no option of the product."""
    return _Run(crowd.sequences, crowd.xy_m, guarantee, Spatial(), apriori=False).finish()


def _timed(work: Callable[[], Generalization]) -> tuple[float, Generalization]:
    begun = time.perf_counter()
    result = work()
    return time.perf_counter() - begun, result


def _left(crowd: Input, result: Generalization) -> int:
    return len(np.unique(result.group_of[crowd.sequences.locations]))


def _distance(crowd: Input, result: Generalization) -> float:
    return dataset_distance(crowd.sequences, crowd.xy_m, result.group_of, result.kept)


def _compiled(source: Path, folder: Path) -> Path | None:
    compiler = shutil.which("g++") or shutil.which("clang++")
    if compiler is None or not source.exists():
        say(f"(no C++ column: {'no compiler' if compiler is None else f'{source} is not there'})")
        return None
    program = folder / "literal"
    subprocess.run([compiler, "-O2", "-o", program, source], check=True)
    return program


def _literal(program: Path, crowd: Input, k: int, m: int) -> tuple[float, int]:
    bounds = crowd.sequences.starts.tolist()
    locations = crowd.sequences.locations.tolist()
    lines = [f"{len(crowd.xy_m)} {k} {m}"]
    lines += [f"{x} {y}" for x, y in crowd.xy_m.tolist()]
    lines += [" ".join(map(str, locations[a:b])) for a, b in pairwise(bounds)]
    done = subprocess.run([program], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
    found = re.search(r"seconds ([\d.]+) merges (\d+)", done.stdout)
    if found is None:
        raise RuntimeError("the C++ program printed no result")
    return float(found[1]), int(found[2])


def say(line: str) -> None:
    """Print at once, so that progress shows."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
