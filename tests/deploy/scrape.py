"""Whether every panel has data: a demo, a Prometheus that scrapes it, and every query of the dashboards asked.

``python -m tests.deploy.scrape SECONDS [FOLDER]``; with a folder, each dashboard is also drawn into it.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

from tests.deploy.draw import draw
from tests.deploy.prometheus import Prometheus, PrometheusMissingError, running
from tests.deploy.promql import DASHBOARDS, Query, dashboard_queries, filled, missing_metrics

_SCRAPES_S = 5.0
_LEAD_S = 10.0
"""How long before the demo ends the questions are asked."""


def main(seconds: float, folder: Path | None) -> int:
    """Run the demo for some seconds; return 0 if every query has data, every metric is served and no alert fires."""
    command = [sys.executable, "-m", "stream.cli.main", "demo", "--seconds", str(round(seconds))]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as demo:
        assert demo.stdout is not None
        address = next(
            (found[1] for line in demo.stdout if (found := re.search(r"(http://\S+?)/metrics\s", line))), None
        )
        if address is None:
            print("the demo did not start")  # noqa: T201
            return 1
        # Somebody has to read on, or the demo would stop at a full pipe.
        threading.Thread(target=demo.stdout.read, daemon=True).start()
        try:
            with running(address.removeprefix("http://"), at_most_s=seconds + 120) as prometheus:
                begun_s = time.time()
                while time.time() - begun_s < seconds - _LEAD_S and demo.poll() is None:
                    time.sleep(1)
                wrong = [*_report(prometheus, since_s=begun_s), *_not_served(address), *_firing(prometheus, begun_s)]
                if folder is not None:
                    folder.mkdir(parents=True, exist_ok=True)
                    for path in DASHBOARDS:
                        picture = draw(path, prometheus, since_s=begun_s, until_s=time.time())
                        (folder / f"{path.stem}.svg").write_text(picture, encoding="utf-8")
        except PrometheusMissingError as fault:
            wrong = [str(fault)]
            demo.terminate()
    print("\n".join(["", *(wrong or ["every query has data, every metric is served, no alert fires"])]))  # noqa: T201
    return bool(wrong)


def _report(prometheus: Prometheus, *, since_s: float) -> Iterator[str]:
    """Print a line for each query, and return what is wrong with some."""
    now_s = time.time()
    print(f"{'query':<72} {'series':>6} {'points':>6}  last")  # noqa: T201
    for query in _queries():
        expression = filled(query.expression, step="30s", shown=f"{round(now_s - since_s)}s")
        found = prometheus.ask(expression, since_s=since_s, until_s=now_s, step_s=_SCRAPES_S)
        points = sum(len(one.points) for one in found)
        last = ", ".join(f"{one.points[-1][1]:.4g}" for one in found[:4])
        print(f"{query.where:<72} {len(found):>6} {points:>6}  {last}{', ...' * (len(found) > 4)}")  # noqa: T201
        if not points:
            yield f"no data: {query.where}: {expression}"


def _queries() -> list[Query]:
    return [query for path in DASHBOARDS for query in dashboard_queries(path)]


def _not_served(address: str) -> Iterator[str]:
    with urllib.request.urlopen(f"{address}/metrics", timeout=10) as answer:  # noqa: S310 - the demo's address
        missing = missing_metrics(answer.read().decode())
    yield from (f"not served: {', '.join(sorted(names))}: {where}" for where, names in missing.items())


def _firing(prometheus: Prometheus, since_s: float) -> Iterator[str]:
    for one in prometheus.ask('ALERTS{alertstate="firing"}', since_s=since_s, until_s=time.time(), step_s=_SCRAPES_S):
        yield f"fired in a healthy demo: {one.labels['alertname']} {one.labels}"


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else None))
