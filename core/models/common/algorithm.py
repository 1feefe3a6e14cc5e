"""What the algorithms of a family have in common: each model of a family may have one of its own."""

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
        """What decides about a release beside the guarantee, for the windows message."""
        ...
