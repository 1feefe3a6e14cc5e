"""Keys: what keyed hashes are derived with. A hash with an empty key is one that everybody can compute."""

from __future__ import annotations

__all__ = ["check_key"]

_LEAST_BYTES, _MOST_BYTES = 16, 64
"""BLAKE2b takes keys of 0 to 64 bytes, and is no keyed hash with one of 0."""


def check_key(key: bytes, name: str) -> None:
    """Check the length of a key.

    Args:
        key: The key.
        name: What the error calls it.

    Raises:
        ValueError: It has fewer than 16 or more than 64 bytes; the message does not repeat it.
    """
    if not _LEAST_BYTES <= len(key) <= _MOST_BYTES:
        raise ValueError(f"{name} has {len(key)} bytes: it must have {_LEAST_BYTES} to {_MOST_BYTES}")
