"""What commands show on standard error: bars of progress, and lines of ours."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["print_line", "progress_bar", "stderr"]

stderr = Console(stderr=True)
"""Standard error, on which bars of progress and lines do not get into each other's way."""


def print_line(line: str) -> None:
    """Print a line of ours as it stands, also while a bar of progress is shown."""
    stderr.print(f"shoal: {line}", markup=False, highlight=False)


def progress_bar() -> Progress:
    """Return a bar of progress with the time that remains."""
    return Progress(
        TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=stderr
    )
