"""Runs a worker: one Faust app with ingest, the window agent and the web pages."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import time
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import structlog
from aiokafka import TopicPartition
from faust.types import TP
from mode import Service
from prometheus_client import CollectorRegistry

from core.records.record import Kind
from stream.feeds.feed import build_feeds
from stream.formats.release.encoding import ReleaseEncoding
from stream.ingest.clock import Clock
from stream.ingest.ingest import Ingest
from stream.kafka.client import IF_AWAY, Operation, cure_of, new_producer, until_it_works
from stream.kafka.input_topics import FoundInputs, find_inputs, in_two_feeds, inputs_of
from stream.kafka.internal_topics import check_internal_topics, recreated, sentence
from stream.kafka.log_start import AgreedStart
from stream.kafka.oauth import forget_token
from stream.kafka.rotation import rotate
from stream.kafka.topic_ids import topic_ids
from stream.kafka.topics import check_groups, check_topics
from stream.observe.crowds import SmallCrowds
from stream.observe.health import Health, HealthServer, check_port
from stream.observe.logs import hear_kafka_client, report_repeats, set_up_logs
from stream.observe.metrics import Metrics
from stream.observe.rounding import RoundedCounts
from stream.observe.telemetry import Telemetry
from stream.settings.input_topics import FeedTopics
from stream.settings.model import Settings
from stream.windows.feed_starts import agree_on_starts
from stream.windows.kernels import progress_line
from stream.windows.pool import ReleasePool
from stream.windows.register_schemas import release_encodings
from stream.windows.report import EmittedWindow
from stream.windows.seals_log import agree_on_partitions
from stream.windows.settings_in_force import SettingsWatch, agree_on_settings, settings_digest
from stream.windows.waiting_records import locating_again
from stream.windows.windows import Windows
from stream.worker.faust_app import EXIT_FATAL, ServiceFirst, TimelyWorker, new_app
from stream.worker.recent_windows import RecentWindows
from stream.worker.reload import SettingsReload
from stream.worker.web import add_pages

__all__ = ["run_worker"]

log = structlog.get_logger("shoal.worker")

_COMMIT_EVERY_S = 1.0
_CATCH_UP_EVERY_S = 1.0
_PROBE_EVERY_S = 5.0
_SETTINGS_EVERY_S = 1.0
_KERNELS_EVERY_S = 5.0
_CRASH_CHECK_S = 1.0
_REPEATS_EVERY_S = 5.0
_LAST_TELEMETRY_S = 3.0
"""How long the last traces and metrics may take to leave: at most this, and a tenth of ``worker.grace_period``."""

_LOOP_LAG_EVERY_S, _LOOP_LAG_OVER_S = 0.5, 10.0


def run_worker(
    settings: Settings, progress: Callable[[str], None], *, load: Callable[[], Settings], file: Path | None
) -> None:
    """Run until SIGTERM or SIGINT; ends with ``SystemExit``.

    Args:
        settings: Checked settings.
        progress: Shows what the worker waits for before the logs begin.
        load: Reads and checks the settings again.
        file: The settings file, if there is one.

    Raises:
        ClusterError: The cluster cannot be reached or lacks a topic.
        ListenError: A port is taken.
        SettingsError: A setting does not fit.
    """
    # In a container, process 1 ignores a signal without a handler, and Faust installs its handler later.
    signal.signal(signal.SIGTERM, _end_at_once)
    worker = _Worker(settings, load=load, file=file)
    signal.signal(signal.SIGHUP, worker.settings_reload.ask)
    # One event loop throughout: the health server must answer before Faust starts and after it ends.
    runner = asyncio.Runner()
    try:
        runner.run(worker.prepare(progress))
    except BaseException:
        runner.close()
        raise
    hear_kafka_client()
    app = worker.app
    app.finalize()
    # Keep our logging: Faust would replace it and print a banner.
    faust_worker = TimelyWorker(
        app,
        quiet=True,
        override_logging=False,
        redirect_stdouts=False,
        loglevel="WARN",
        grace_s=lambda: worker.settings_reload.in_force.worker.grace_period / 1000,
        at_last=worker.health_server.stop,
        loop=runner.get_loop(),
    )
    faust_worker.spinner = None
    faust_worker.execute_from_commandline()


def _end_at_once(*_: object) -> None:
    """End on SIGTERM during the start: there is no work to finish yet."""
    raise SystemExit(0)


class _Worker(Service):  # type: ignore[misc]
    """All parts of one worker, as a service that Faust starts and stops."""

    def __init__(self, settings: Settings, *, load: Callable[[], Settings], file: Path | None) -> None:
        super().__init__()
        self.settings_reload = SettingsReload(settings, load=load, take=self._take_settings, file=file)
        self._settings = settings
        self._feeds = build_feeds(settings)
        self._metrics = Metrics(CollectorRegistry())
        self._metrics.build_info.labels(version("shoal")).set(1)
        self._metrics.buffered_rows_limit.set(settings.limits.buffered_rows)
        for kind, feed in self._feeds.items():
            self._metrics.expect(
                kind,
                model=feed.plan.model,
                shard_kind=settings.for_kind(kind).shard.kind,
                required_k=feed.plan.guarantee.k,
                linkage=feed.plan.promised_linkage,
            )
        self._telemetry = Telemetry(settings, RoundedCounts(self._metrics.registry, settings.metrics.count_step))
        self._tasks: list[asyncio.Task[None]] = []
        self._recent = RecentWindows(settings, self._feeds, started_ms=round(time.time() * 1000))
        self._crowds = SmallCrowds({kind: feed.plan.guarantee.k for kind, feed in self._feeds.items()})
        self._clock = Clock(self._metrics)
        self._health = Health(
            {
                "the start": lambda: self._is_running,
                "the Kafka cluster": lambda: self._kafka_up is True,
                "the kernels": lambda: self._kernels,
                "the clock": self._clock.check,
            }
        )
        self.health_server = HealthServer(settings.metrics, self._metrics.registry, self._health)
        self._kafka_up: bool | None = None  # None until the first attempt
        self._id = uuid.uuid4().hex
        self._digest = settings_digest(self._feeds)
        self._passed: Mapping[int, int] = {}
        self.n_partitions, self._sealed = settings.kafka.partitions, frozenset[Kind]()
        self._internal_ids: dict[str, str] = {}
        self._kernels: bool | str = False  # a message while some are compiled
        self._starting: asyncio.Task[None] | None = None
        self._is_running = False  # from the end of the start to the beginning of the stop
        self._ends: list[Callable[[], Awaitable[None]]] = []
        """Close what has started, in the order of the start."""
        self._starts: dict[TopicPartition, AgreedStart] = {}
        self._topics, self._inputs = FeedTopics(settings.topics), FoundInputs()
        self.app = self._build_app()

    def _build_app(self) -> Any:
        settings = self._settings
        app = new_app(settings)
        # acks=False: Faust would commit offsets that must be held back (faust-streaming#606); we commit ourselves.
        shards = app.topic(settings.topics.shards, key_serializer="raw", value_serializer="raw", acks=False)

        @app.agent(shards, name="windows")  # type: ignore[untyped-decorator]
        async def windows_agent(stream: Any) -> None:
            async for event in stream.events():
                message = event.message
                try:
                    await self._windows.accept(message.partition, message.offset, message.value or b"")
                except Exception as fault:
                    self._fatal(fault)

        app.on_partitions_revoked.connect(self._on_revoked, weak=False)
        app.on_partitions_assigned.connect(self._on_assigned, weak=False)
        app.on_webserver_init = lambda web: add_pages(web.web_app, self._health, self._recent)
        app.on_before_shutdown.connect(self._on_shutdown, weak=False)
        app.boot_strategy = ServiceFirst(app, self)
        return app

    async def prepare(self, progress: Callable[[str], None]) -> None:
        """Start the health server and the pool, wait for the cluster, check its topics, and read the seals."""
        settings = self._settings
        async with contextlib.AsyncExitStack() as undo:  # what has started ends if the rest cannot start
            await self.health_server.start()
            undo.push_async_callback(self.health_server.stop)
            await check_port("web", settings.web)
            found = await check_topics(settings, progress)
            await check_groups(settings, progress)
            self._internal_ids = await check_internal_topics(settings, progress)
            self._pool = self._new_pool(await release_encodings(settings, progress))
            undo.callback(self._pool.close)
            await self._start_pool(progress)
            self.n_partitions, self._sealed = await agree_on_partitions(settings, found, progress, clock=self._clock)
            self._starts = await agree_on_starts(settings, self._sealed, clock=self._clock)
            again = locating_again(
                settings,
                self._feeds,
                self._metrics,
                n_partitions=self.n_partitions,
                clock=self._clock,
                progress=progress,
                on_trouble=self._on_trouble,
            )
            self._passed = (await agree_on_settings(settings, self._feeds, progress, again)).passed
            undo.pop_all()

    def _new_pool(self, encodings: Mapping[Kind, ReleaseEncoding]) -> ReleasePool:
        return ReleasePool(
            {kind: feed.plan for kind, feed in self._feeds.items()},
            encodings,
            max_bytes=self._settings.limits.message_bytes,
            processes=self._settings.worker.processes,
        )

    async def _start_pool(self, progress: Callable[[str], None]) -> None:
        told_s = time.monotonic()

        def tell(ready: int, total: int) -> None:
            nonlocal told_s
            line = progress_line(ready, total)
            self._kernels = line if total else False
            if total and time.monotonic() - told_s >= _KERNELS_EVERY_S:
                progress(line)
                told_s = time.monotonic()

        await self._pool.start(tell)
        self._kernels = True

    async def on_start(self) -> None:
        """Start the producer, the windows and ingest, unless the worker is to stop."""
        self._starting = asyncio.create_task(self._start_all(), name="start")
        with contextlib.suppress(asyncio.CancelledError):
            await self._starting

    async def _start_all(self) -> None:
        settings, metrics = self._settings, self._metrics
        self._producer = new_producer(settings, clock=self._clock)
        self._ends.append(self._producer.stop)
        await until_it_works("start the producer", self._producer.start, on_trouble=self._on_trouble)
        self._on_answer()
        feeds = self._feeds
        self._watch = SettingsWatch(settings, self._producer, self._digest, self._id, on_trouble=self._on_trouble)
        self._ends += [self._watch.close, self._watch.leave]
        self._windows = Windows(
            settings,
            feeds,
            self._producer,
            self._pool,
            metrics,
            writer=self._id,
            end_offset=self._end_offset,
            commit=self._commit,
            passed=self._passed,
            in_force=self._is_in_force,
            on_window=self._on_window,
            on_fatal=self._fatal,
            on_trouble=self._on_trouble,
            tracing=self._telemetry.tracing,
        )
        # Before the first chunk is read: no window may close without an input topic whose backlog is unread.
        await until_it_works("probe", self._find_inputs, on_trouble=self._on_trouble)
        self._ingest = Ingest(
            settings,
            feeds,
            self._producer,
            metrics,
            n_partitions=self.n_partitions,
            sealed_kinds=self._sealed,
            starts=self._starts,
            internal_ids=self._internal_ids,
            now_ms=lambda: round(time.time() * 1000),
            on_trouble=self._on_trouble,
            clock=self._clock,
            tracing=self._telemetry.tracing,
        )
        self._ends.append(self._ingest.stop)
        self._health.checks |= {
            "the window group": lambda: self._windows.is_ready,
            "the ingest group": lambda: self._ingest.is_assigned,
            "the input": self._check_input,
        }
        self._ingesting = self._forever("ingest", self._run_ingest)
        self._tasks = [
            self._ingesting,
            self._forever("commits", self._commit_regularly),
            self._forever("catching up", self._catch_up_regularly),
            self._forever("probe", self._probe_regularly),
            self._forever("loop lag", self._measure_loop_lag),
            self._forever("crash", self._end_on_crash),
            self._forever("repeated warnings", self._report_repeats),
            self._forever("settings that change", self.settings_reload.run),
            self._forever("settings in force", self._watch_settings),
        ]
        self._is_running = True
        kafka = settings.kafka
        if (kafka.security_protocol, kafka.sasl_mechanism) == ("SASL_PLAINTEXT", "PLAIN"):
            log.warning("password_in_the_clear", action="set kafka.security_protocol to SASL_SSL")
        log.info(
            "worker_started",
            feeds=[kind.value for kind in feeds],
            status=f"{settings.web.url}/",
            metrics=f"{settings.metrics.url}/metrics",
        )

    async def _on_shutdown(self, *_: Any, **__: Any) -> None:
        """Finish or abandon the windows in progress while this worker still has their partitions."""
        log.info("worker_stopping")
        if not self._is_running:  # it has no partitions yet
            if self._starting is not None:
                self._starting.cancel()
                await asyncio.gather(self._starting, return_exceptions=True)
            return
        self._is_running = False
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        grace_s = self.settings_reload.in_force.worker.grace_period / 2000
        begun_s = time.monotonic()
        await self._windows.drain(grace_s)
        await self._windows.revoke(grace_s=max(0.0, grace_s - (time.monotonic() - begun_s)))

    async def on_stop(self) -> None:
        """Close everything else."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                for end in reversed(self._ends):
                    await end()
        self._pool.close()
        await self._telemetry.close(min(_LAST_TELEMETRY_S, self._settings.worker.grace_period / 10_000))
        log.info("worker_stopped")

    # ------------------------------------------------------------- called by Faust

    async def _on_revoked(self, _: Any, revoked: set[TP], **__: Any) -> None:
        self._metrics.rebalances.inc()
        await self._windows.revoke()

    async def _on_assigned(self, _: Any, assigned: set[TP], **__: Any) -> None:
        topic = self._settings.topics.shards
        # Partitions that were added to the topic later are not used.
        ours = {tp.partition for tp in assigned if tp.topic == topic and tp.partition < self.n_partitions}
        await self._windows.assign(ours)

    def _on_window(self, window: EmittedWindow) -> None:
        self._recent.add(window)
        self._crowds.note(window.key.kind, window.outcome, window.reason)

    def _end_offset(self, partition: int) -> int | None:
        end: int | None = self.app.consumer.highwater(TP(self._settings.topics.shards, partition))
        return end

    async def _commit(self, offsets: dict[int, int]) -> None:
        # Semi-private, but the only way to commit in Faust's own group; nothing else commits there.
        topic = self._settings.topics.shards
        await self.app.consumer._commit({TP(topic, number): offset for number, offset in offsets.items()})

    # ------------------------------------------------------------- settings that change

    def _take_settings(self, now: Settings, changed: frozenset[str]) -> None:
        sections = {name.partition(".")[0] for name in changed}
        if "kafka" in sections:
            rotate(self._settings.kafka, now.kafka)
        if "registry" in sections:
            self._ingest.use_registry(now.registry)
        if "logs" in sections:
            set_up_logs(now.logs)
        if "web" in sections:
            self._recent.show(page=now.web.page, tile_url=now.web.tile_url)

    # ------------------------------------------------------------- input topics

    async def _find_inputs(self) -> None:
        self._take_inputs(await find_inputs(self._producer.client, self._topics))

    def _take_inputs(self, found: FoundInputs) -> None:
        """Let windows wait for the input topics that exist, and report those that fit two feeds."""
        if new := sorted({*found.in_two_feeds} - {*self._inputs.in_two_feeds}):
            log.error("topic_in_two_feeds", topics=new, action=in_two_feeds(new))
        self._inputs = found
        kinds = [kind for kind in self._feeds if kind.input_kind in found.topics]
        self._windows.expect({kind: found.topics[kind.input_kind] for kind in kinds})

    def _check_input(self) -> bool | str:
        """Return True, or a message on unreadable input, for the readiness check."""
        topics = self._inputs.in_two_feeds
        return in_two_feeds(topics) if topics else self._ingest.check()

    # ------------------------------------------------------------- tasks

    def _forever(self, name: str, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        async def guarded() -> None:
            try:
                await work()
            except Exception as fault:
                self._fatal(fault)

        return asyncio.create_task(guarded(), name=name)

    async def _run_ingest(self) -> None:
        await self._ingest.start()
        await self._ingest.run()

    async def _is_in_force(self) -> bool:
        return not await self._watch.must_leave()

    async def _watch_settings(self) -> None:
        """Leave if workers with other settings are to take over."""
        while not await self._watch.must_leave():  # noqa: ASYNC110 - it asks a log, which has no event
            await asyncio.sleep(_SETTINGS_EVERY_S)
        log.warning(
            "settings_replaced",
            how=self._watch.why,
            action="none: this worker releases the windows that are due, then ends",
        )
        self._ingesting.cancel()
        await self._windows.drain(self._settings.worker.grace_period / 1000, to_a_border=True)
        os.kill(os.getpid(), signal.SIGTERM)

    async def _commit_regularly(self) -> None:
        while True:
            await asyncio.sleep(_COMMIT_EVERY_S)
            self._clock.look()
            await self._windows.commit()
            now_ms = round(time.time() * 1000)
            self._windows.update_metrics(now_ms)
            await self._ingest.update_metrics(now_ms)
            self._metrics.pool_memory_bytes.set(self._pool.resident_bytes())

    async def _catch_up_regularly(self) -> None:
        while True:
            await asyncio.sleep(_CATCH_UP_EVERY_S)
            await self._windows.catch_up()

    async def _report_repeats(self) -> None:
        while True:
            await asyncio.sleep(_REPEATS_EVERY_S)
            report_repeats()

    async def _measure_loop_lag(self) -> None:
        lags: deque[float] = deque([0.0], maxlen=round(_LOOP_LAG_OVER_S / _LOOP_LAG_EVERY_S))
        while True:
            begun_s = time.monotonic()
            await asyncio.sleep(_LOOP_LAG_EVERY_S)
            lags.append(max(0.0, time.monotonic() - begun_s - _LOOP_LAG_EVERY_S))
            self._metrics.loop_lag_seconds.set(max(lags))

    async def _probe_regularly(self) -> None:
        while True:
            await asyncio.sleep(_PROBE_EVERY_S)
            try:
                async with asyncio.timeout(_PROBE_EVERY_S):
                    nodes = await self._producer.client.fetch_all_metadata()
                    ids = await topic_ids(self._producer.client, self._internal_ids)
                self._on_answer() if nodes.brokers() else self._on_trouble("probe")
                self._take_inputs(inputs_of(nodes, self._topics))
                if ids is not None and (changed := recreated(ids, [self._internal_ids])) is not None:
                    log.critical("internal_topic_recreated", topic=changed, action=sentence(changed))
                    os._exit(EXIT_FATAL)
            except Exception as fault:  # of any kind: the cluster did not answer
                log.warning("kafka_trouble", operation="probe", fault=type(fault).__name__, action=IF_AWAY)
                self._on_trouble("probe")

    async def _end_on_crash(self) -> None:
        # Faust does not restart a service that crashed, and does not end the process.
        while not self.app.crashed:  # noqa: ASYNC110 - Faust has a flag, not an event
            await asyncio.sleep(_CRASH_CHECK_S)
        self._fatal(self.app.crash_reason or RuntimeError("Faust crashed"))

    def _on_trouble(self, operation: Operation) -> None:
        self._metrics.kafka_trouble.labels(operation).inc()
        if operation in ("read input", "fetch a schema"):
            return  # the cluster answers; the fault is in the input, or the schema registry is away
        self._kafka_up = False
        self._metrics.kafka_up.set(0)
        forget_token(self._settings.kafka)

    def _on_answer(self) -> None:
        if self._kafka_up is False:
            self._metrics.reconnects.inc()
        self._kafka_up = True
        self._metrics.kafka_up.set(1)

    def _fatal(self, fault: BaseException) -> None:
        """End the process at once: all data is in the topics, and Faust would hang after a task that raised."""
        if (action := cure_of(fault)) is not None:  # a traceback would show only where the cluster was asked
            log.critical("worker_failed", fault=str(fault), action=f"{action}, then start the worker again")
        else:
            log.critical("worker_failed", fault=type(fault).__name__, exc_info=fault, action="start the worker again")
        os._exit(EXIT_FATAL)
