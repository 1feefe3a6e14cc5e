"""What ``shoal size`` prints: the result with its reasons, as JSON, or as values of the Helm chart."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from core.models.common.values import show_duration
from stream.cli.sizing.figures import FiguresOrigin
from stream.cli.sizing.fleet import BUSY, LATEST, PARTITIONS_A_WORKER, Fleet, Load, Measured

__all__ = ["Sized", "as_json", "as_text", "as_values"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sized:
    """A load and what it needs."""

    kind: str
    model: str
    shard_kind: str
    """``single``, ``user`` or ``region``."""

    load: Load
    measured: Measured
    origin: FiguresOrigin
    fleet: Fleet


def as_text(sized: Sized) -> Iterator[str]:
    """Yield the lines for people: what is needed, what each topic stores, and where the figures come from."""
    load, fleet = sized.load, sized.fleet
    yield f"workers      {fleet.workers}"
    yield f"cores        {fleet.cores:.2f} in use; request {fleet.cores_a_worker:g} for each worker, and set no limit"
    yield f"memory       request {fleet.memory_mb} MiB for each worker, limit {_memory_limit_mb(fleet)} MiB"
    yield f"partitions   {fleet.partitions} (kafka.partitions)"
    yield f"shards       {_shards(sized)}"
    yield f"buffer       limits.buffered_rows={fleet.buffered_rows}"
    yield ""
    yield "bytes a day of each topic, one replica:"
    for name, n_bytes in asdict(fleet.topics).items():
        yield f"  {name:<13}{_bytes(n_bytes)}"
    yield ""
    yield "why:"
    yield from (f"  - {line}" for line in _reasons(sized))
    origin = sized.origin
    yield (
        f"  - figures: `{origin.command}` on {origin.date}, {origin.machine}, "
        f"{', '.join(f'{name} {version}' for name, version in origin.versions.items())}"
    )
    for line in _warnings(sized):
        yield f"warning: {line}"
    if sized.load.people_in_a_window < sized.load.people:
        yield f"note: a window has only {load.rows:,.0f} records, so no more people than that"


def _reasons(sized: Sized) -> Iterator[str]:
    load, fleet, measured = sized.load, sized.fleet, sized.measured
    family, feed, model = measured.family, measured.feed, measured.model
    yield (
        f"{load.records_per_s:,.0f} records/s take {family.worker_us:g} µs each to read, locate, buffer and emit: "
        f"{fleet.worker_cores:.2f} cores"
        f"{'' if model.family == sized.model else f' (measured with {model.family}, of the same family)'}"
    )
    of_shards = "" if fleet.shards == 1 else f", in {fleet.shards} shards"
    yield (
        f"a window of {show_duration(round(load.window_s * 1000))} has {load.rows:,.0f} records of "
        f"{load.people_in_a_window:,.0f} people{of_shards}; one shard takes {fleet.window_seconds:.2g} s to anonymize "
        f"and verify (at most {_percent(LATEST)} of the window), all of them {fleet.pool_cores:.2f} cores"
    )
    largest = max(model.windows, key=lambda one: one.rows)
    if load.rows / fleet.shards > largest.rows:
        yield f"windows of up to {largest.rows:,} records were measured: the time of this one is extrapolated"
    yield (
        f"headroom: a process is planned to be {_percent(BUSY)} in use; partitions for "
        f"{PARTITIONS_A_WORKER} times as many workers, because their number is fixed by the first start"
    )
    yield (
        f"memory: {feed.worker_mb:.0f} MiB of a worker, {family.process_mb:.0f} MiB of each of {load.processes} "
        f"processes, {fleet.rows_a_worker:,.0f} open rows at {feed.row_bytes:.0f} bytes, a window of "
        f"{load.rows / fleet.shards:,.0f} rows at {model.row_bytes:,.0f} bytes, and a quarter more"
    )
    yield (
        f"topics: {feed.input_bytes:.0f} bytes of a record (JSON, one a message), {feed.shard_bytes:.0f} of a row, "
        f"{family.release_bytes:.0f} of its release; {_percent(load.rejected)} of the records are rejected"
    )


def _warnings(sized: Sized) -> Iterator[str]:
    fleet = sized.fleet
    if not fleet.is_in_time:
        yield (
            "this number of shards is too small: windows would leave late. Take more of them (--shards), or leave "
            "--shards out"
        )
    if fleet.workers > fleet.shards:
        yield f"{fleet.shards} shards keep at most {fleet.shards} workers busy with anonymizing"


def _shards(sized: Sized) -> str:
    if sized.shard_kind == "single":
        return "1 (shard.kind=single): one crowd; one worker at a time anonymizes"
    if sized.shard_kind == "region":
        return f"{sized.fleet.shards} regions (shard.kind=region), as given"
    return (
        f"{sized.fleet.shards} (shard.kind=user, shard.cohorts={sized.fleet.shards}): crowds of about "
        f"{sized.load.people_in_a_window / sized.fleet.shards:,.0f} people, each anonymized on its own"
    )


def as_json(sized: Sized) -> dict[str, Any]:
    """Return the same as plain data."""
    return {
        "kind": sized.kind,
        "model": sized.model,
        "shard_kind": sized.shard_kind,
        "load": asdict(sized.load),
        "fleet": asdict(sized.fleet) | {"cores": sized.fleet.cores},
        "warnings": list(_warnings(sized)),
        "figures": {"date": sized.origin.date, "machine": sized.origin.machine, "versions": sized.origin.versions},
    }


def as_values(sized: Sized) -> Mapping[str, Any]:
    """Return values of the Helm chart for it."""
    load, fleet = sized.load, sized.fleet
    shard: dict[str, Any] = {"kind": sized.shard_kind}
    if sized.shard_kind == "user":
        shard["cohorts"] = fleet.shards
    return {
        "replicas": fleet.workers,
        "resources": {
            "requests": {"cpu": f"{round(fleet.cores_a_worker * 1000)}m", "memory": f"{fleet.memory_mb}Mi"},
            "limits": {"memory": f"{_memory_limit_mb(fleet)}Mi"},
        },
        "config": {
            "kafka": {"partitions": fleet.partitions},
            "limits": {"buffered_rows": fleet.buffered_rows},
            "worker": {"processes": load.processes},
            sized.kind: {
                "shard": shard,
                "window": {"size": show_duration(round(load.window_s * 1000))},
                "privacy": {"model": sized.model},
            },
        },
    }


def _memory_limit_mb(fleet: Fleet) -> int:
    return fleet.memory_mb * 3 // 2


def _percent(share: float) -> str:
    return f"{share * 100:g} %"


def _bytes(n: float) -> str:
    for unit, size in (("TB", 1e12), ("GB", 1e9), ("MB", 1e6)):
        if n >= size:
            return f"{n / size:,.1f} {unit}"
    return f"{n / 1e3:,.1f} kB"
