"""Writes the dashboards beside this file, as JSON: ``make dashboards``."""

from __future__ import annotations

from pathlib import Path

from deploy.grafana.operations import operations
from deploy.grafana.privacy import privacy
from deploy.grafana.utility import utility

__all__ = ["documents"]


def documents() -> dict[Path, str]:
    """Return every dashboard as JSON, by the file it belongs in."""
    return {Path(__file__).with_name(f"{make.__name__}.json"): make() for make in (privacy, utility, operations)}


if __name__ == "__main__":
    for path, content in documents().items():
        path.write_text(content, encoding="utf-8")
