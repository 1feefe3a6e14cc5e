"""The common interface of a family's algorithms; each model of a family may have its own algorithm."""

from __future__ import annotations

from typing import Protocol

from core.models.common.guarantee import Parameters

__all__ = ["Algorithm"]


class Algorithm(Protocol):
    """An algorithm with its options; each family adds the method that anonymizes a window."""

    @property
    def model(self) -> str:
        """Name of the model, as in the settings."""
        ...

    @property
    def parameters(self) -> Parameters:
        """Everything besides the guarantee that decides about a release, for the windows message."""
        ...
