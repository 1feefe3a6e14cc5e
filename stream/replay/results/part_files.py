"""Files that get their final names when all of them are complete."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

__all__ = ["PartFiles"]


class PartFiles:
    """The files of one replay, named ``NAME.part`` while they grow: a partial result is never taken for a complete one.

    Args:
        folder: Where they are; created if it is missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._names: dict[str, None] = {}
        self._stack = ExitStack()

    def open(self, name: str) -> BinaryIO:
        """Open a file by its final name."""
        return self._stack.enter_context(self.part(name).open("wb"))

    def part(self, name: str) -> Path:
        """Return the path of a file as long as it grows; whoever opens it closes it before :meth:`complete`."""
        self._names[name] = None
        return self._folder / f"{name}.part"

    def complete(self) -> None:
        """Close all files and give them their final names."""
        self._stack.close()
        for name in self._names:
            self.part(name).replace(self._folder / name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
