"""What all formats of results have in common: they take the windows of a replay one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

from stream.formats.release.encoding import Content, PlacePositions, positions_of
from stream.formats.release.json import JSON
from stream.formats.release.messages import OutMessage

__all__ = ["Results", "WindowMessages"]


class WindowMessages:
    """The messages of one window, decoded when a format needs it.

    Args:
        messages: Trajectories, then the windows message, as JSON.
    """

    def __init__(self, messages: Sequence[OutMessage]) -> None:
        self.messages = messages

    @cached_property
    def window(self) -> Content:
        """The content of the windows message."""
        return JSON.read_window(self.messages[-1].value)

    @cached_property
    def trajectories(self) -> list[Content]:
        """The contents of the messages of ``anonymized``."""
        return [JSON.read_trajectory(message.value) for message in self.messages[:-1]]

    @cached_property
    def positions(self) -> PlacePositions:
        """Where the generalized locations of the release are."""
        return positions_of(self.window)


class Results(ABC):
    """One format of results."""

    @abstractmethod
    def add(self, window: WindowMessages) -> None:
        """Write the messages of one window."""

    @abstractmethod
    def finish(self) -> None:
        """Write what stands at the ends of the files."""
