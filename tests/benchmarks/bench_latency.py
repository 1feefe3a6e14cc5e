"""How soon a window leaves after the decision to seal it: ``python -m tests.benchmarks.bench_latency [WINDOWS]``.

One worker, one partition, one window after the other: the next one is sent when the last one has left. So nothing but
the window itself is measured. The time is the worker's own, from the header ``shoal-durations`` of windows messages.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from functools import partial

import numpy as np

from tests.benchmarks.stream_inputs import Message, checkins, fill, fragments
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import Place, wait_until

VISITS, POINTS = 100_000, 50_000
"""Records of a window."""

PEOPLE = 12_500
BEYOND = 0.3
"""How much of the next window closes one: more than the allowed lateness."""


def durations(broker: ApacheKafka, feed: str, messages: Sequence[Message], n_windows: int) -> list[dict[str, float]]:
    """Send window after window to a worker, each once the one before has left.

    Args:
        broker: Where to.
        feed: ``checkins`` or ``fragments``.
        messages: The records of one window more, in the order of their times, as many in each window.
        n_windows: How many windows to measure.

    Returns:
        What the header of each windows message states.
    """
    other = {"checkins": "fragments", "fragments": "checkins"}[feed]
    place = Place(
        broker, {"kafka.partitions": "1", f"topics.{other}": "", "location.cell_m": "800", "window.idle_timeout": "10m"}
    )
    place.create_topics()
    sent, n = 0, len(messages) / (n_windows + 1)
    with place.worker() as worker:
        for number in range(n_windows):
            end = round((number + 1 + BEYOND) * n)
            asyncio.run(fill(broker, place.topic(feed), {0: messages[sent:end]}))
            sent = end
            wait_until(
                partial(_have_left, place, number + 1),
                within_s=120,
                what=lambda: worker.log[-2000:],
                every_s=0.1,
            )
    assert all(window["outcome"] == "released" for window in place.windows())
    headers = (dict(record.headers) for record in place.read("windows"))
    return [json.loads(header["shoal-durations"]) for header in headers]


def _have_left(place: Place, n: int) -> bool:
    return len(place.windows()) >= n


def main() -> None:
    """Print the table."""
    n_windows = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    visits = list(checkins(VISITS * (n_windows + 1), n_windows=n_windows + 1, people=PEOPLE))
    points = list(fragments(POINTS * (n_windows + 1), n_windows=n_windows + 1))
    say(f"{n_windows} windows each; seconds{'':<24}{'median':>8}{'p99':>8}{'most':>8}")
    with ApacheKafka() as broker:
        for feed, messages, name in (
            ("checkins", visits, f"k^m, {VISITS:,} check-ins"),
            ("fragments", points, f"(k,delta), {POINTS:,} points"),
        ):
            found = durations(broker, feed, messages, n_windows)
            for key, what in (("close_to_release_s", "decision to message"), ("anonymize_s", "of it anonymizing")):
                seconds = [one[key] for one in found]
                figures = np.median(seconds), np.quantile(seconds, 0.99), max(seconds)
                say(f"{name:<26}{what:<20}" + "".join(f"{figure:>8.2f}" for figure in figures))


if __name__ == "__main__":
    main()
