"""The reference of metrics, from their declarations in `stream/observe/metrics.py`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry

from docs.extensions.markdown import code, plain, table
from stream.observe.metrics import LABELS, Metrics

__all__ = ["labels_markdown", "metrics_markdown"]


def metrics_markdown() -> str:
    """Return the table of all metrics."""
    return table(
        ["metric", "type", "labels", "meaning"],
        [
            (code(one.name), one.type, ", ".join(map(code, one.labels)), plain(one.documentation))
            for one in Metrics(CollectorRegistry()).declared
        ],
    )


def labels_markdown() -> str:
    """Return the table of all labels and their values."""
    return table(
        ["label", "values"],
        [(code(label), ", ".join(map(code, values)) or "the version") for label, values in LABELS.items()],
    )
