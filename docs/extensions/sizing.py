"""What ``shoal size`` reckons with, as tables, and what it prints for the chart's presets."""

from __future__ import annotations

from typing import Any

import yaml

from deploy.chart.presets import PRESETS
from docs.extensions.markdown import code, table
from stream.cli.sizing.figures import Figures
from stream.cli.sizing.fleet import Measured, expected_s

__all__ = ["SIZING_TABLES"]


def _origin() -> str:
    origin = Figures.packaged().origin
    versions = ", ".join(f"{name} {version}" for name, version in origin.versions.items())
    load = f"The load average before it was {origin.load:g}: other programs make figures larger."
    return f"`{origin.command}` on {origin.date}, {origin.seconds:.0f} s: {origin.machine}; {versions}. {load}"


def _families() -> str:
    header = ["model", "records/s a core", "worker, µs a record", "windows, CPU s each", "broker, µs a record"]
    header += ["released, bytes a record", "windows message, bytes", "seals, bytes a window", "process, MiB"]
    rows = []
    for name, family in Figures.packaged().families.items():
        run = family.run
        roster = f" and {family.roster_bytes:g} a person" if family.roster_bytes else ""
        rows.append(
            (
                code(name),
                f"{run.records_a_core:,.0f}",
                f"{family.worker_us:g}",
                f"{run.pool_s / run.windows:.2f}",
                f"{run.broker_s / run.records * 1e6:.1f}",
                f"{family.release_bytes:,.0f}",
                f"{family.window_bytes:,.0f}",
                f"{family.seal_bytes:,.0f}{roster}",
                f"{family.process_mb:g}",
            )
        )
    return table(header, rows)


def _windows() -> str:
    header = ["model", "CPU s of a window", "error", "largest window measured", "memory, bytes a row"]
    rows = []
    for name, model in Figures.packaged().models.items():
        cost, largest = model.cost, max(model.windows, key=lambda one: one.rows)
        law = f"{cost.factor:.2g} × people^{cost.people:.2f} × rows^{cost.rows:.2f}"
        window = f"{largest.rows:,} rows of {largest.people:,} people: {largest.seconds:.2f} s"
        rows.append((code(name), law, f"{cost.error:g} times", window, f"{model.row_bytes:,.0f}"))
    return table(header, rows)


def _feeds() -> str:
    header = [
        "feed",
        "worker, MiB",
        "open row, bytes",
        "input, bytes a record",
        "shards, bytes a row",
        "dead letter, bytes",
    ]
    rows = [
        (
            name,
            f"{feed.worker_mb:g}",
            f"{feed.row_bytes:g}",
            f"{feed.input_bytes:g}",
            f"{feed.shard_bytes:g}",
            f"{feed.dead_letter_bytes:g}",
        )
        for name, feed in Figures.packaged().feeds.items()
    ]
    return table(header, rows)


def _checks() -> str:
    header = ["model", "feed", "worker, CPU s: measured, predicted", "pool, CPU s: measured, predicted", "off by"]
    figures = Figures.packaged()
    rows = []
    for is_check, runs in ((False, {name: one.run for name, one in figures.families.items()}), (True, figures.checks)):
        for name, run in runs.items():
            worker_s, pool_s = expected_s(run, Measured.of(name, figures))
            off = (worker_s + pool_s) / (run.worker_s + run.pool_s) - 1
            feed = f"{run.windows} windows of {run.records // run.windows:,} records, {run.people:,} people"
            rows.append(
                (
                    code(name),
                    f"{feed}{', another size' if is_check else ''}",
                    f"{run.worker_s:.2f}, {worker_s:.2f}",
                    f"{run.pool_s:.2f}, {pool_s:.2f}",
                    f"{off * 100:+.0f} %",
                )
            )
    return table(header, rows)


def _presets() -> str:
    rows = []
    for file in PRESETS:
        text = file.read_text(encoding="utf-8")
        values: dict[str, Any] = yaml.safe_load(text)
        requests, limits = values["resources"]["requests"], values["resources"]["limits"]
        rows.append(
            (
                code(f"helm/presets/{file.name}"),
                code(text.partition("\n")[0].removeprefix("# shoal size ").removesuffix(" --values")),
                str(values["replicas"]),
                f"{requests['cpu']}, {requests['memory']} (limit {limits['memory']})",
                str(values["config"]["kafka"]["partitions"]),
                str(values["config"]["checkins"]["shard"].get("cohorts", 1)),
            )
        )
    return table(["preset", "`shoal size`", "workers", "each requests", "partitions", "shards"], rows)


SIZING_TABLES = {
    "origin": _origin,
    "presets": _presets,
    "families": _families,
    "windows": _windows,
    "feeds": _feeds,
    "checks": _checks,
}
"""Writes the Markdown, by the directive's argument."""
