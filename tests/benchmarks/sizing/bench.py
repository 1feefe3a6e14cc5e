"""Measure what ``shoal size`` reckons with: ``python -m tests.benchmarks.sizing.bench``.

One run writes all of ``stream/cli/sizing/figures.json``, so that no figure of another day or machine stands in it. It
takes about ten minutes on two cores, and should have them for itself.
"""

from __future__ import annotations

import datetime
import os
import platform
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import groupby
from pathlib import Path

import msgspec

import stream.cli.sizing
from core.models.registry import family_of
from core.records.record import Kind
from stream.cli.sizing.figures import (
    FILE_NAME,
    Figures,
    FiguresOrigin,
    ModelFigures,
)
from tests.benchmarks.sizing.inputs import Measurement, measurements
from tests.benchmarks.sizing.runs import RunSize, end_to_end, open_window
from tests.benchmarks.sizing.windows import measure_models
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka, kafka_jars

FILE = Path(stream.cli.sizing.__file__).with_name(FILE_NAME)

REFERENCE = {
    Kind.CHECKINS: RunSize(records=160_000, windows=8, people=5_000),
    Kind.FRAGMENTS: RunSize(records=160_000, windows=8, people=1_000),
}
"""What one model of each family takes from the input topic to the release."""

CHECK = {
    "seqanon": RunSize(records=360_000, windows=4, people=30_000),
    "w4m": RunSize(records=120_000, windows=4, people=3_000),
}
"""Runs of other sizes, for which the prediction is compared with the measurement."""

OPEN = {Kind.CHECKINS: (800_000, 100_000), Kind.FRAGMENTS: (400_000, 16_000)}
"""Records and people of a window that stays open."""


def main() -> None:
    """Measure everything, and write the file."""
    begun, date, load = time.monotonic(), datetime.datetime.now(datetime.UTC).date().isoformat(), os.getloadavg()[0]
    models, families, feeds, checks = dict(_windows(begun)), {}, {}, {}
    with ApacheKafka() as broker:
        for kind, (n, people) in OPEN.items():
            _say(begun, f"{kind}: {n:,} records in a window that stays open")
            one = next(one for one in measurements() if one.kind is kind)
            feeds[kind.value] = open_window(broker, one, n, people=people)
        for one in measurements(family_only=True):
            size = REFERENCE[one.kind]
            _say(begun, f"{one.model}: {size.records:,} records end to end")
            families[one.model] = end_to_end(broker, one, size)
        for model, size in CHECK.items():
            _say(begun, f"{model}: {size.records:,} records end to end, another size")
            one = next(one for one in measurements() if one.model == model)
            checks[model] = end_to_end(broker, one, size).run
    origin = _origin(date, load, time.monotonic() - begun)
    figures = Figures(origin=origin, feeds=feeds, families=families, models=models, checks=checks)
    FILE.write_bytes(msgspec.json.format(msgspec.json.encode(figures, order="deterministic"), indent=2) + b"\n")
    _say(begun, f"written: {FILE}")


def _windows(begun: float) -> Iterator[tuple[str, ModelFigures]]:
    with tempfile.TemporaryDirectory() as folder:
        for first, models in groupby(measurements(), key=_family):
            _say(begun, f"{first}: windows of its family")
            yield from measure_models(list(models), first, Path(folder))


def _family(one: Measurement) -> str:
    """Return the model that stands for the family of a model."""
    return str(family_of(one.model).models[0])


def _origin(date: str, load: float, seconds: float) -> FiguresOrigin:
    kafka = next(kafka_jars().glob("kafka_*.jar")).stem.rpartition("-")[2]
    names = ("shoal", "faust-streaming", "aiokafka", "numpy", "numba")
    return FiguresOrigin(
        date=date,
        command="make bench-size",
        machine=f"{os.cpu_count()} cores, {_processor()}, {_memory_gb():.0f} GB, {platform.system()}",
        versions={"python": platform.python_version(), "kafka": kafka} | {name: version(name) for name in names},
        seconds=round(seconds),
        load=round(load, 1),
    )


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.machine())


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def _say(begun: float, line: str) -> None:
    say(f"{time.monotonic() - begun:>5.0f} s  {line}")


if __name__ == "__main__":
    main()
