"""What commands print to standard error: progress bars and messages."""

from __future__ import annotations

from typing import NoReturn

import click
import structlog
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from stream.observe.logs import set_up_logs
from stream.settings.service import LogSettings

__all__ = ["end_with", "log_all", "log_defect", "print_line", "progress_bar", "say", "stderr"]

log = structlog.get_logger("shoal.cli")

_AS_LOG = "stream.cli.console.as_log"
"""Key in the context of a command that writes everything as lines of its log."""

stderr = Console(stderr=True)
"""Standard error; progress bars and messages printed to it do not overwrite each other."""


def print_line(line: str) -> None:
    """Print a message without markup, also while a progress bar is shown."""
    stderr.print(f"shoal: {line}", markup=False, highlight=False)


def log_all(ctx: click.Context) -> None:
    """Let a command write what it says to people as JSON lines of its log, from the first one on."""
    set_up_logs(LogSettings(format="json"))
    ctx.meta[_AS_LOG] = True


def say(ctx: click.Context, line: str) -> None:
    """Say what a command waits for."""
    if ctx.meta.get(_AS_LOG):
        log.info("starting", progress=line)
    else:
        click.echo(f"shoal: {line}", err=True)


def end_with(ctx: click.Context, sentence: str, *, code: int) -> NoReturn:
    """End a command with a sentence on what is wrong, and an exit code."""
    if ctx.meta.get(_AS_LOG):
        log.critical("not_started", why=sentence, exit_code=code)
    else:
        click.echo(f"shoal: {sentence}", err=True)
    ctx.exit(code)


def log_defect(ctx: click.Context, fault: Exception) -> None:
    """Write an error that nobody foresaw as one line, and end; do nothing for a command that does not log."""
    if ctx.meta.get(_AS_LOG):
        log.critical("not_started", why=type(fault).__name__, exc_info=fault, exit_code=1)
        ctx.exit(1)


def progress_bar(*, transient: bool = False, disable: bool = False) -> Progress:
    """Return a progress bar that shows the remaining time.

    Args:
        transient: Whether it disappears at its end.
        disable: Whether it is not shown at all.
    """
    return Progress(
        *(TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()),
        console=stderr,
        transient=transient,
        disable=disable,
    )
