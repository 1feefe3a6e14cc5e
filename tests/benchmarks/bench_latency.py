"""How soon a window leaves after the decision to seal it: ``python -m tests.benchmarks.bench_latency [WINDOWS]``.

One worker, one partition, one window after the other: the next one is sent when the last one has left. So nothing but
the window itself is measured. The time is the worker's own, from the header ``shoal-durations`` of windows messages.
The first window after the start is not counted.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence

import numpy as np
from aiokafka import AIOKafkaConsumer

from tests.benchmarks.stream_inputs import Message, checkins, fill, fragments, new_feeder
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka, RunningBroker
from tests.cluster.workers import Place

VISITS, POINTS = 100_000, 50_000
"""Records of a window."""

PEOPLE = 12_500
BEYOND = 0.04
"""How much of the next window comes with one: more than the allowed lateness."""

A_RECORD_EVERY_S = 0.05
"""Then the feed goes on slowly, so that nothing but the window keeps the worker busy."""

WITHIN_S = 120

Durations = dict[str, float]


def durations(broker: RunningBroker, feed: str, messages: Sequence[Message], n_windows: int) -> list[Durations]:
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
        broker,
        {
            "kafka.partitions": "1",
            f"topics.{other}": "",
            "location.cell_m": "800",
            "window.idle_timeout": "10m",
            "window.allowed_lateness": "10s",
        },
    )
    place.create_topics()
    with place.worker() as worker:
        try:
            return asyncio.run(_window_by_window(broker, place, feed, messages, n_windows))
        except TimeoutError:
            raise TimeoutError(worker.log[-2000:]) from None


async def _window_by_window(
    broker: RunningBroker, place: Place, feed: str, messages: Sequence[Message], n_windows: int
) -> list[Durations]:
    topic, feeder = place.topic(feed), new_feeder(broker.bootstrap_servers)
    sent, n = 0, len(messages) / (n_windows + 1)
    found: list[Durations] = []
    # One consumer that waits: looking again and again would take the processor that anonymizes.
    reader = AIOKafkaConsumer(
        place.topic("windows"), bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
    )
    async with reader, feeder:
        for number in range(n_windows):
            end = round((number + 1 + BEYOND) * n)
            await fill(broker, topic, {0: messages[sent:end]})
            left = asyncio.create_task(reader.getone())
            until_s = time.monotonic() + WITHIN_S
            while not left.done():
                if time.monotonic() > until_s:
                    raise TimeoutError
                key, value = messages[end]
                await feeder.send_and_wait(topic, value, key=key, partition=0)
                end += 1
                await asyncio.wait([left], timeout=A_RECORD_EVERY_S)
            sent, message = end, left.result()
            assert json.loads(message.value)["outcome"] == "released"
            found.append(json.loads(dict(message.headers)["shoal-durations"]))
    return found


def main() -> None:
    """Print the table."""
    n_windows = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    visits = list(checkins(VISITS * (n_windows + 2), n_windows=n_windows + 2, people=PEOPLE))
    points = list(fragments(POINTS * (n_windows + 2), n_windows=n_windows + 2))
    say(f"{n_windows} windows each; seconds{'':<24}{'median':>8}{'p99':>8}{'most':>8}")
    with ApacheKafka() as broker:
        for feed, messages, name in (
            ("checkins", visits, f"k^m, {VISITS:,} check-ins"),
            ("fragments", points, f"(k,delta), {POINTS:,} points"),
        ):
            _, *found = durations(broker, feed, messages, n_windows + 1)
            for key, what in (("close_to_release_s", "decision to message"), ("anonymize_s", "of it anonymizing")):
                seconds = [one[key] for one in found]
                figures = np.median(seconds), np.quantile(seconds, 0.99), max(seconds)
                say(f"{name:<26}{what:<20}" + "".join(f"{figure:>8.2f}" for figure in figures))


if __name__ == "__main__":
    main()
