"""What commands print to standard error: progress bars and messages."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["print_line", "progress_bar", "stderr"]

stderr = Console(stderr=True)
"""Standard error; progress bars and messages printed to it do not overwrite each other."""


def print_line(line: str) -> None:
    """Print a message without markup, also while a progress bar is shown."""
    stderr.print(f"shoal: {line}", markup=False, highlight=False)


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
