"""``shoal worker``, and the commands that ask a running worker: ``shoal status`` and ``shoal health``."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click
from rich.console import Console

from stream.cli.options import load_given, with_settings
from stream.observe.logs import set_up_logs
from stream.worker import status as worker_status
from stream.worker.status import ask_health

__all__ = ["health", "status", "worker"]


@click.command()
@with_settings
def worker(config: Path | None, given: tuple[str, ...]) -> None:
    """Run the service beside a Kafka cluster, until SIGTERM or Ctrl-C.

    Needs SHOAL_KAFKA__BOOTSTRAP_SERVERS and SHOAL_PRIVACY__SECRET. Health and metrics are at /healthz, /readyz
    and /metrics of metrics.port, which `shoal health` asks. `shoal status` shows the last windows, and web.page=true
    serves a live page at / of web.port.
    """
    from stream.worker.run import run_worker

    settings = load_given(config, given).checked()
    set_up_logs(settings.logs)
    run_worker(settings, lambda line: click.echo(f"shoal: {line}", err=True))


@click.command()
@click.option("--url", help="Where the worker's web server is reached; by default at web.host and web.port.")
@click.option("--watch", is_flag=True, help="Ask again every two seconds, until Ctrl-C.")
@click.option("--windows", type=click.IntRange(1, 60), default=12, show_default=True, help="Most windows to show.")
@with_settings
def status(url: str | None, watch: bool, windows: int, config: Path | None, given: tuple[str, ...]) -> None:
    """Show how a worker is, its models, and the windows that left it last.

    Asks the worker's own web server, whether its live page is on or off, with the settings of the worker.
    """
    url = url or load_given(config, given).web.url
    console = Console()
    if not watch:
        console.print(worker_status.show(url, *worker_status.fetch(url), most=windows))
        return
    with contextlib.suppress(KeyboardInterrupt):
        worker_status.watch(url, console, most=windows)


@click.command()
@click.option("--url", help="Where the worker's health is served; by default at metrics.host and metrics.port.")
@with_settings
def health(url: str | None, config: Path | None, given: tuple[str, ...]) -> None:
    """Ask a worker whether it is ready: exit code 0 if it is, 1 if not, and what it waits for.

    For health checks of containers and for scripts, with the settings of the worker.
    """
    is_ready, answer = ask_health(url or load_given(config, given).metrics.url)
    click.echo(answer)
    if not is_ready:
        click.echo("shoal: the worker is not ready: ask again, and read its log if that goes on", err=True)
        sys.exit(1)
