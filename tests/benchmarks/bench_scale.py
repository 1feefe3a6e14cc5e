"""More partitions, as many workers: ``python -m tests.benchmarks.bench_scale [RECORDS]``.

The same check-ins go through one, two and four partitions of a real Kafka, with a worker for each; all of them are
ready before the first record is sent. Where there are fewer cores than workers, wall time tells of the cores; CPU time
a record is what a projection needs. Exit code 1 where the windows are not, byte for byte, those of a replay.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys

from tests.benchmarks.stream_inputs import by_partition, checkins
from tests.benchmarks.stream_runs import COHORTS, differences, expected_windows, new_place, take_in
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka
from tests.cluster.workers import wait_until

N_WINDOWS = 10
PEOPLE = 20_000
SIZES = (1, 2, 4)
HEADINGS = ("records/s", "by windows", "us a record", "broker us", "peak MB")


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    messages = list(checkins(n, n_windows=N_WINDOWS, people=PEOPLE))
    expected: dict[bytes, bytes] = {}
    broken: list[str] = []
    with ApacheKafka() as broker:
        for size in SIZES:
            place = new_place(broker, size)
            feed = by_partition(messages, (1,) * size)
            if not expected:
                expected = expected_windows(place, feed)
                say(f"{n:,} check-ins in {N_WINDOWS} windows of {COHORTS} cohorts: {len(expected)} releases; ")
                say(f"{os.cpu_count()} cores. Records/s of wall time from the first record, from the first window")
                say(f"\n{'workers':<9}" + "".join(f"{heading:>13}" for heading in HEADINGS) + "  CPU s of each worker")
            with contextlib.ExitStack() as stack:
                workers = [stack.enter_context(place.worker(ready=False)) for _ in range(size)]
                for worker in workers:
                    worker.wait_until_ready()
                wait_until(
                    lambda: all(one.metric("shoal_partitions") == 1 for one in workers),  # noqa: B023 - runs at once
                    within_s=60,
                    what="a partition for each worker",
                )
                run = asyncio.run(take_in(place, broker, workers, len(expected), feed=feed))
            figures = "".join(f"{rate:>13,.0f}" for rate in run.rates(feed, place.settings.ingest.max_records))
            costs = "".join(f"{used * 1e6 / n:>13.1f}" for used in (sum(run.cpu_s), run.broker_cpu_s))
            each = " ".join(f"{used:.1f}" for used in run.cpu_s)
            say(f"{size:<9}{figures}{costs}{sum(run.peak_mb) + sum(run.pool_peak_mb):>13,.0f}  {each}")
            broken += [f"{size} workers: {what}" for what in differences(run, expected)]
            if run.late:
                broken.append(f"{size} workers: {run.late:.0f} records were late")
    say("\n" + ("\n".join(f"BROKEN: {what}" for what in broken) or "every window as in the replay, no record late"))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
