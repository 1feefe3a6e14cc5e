"""What every guarantee has: a k, and a sentence that says what it promises."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Guarantee", "Parameters", "at_least"]

Parameters = dict[str, float | int | str]
"""The numbers of a guarantee, and everything else that decides about a release, for the windows message."""


class Guarantee(Protocol):
    """What a release promises; each model has a frozen, validated type."""

    @property
    def k(self) -> int:
        """Fewest people who share anything that is released."""
        ...

    @property
    def promise(self) -> str:
        """The guarantee in a sentence."""
        ...


def at_least(name: str, value: int, least: int) -> None:
    """Check a parameter of a guarantee.

    Raises:
        ValueError: The value is below the least that is allowed.
    """
    if value < least:
        raise ValueError(f"{name} is {value}: it must be at least {least}")
