"""The error for a file that cannot be read."""

from __future__ import annotations

__all__ = ["FormError"]


class FormError(Exception):
    """A file does not have a supported form, or is damaged; the message says what it is, and what to do."""
