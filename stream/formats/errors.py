"""Errors in messages of the internal topics."""

from __future__ import annotations

__all__ = ["DecodeError", "VersionError"]


class DecodeError(Exception):
    """A message of an internal topic was not written by Shoal."""


class VersionError(Exception):
    """A message was written by another version of Shoal; the error says what to do."""
