"""``shoal worker``, ``shoal approve``, and the commands that query a worker: ``shoal status`` and ``shoal health``."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from functools import partial
from pathlib import Path

import click
from rich.console import Console

from stream.cli.console import log_all, say
from stream.cli.garbage import collect_garbage_rarely
from stream.cli.options import load_given, wants_json_logs, with_settings
from stream.feeds.feed import build_feeds
from stream.observe.logs import set_up_logs
from stream.settings.model import Settings
from stream.worker import status as worker_status
from stream.worker.status import ask_health

__all__ = ["approve", "health", "status", "worker"]


@click.command()
@with_settings
@click.pass_context
def worker(ctx: click.Context, config: Path | None, given: tuple[str, ...]) -> None:
    """Run the service until SIGTERM or Ctrl-C. SIGHUP reads the settings again.

    Needs a Kafka cluster (SHOAL_KAFKA__BOOTSTRAP_SERVERS) and a secret (SHOAL_PRIVACY__SECRET). Serves health and
    metrics at /healthz, /readyz and /metrics of metrics.port; `shoal health` checks them. `shoal status` shows the last
    windows. With web.page=true a live page is served at / of web.port.
    """
    from stream.worker.run import run_worker

    if wants_json_logs(config, given):
        log_all(ctx)

    def load() -> Settings:
        return load_given(config, given).checked()

    settings = load()
    set_up_logs(settings.logs)
    collect_garbage_rarely()
    run_worker(settings, partial(say, ctx), load=load, file=config)


@click.command()
@with_settings
def approve(config: Path | None, given: tuple[str, ...]) -> None:
    """Let workers with these settings replace the workers that run.

    Workers that share a group have the same settings. A worker with other settings does not start while they run,
    unless its settings were approved. Then the running workers release what is due, and end. The chart approves the
    settings of every upgrade. If no worker runs, nothing needs to be approved.
    """
    from stream.windows.settings_in_force import approve_settings

    settings = load_given(config, given).checked()
    click.echo(f"shoal: {asyncio.run(approve_settings(settings, build_feeds(settings)))}")


@click.command()
@click.option("--url", help="URL of the worker's web server; by default made of web.host and web.port.")
@click.option("--watch", is_flag=True, help="Refresh every two seconds, until Ctrl-C.")
@click.option("--windows", type=click.IntRange(1, 60), default=12, show_default=True, help="Most windows to show.")
@with_settings
def status(url: str | None, watch: bool, windows: int, config: Path | None, given: tuple[str, ...]) -> None:
    """Show a worker's state, its models and its last windows.

    Queries the web server of the worker, which also answers if the live page is off. Run it with the worker's settings,
    or give --url.
    """
    url = url or load_given(config, given).web.url
    console = Console()
    if not watch:
        console.print(worker_status.show(url, *worker_status.fetch(url), most=windows))
        return
    with contextlib.suppress(KeyboardInterrupt):
        worker_status.watch(url, console, most=windows)


@click.command()
@click.option("--url", help="URL of the worker's health server; by default made of metrics.host and metrics.port.")
@with_settings
def health(url: str | None, config: Path | None, given: tuple[str, ...]) -> None:
    """Check whether a worker is ready.

    The exit code is 0 if it is ready, and 1 if not; the output says what it waits for. For health checks of containers
    and for scripts. Run it with the worker's settings, or give --url.
    """
    is_ready, answer = ask_health(url or load_given(config, given).metrics.url)
    click.echo(answer)
    if not is_ready:
        click.echo("shoal: the worker is not ready: try again, and read its log if this continues", err=True)
        sys.exit(1)
