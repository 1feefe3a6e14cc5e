"""What can be wrong with a message of an internal topic."""

from __future__ import annotations

__all__ = ["DecodeError", "VersionError"]


class DecodeError(Exception):
    """A message of an internal topic that is none of ours."""


class VersionError(Exception):
    """A message of ours that another version wrote; says what to do."""
