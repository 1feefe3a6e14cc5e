"""Metrics over OTLP in a real Prometheus: the same as those it scrapes, so that rules and dashboards fit both."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import urllib.parse
import urllib.request
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from core.records.record import Kind
from stream.demo.broker import free_port
from stream.observe.health import Health, HealthServer
from stream.observe.metrics import Metrics
from stream.observe.rounding import RoundedCounts
from stream.observe.telemetry import Telemetry
from stream.settings.load import load_settings
from tests.deploy.prometheus import Prometheus, running
from tests.stream.observe.test_tracing import result

EXEMPLAR = {"trace_id": "ab" * 16, "span_id": "cd" * 8}
WITHIN_S = 60


@pytest.fixture
def program() -> str:
    """A Prometheus that receives OTLP: SHOAL_PROMETHEUS names it, or the installed one if it is new enough."""
    found = os.environ.get("SHOAL_PROMETHEUS") or shutil.which("prometheus")
    if found is None:
        pytest.skip("prometheus is missing: apt-get install prometheus, or name one in SHOAL_PROMETHEUS")
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=True)
    version = re.search(r"version (\d+)\.", said.stdout + said.stderr)
    if version is not None and int(version[1]) < 3:
        pytest.skip(f"{found} is older than Prometheus 3: name a newer one in SHOAL_PROMETHEUS")
    return found


def ask(prometheus: Prometheus, what: str, **query: object) -> Any:
    """Return what its interface answers."""
    address = f"{prometheus.url}/api/v1/{what}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(address, timeout=30) as answer:  # noqa: S310 - an address of ours
        return json.load(answer)["data"]


def names(prometheus: Prometheus, job: str) -> set[str]:
    """Return the names of a job's series, without those of rules, and without the times when others began."""
    found = ask(prometheus, "label/__name__/values", **{"match[]": f'{{job="{job}"}}'})
    return {name for name in found if name.startswith("shoal_") and not name.endswith("_created")}


async def until(condition: Any) -> Any:
    """Wait until something that asks Prometheus is true."""
    async with asyncio.timeout(WITHIN_S):
        while not (found := await asyncio.to_thread(condition)):  # noqa: ASYNC110 - it has no event
            await asyncio.sleep(0.5)
        return found


async def test_a_prometheus_that_is_sent_metrics_has_those_that_it_scrapes(program: str) -> None:
    """
    Names, labels, values, buckets and exemplars; the service is the job.
    """
    metrics, port = Metrics(CollectorRegistry()), free_port()
    for kind in Kind:
        metrics.expect(kind, model="seqanon", shard_kind="single", required_k=5)
    metrics.build_info.labels("a version").set(1)
    metrics.count_window(Kind.CHECKINS, result(), 0.7, required_k=5, exemplar=EXEMPLAR)
    more = ["--web.enable-otlp-receiver", "--enable-feature=exemplar-storage"]
    with running(f"127.0.0.1:{port}", at_most_s=2 * WITHIN_S, program=program, more=more) as prometheus:
        given = {
            "metrics.port": port,
            "telemetry.endpoint": f"{prometheus.url}/api/v1/otlp",
            "telemetry.service_name": "sent",
            "telemetry.metrics": "true",
            "telemetry.metrics_every": "1s",
        }
        settings = load_settings(given=given)
        server = HealthServer(settings.metrics, metrics.registry, Health())
        await server.start()
        telemetry = Telemetry(settings, RoundedCounts(metrics.registry, settings.metrics.count_step))
        try:
            scraped = await until(lambda: names(prometheus, "shoal"))
            sent = await until(lambda: names(prometheus, "sent"))
            assert sent == scraped

            def both(query: str) -> list[dict[str, str]]:
                series = ask(prometheus, "query", query=query)["result"]
                return [one["metric"] | {"value": one["value"][1]} for one in series]

            buckets = "shoal_close_to_release_seconds_bucket"
            for query in (
                'sum by (job, kind, outcome) (shoal_windows_total{outcome="released"})',
                f"histogram_quantile(0.9, sum by (job, kind, le) ({buckets}))",
                # Prometheus writes the bound 1 as 1.0 if it is scraped, and as 1 if it is sent.
                f"sum by (job, kind) ({buckets})",
                "sum by (job, version) (shoal_build_info)",
            ):
                found = both(query)
                of_job = {job: [{**one, "job": ""} for one in found if one["job"] == job] for job in ("shoal", "sent")}
                assert of_job["shoal"]
                key = json.dumps
                assert sorted(of_job["shoal"], key=key) == sorted(of_job["sent"], key=key)

            exemplars = ask(prometheus, "query_exemplars", query=buckets, start=0, end=10**10)
            assert {one["seriesLabels"]["job"]: one["exemplars"][0]["labels"] for one in exemplars} == {
                "shoal": EXEMPLAR,
                "sent": EXEMPLAR,
            }
        finally:
            await telemetry.close(5)
            await server.stop()
