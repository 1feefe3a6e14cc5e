"""A backlog, caught up with: ``python -m tests.benchmarks.bench_catch_up [RECORDS]``.

The check-ins of many windows are on four partitions of a real Kafka before a worker starts. They stand out of order by
up to three quarters of the allowed lateness, and one partition has half of all. Then the same with two workers, and
with one that another joins when a third of the windows has left. Exit code 1 where the windows that leave are not, byte
for byte, those of a replay, where no record is late.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from tests.benchmarks.stream_inputs import SIZE_S, by_partition, checkins, delayed, fill
from tests.benchmarks.stream_runs import COHORTS, Run, differences, expected_windows, new_place, take_in
from tests.benchmarks.trajectory_inputs import say
from tests.cluster.brokers import ApacheKafka

N_WINDOWS = 20
PEOPLE = 20_000
SHARES = (3, 1, 1, 1)
LATEST_S = 45
HEADINGS = ("records/s", "a core", "broker us", "worker MB", "pool MB", "rows", "late", "repeated")


def _line(name: str, run: Run, n: int, wall: float) -> str:
    figures = (
        *(f"{wall:,.0f}", f"{n / sum(run.cpu_s):,.0f}", f"{run.broker_cpu_s * 1e6 / n:.1f}"),
        *(f"{figure:,.0f}" for figure in (max(run.peak_mb), max(run.pool_peak_mb), run.peak_rows, run.late)),
        str(run.repeated),
    )
    return f"{name:<28}" + "".join(f"{figure:>11}" for figure in figures)


def _caught_up(broker: ApacheKafka, topic: str, n_windows: int, at_start: int, join_after: int) -> Run:
    """Let workers catch up with a topic; one more starts once so many windows have left."""
    place = new_place(broker, len(SHARES))
    place.given["topics.checkins"] = topic
    with contextlib.ExitStack() as stack:
        workers = [stack.enter_context(place.worker(ready=False)) for _ in range(at_start)]

        def join(n_left: int) -> None:
            if n_left >= join_after and len(workers) == at_start:
                workers.append(stack.enter_context(place.worker(ready=False)))

        return asyncio.run(take_in(place, broker, workers, n_windows, on_windows=join))


def main() -> None:
    """Print the table."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    disorder = n * LATEST_S // (N_WINDOWS * SIZE_S)
    messages = by_partition(delayed(list(checkins(n, n_windows=N_WINDOWS, people=PEOPLE)), disorder), SHARES)
    broken: list[str] = []
    with ApacheKafka() as broker:
        place = new_place(broker, len(SHARES))
        topic = place.topic("checkins")
        asyncio.run(fill(broker, topic, messages))
        expected = expected_windows(place, messages)
        say(f"{n:,} check-ins in {N_WINDOWS} windows of {COHORTS} cohorts: {len(expected)} releases; the largest of")
        say(f"{len(SHARES)} partitions has half of them. Peaks are of the larger worker; rows and late ones of all")
        say(f"\n{'':<28}" + "".join(f"{heading:>11}" for heading in HEADINGS))
        never = len(expected) + 1
        for name, at_start, join_after in (
            ("one worker", 1, never),
            ("two workers", 2, never),
            ("one, joined by another", 1, len(expected) // 3),
        ):
            run = _caught_up(broker, topic, len(expected), at_start, join_after)
            say(_line(name, run, n, run.rates(messages, place.settings.ingest.max_records)[0]))
            broken += [f"{name}: {what}" for what in differences(run, expected)]
            if len(run.cpu_s) == 1 and run.late:
                broken.append(f"{name}: {run.late:.0f} records were late")
    say("\n" + ("\n".join(f"BROKEN: {what}" for what in broken) or "every window as in the replay, no record late"))
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
