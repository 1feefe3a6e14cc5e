"""Writes the dashboards where the chart and everybody else takes them from: ``make dashboards``."""

from __future__ import annotations

from pathlib import Path

from deploy.grafana.operations import operations
from deploy.grafana.privacy import privacy
from deploy.grafana.utility import utility

__all__ = ["DASHBOARDS", "documents"]

DASHBOARDS = Path(__file__).parents[2] / "helm" / "files" / "dashboards"
"""A chart holds only what is in its folder, so the files are there and nowhere else."""


def documents() -> dict[Path, str]:
    """Return every dashboard as JSON, by the file it belongs in."""
    return {DASHBOARDS / f"{make.__name__}.json": make() for make in (privacy, utility, operations)}


if __name__ == "__main__":
    for path, content in documents().items():
        path.write_text(content, encoding="utf-8")
