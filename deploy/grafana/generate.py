"""Writes the dashboards' JSON files: ``make dashboards``."""

from __future__ import annotations

from pathlib import Path

from deploy.grafana.operations import operations
from deploy.grafana.privacy import privacy
from deploy.grafana.utility import utility

__all__ = ["DASHBOARDS", "documents"]

DASHBOARDS = Path(__file__).parents[2] / "helm" / "files" / "dashboards"
"""The only copy is in the chart's folder, because a chart can contain only files from there."""


def documents() -> dict[Path, str]:
    """Return every dashboard as JSON, by its file."""
    return {DASHBOARDS / f"{make.__name__}.json": make() for make in (privacy, utility, operations)}


if __name__ == "__main__":
    for path, content in documents().items():
        path.write_text(content, encoding="utf-8")
